# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of AWS Neuron: its runtime (nrt.h: NRT_STATUS), driver, collectives (CCOM, aws-ofi-nccl) and neuronx-cc.

The runtime's status number 1003 means that a result was not a number, 1006 an index out of range, 1200 a collective
that hangs, 1201 to 1205 (but 1204) that the hardware failed; 1, 2 and 101 mean nothing specific.
"""

from __future__ import annotations

from ..failure_classes import BLAME
from ..signature import Signature

# How a number of the runtime is printed that no other program has: "status=1003", "with status 1006", "err: 1201".
_NUMBER = rb"\b(?:status[= ]|completed with err: )"
_LINE = rb"(?!(?:nrt_close|nrt_infodump|notification_destroy)|[^\r\n]{0,99}\(NON-FATAL"
_LINE += rb"|[^\r\n]{0,300}[Tt]oo many open files)"

SIGNATURES = (
    Signature(
        "killed",
        "The Neuron compiler was killed, mostly because the host's memory ran out. Compile fewer graphs at once, give "
        "the container more memory, or compile on a larger instance and share the cache.",
        rb"neuronx?-cc failed with -9\b",
        more_specific_than=("Neuron compiler",),
        sample="neuron-cc failed with -9",
    ),
    Signature(
        "nan",
        "A NeuronCore computed NaN. Check data, precision (stochastic rounding) and learning rate.",
        rb"NRT_EXEC_COMPLETED_WITH_NUM_ERR|" + _NUMBER + rb"1003\b",
        more_specific_than=("any error of Neuron's runtime",),
        sample="RuntimeError: Failed to execute the model status=1003 message=Numerical Error",
    ),
    Signature(
        "gpu_ecc",
        "The hardware of a Neuron device failed. Drain the node, and read neuron-top, neuron-monitor and the kernel "
        "log; replace the instance if it fails again.",
        rb"NRT_EXEC_HW_ERR_(?:\w{0,20}HBM_UE|NC_UE|DMA_ABORT)|" + _NUMBER + rb"120[1-35]\b|NEURON_HW_ERR=\w"
        rb"|[Uu]ncorrectable (?:HBM )?memory error (?:is detected|on Neuron Device)"
        rb"|DMA [RT]X engine \d{1,4} is in an abort state"
        rb"|Total Uncorrected ecc err count is [1-9]|\bNeuronHasError_\w",
        more_specific_than=("any error of Neuron's runtime",),
        sample="NeuronHealth  False  NeuronHasError_ODD_UNCORRECTABLE_ERROR",
    ),
    Signature(
        "driver_mismatch",
        "Neuron's driver, runtime and compiler are not from one release. Update aws-neuronx-dkms on the node and "
        "aws-neuronx-runtime-lib in the image, and recompile the model.",
        rb"This runtime requires Neuron Driver version|his Neuron Runtime \([^)\r\n]{1,60}\) is not compatible"
        rb"|Attempting to load an incompatible model|NEFF version mismatch|NRT_UNSUPPORTED_NEFF_VERSION"
        rb"|nrt_\w{1,40}:? status=10\b|Unsupported hardware operator code|upgrade to latest aws-neuronx-"
        rb"|aws_hal_tpb_pooling_write_profile {1,40}failed|NEFF version: [^\r\n]{1,99} not supported|NEFF is invalid",
        more_specific_than=("any error of Neuron's runtime",),
        sample='RuntimeError: nrt_load status=10 message="odd"',
    ),
    Signature(
        "import_error",
        "The image lacks Neuron's collectives library. Install aws-neuronx-collectives, or add its folder to "
        "LD_LIBRARY_PATH.",
        rb"Error opening libnccom\.so",
        sample="NCCL init error: Error opening libnccom.so, cannot use collective operations!",
    ),
    Signature(
        "import_error",
        "The PJRT plugin (libneuronxla, libtpu) and the framework do not match. Install both from one release.",
        rb"The PJRT plugin has PJRT API version",
        sample=("RuntimeError: odd. The PJRT plugin has PJRT API version 0.7. The framework PJRT API version is 0.6)."),
    ),
    Signature(
        "stale_process",
        "Other processes use the NeuronCores, or the program requests more than there are. Stop leftover processes "
        "(neuron-ls), and compare NEURON_RT_NUM_CORES and NEURON_RT_VISIBLE_CORES with the processes per node.",
        rb"(?:Logical Neuron |Neuron)Core\(s\) not available",
        nearness=11,
        more_specific_than=("any error of Neuron's runtime",),
        sample=("2026-Jan-02 03:04:05 7:7 ERROR  NRT:nrt_allocate_neuron_cores  Logical Neuron Core(s) not available"),
    ),
    Signature(
        "stale_process",
        "An earlier program left the NeuronCores running. Stop leftover processes (neuron-ls), then reload the driver "
        "(rmmod neuron, modprobe neuron).",
        rb"Timestamp program stop timeout|engines are running\. Please restart",
        nearness=11,
        more_specific_than=("any error of Neuron's runtime",),
        sample=("2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd nd7 nc1 Timestamp program stop timeout (1000 ms)"),
    ),
    Signature(
        "wrong_rank",
        "There are more processes than NeuronCores. Compare NEURON_RT_VISIBLE_CORES with the processes per node.",
        rb"Error: [^\r\n]{1,200} is higher than count \d{1,9} from NEURON_RT_VISIBLE_CORES",
        sample="ValueError: odd value of 9 is higher than count 7 from NEURON_RT_VISIBLE_CORES 0-6",
    ),
    Signature(
        "settings_refused",
        "The graph was compiled for another number of physical cores per logical NeuronCore than the runtime uses. "
        "Set NEURON_LOGICAL_NC_CONFIG and the compiler's --lnc to the same value, and empty the compile cache.",
        rb"Mismatch detected between Runtime configuration and NEFF",
        nearness=BLAME["neuron"] - 1,
        more_specific_than=("any error of Neuron's runtime",),
        sample=("2026-Jan-02 03:04:05.6 7:8 ERROR NRT:odd Mismatch detected between Runtime configuration and NEFF."),
    ),
    Signature(
        "settings_refused",
        "PyTorch/XLA does not know which device to use. Set PJRT_DEVICE=NEURON.",
        rb"\$PJRT_DEVICE is not set",
        sample="RuntimeError: odd: FAILED_PRECONDITION: $PJRT_DEVICE is not set.",
    ),
    Signature(
        "no_gpu",
        "No NeuronCore is usable. Check neuron-ls, the driver (aws-neuronx-dkms), that /dev/neuron* is passed in, "
        "that no other process uses the cores, and NEURON_RT_NUM_CORES and NEURON_RT_VISIBLE_CORES.",
        rb"No neuron device available|Could not open the (?:nd\d|device index)|Neuron [Rr]untime c(?:ould not"
        rb"|annot) be initialized|NERR_RESOURCE_NC|NRT_LOAD_NOT_ENOUGH_NC|nrt_\w{1,40}:? status=9\b"
        rb"|Unable to determine Neuron Driver version|(?:open|access) [^\r\n]{0,60}/dev/neuron"
        rb"|ERROR {1,4}NRT:[^\r\n]{1,99} cores are not contiguous|Could not find VNC id|modprobe: (?:FATAL"
        rb"|ERROR): Module neuron not found",
        more_specific_than=("any error of Neuron's runtime",),
        sample="modprobe: FATAL: Module neuron not found in directory /lib/modules/7.1",
    ),
    Signature(
        "out_of_memory",
        "A NeuronCore ran out of memory. Lower the micro batch size or sequence length, or increase model "
        "parallelism; neuron-top shows what uses the memory.",
        rb"[Ff]ailed to alloc(?:ate)? (?:DEVICE|HOST) memory|\bNRT_RESOURCE\b|nrt_\w{1,40}:? status=4\b"
        rb"|peak HBM usage [^\r\n]{0,60}exceeds|Neff won't be able to load"
        rb"|Failed to allocate [\d.]{1,20}[KMGT]?B \(alignment: |\bNCC_EOOM\d{1,5}\b|\bNCC_EVRF009\b"
        rb"|TMPBUF pages requested exceeded|Failed to allocate nrt tensor",
        more_specific_than=("Neuron compiler",),
        sample="ERROR: [NCC_EOOM001] the odd tensors exceed the limit",
    ),
    Signature(
        "sizes",
        "A NeuronCore got an index that is out of range, usually a token outside the vocabulary. Compare tokenizer, "
        "data and vocabulary size.",
        rb"NRT_EXEC_OOB|" + _NUMBER + rb"1006\b|due to out-of-bound access|Out of bounds access on model",
        nearness=30,
        more_specific_than=(
            "status of Neuron's runtime",
            "any error of Neuron's runtime",
        ),
        sample=("2026-Jan-02 03:04:05.000006 7:8 ERROR  NMGR:odd Inference completed with err: 1006. mode->h_nn=7"),
    ),
    Signature(
        "collective_mismatch",
        "The ranks run different graphs, or one has another place in the groups. Compare the parallel sizes, the "
        "batch shapes and the nodes' compile caches.",
        rb"MPMD (?:execution is not supported|detected but)|replica groups? [^\r\n]{0,60}does not have myself"
        rb"|mismatched collectives between the peers",
        nearness=30,
        more_specific_than=(
            "status of Neuron's runtime",
            "any error of Neuron's runtime",
            "different collectives",
        ),
        sample=(
            "2026-Jan-02 03:04:05.000006 7:8 ERROR  ENC:odd [nec_dev 7] replica groups (0/1) does not have myself 7"
        ),
    ),
    Signature(
        "sizes",
        "The NeuronCores have no collective for groups of these sizes. Choose tensor and pipeline parallel sizes that "
        "fit the instance's links, such as 8, 32 or 64.",
        rb"failed \(2\) to init a collective algorithm for",
        nearness=30,
        more_specific_than=(
            "status of Neuron's runtime",
            "any error of Neuron's runtime",
        ),
        sample=(
            "2026-Jan-02 03:04:05.000006 7:8 ERROR  ENC:enc_odd  [rank 7] failed (2) to init a "
            "collective algorithm for provided replica group."
        ),
    ),
    Signature(
        "neuron",
        "A NeuronCore did not finish a graph in time. If the graph is meant to take that long, raise "
        "NEURON_RT_EXEC_TIMEOUT (seconds); if other nodes did not hang, replace the instance.",
        rb"timeout \(\d{1,9} ms\) [^\r\n]{0,400}waiting for execution completion"
        rb"|Suspected hang after successful execution of collectives",
        more_specific_than=("any error of Neuron's runtime",),
        sample=(
            "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd  Suspected hang after successful "
            "execution of collectives operation 0 (ODD)"
        ),
    ),
    Signature(
        "neuron",
        "A NeuronCore's notification queue overflowed. Set NEURON_RT_ENABLE_DGE_NOTIFICATIONS=0.",
        rb"NRT_EXEC_SW_NQ_OVERFLOW|" + _NUMBER + rb"1204\b|is stuck after all collectives|caused by DGE notifications",
        more_specific_than=("any error of Neuron's runtime",),
        sample=(
            "2026-Jan-02 03:04:05.000006 7:8 ERROR  NRT:nrt_infodump   Failure: "
            "NRT_EXEC_SW_NQ_OVERFLOW in nrt_execute()"
        ),
    ),
    Signature(
        "compile",
        "This process waits for another one, which is usually gone, to compile a graph. Empty the compile cache, or "
        "remove its lock files.",
        rb"Another process must be compiling \S{1,400}, been waiting for: (?:[3-9]\d|\d{3,5})\.\d",
        sample=("INFO ||NEURON_CACHE||: Another process must be compiling /x/model.pb, been waiting for: 91.0 minutes"),
    ),
    Signature(
        "killed",
        "The Neuron compiler was killed, usually because host memory ran out. Compile on a larger instance, or fewer "
        "graphs at a time.",
        rb"neuronx?-cc was forcibly killed|Backend exited with code -9|neuronx?-cc[^\r\n]{0,600}exit status -9"
        rb"|RunNeuronCC[^\r\n]{0,900}Signals\.SIGKILL",
        more_specific_than=(
            "any SIGKILL",
            "any exit code",
        ),
        sample="neuron-ccexit status -9",
    ),
    Signature(
        "compile",
        "The Neuron compiler failed. Read its log (log-neuron-cc.txt), check compiler flags and version, and clear "
        "the failed graph's compile cache.",
        rb"ERROR \d{1,9} \[neuronx?-cc\]: (?![^\r\n]{0,400}[Nn]o space left)|neuronx?-cc failed"
        rb"|\[F\d{1,4}\] neuronx?-cc |neuronx?-cc[^\r\n]{0,600}(?:non-zero exit status|failed with"
        rb"|compilation failed|terminated abnormally)|\[NCC_[A-Z]{1,10}\d{1,5}\]|Compiler status (?:ERROR|FAIL)"
        rb"|Compilation failed for |ERROR:neuronx_cc:|ERROR \d{1,9} \[neuronxcc\."
        rb"|Failed compilation with (?![^\r\n]{0,900}[Nn]o space left)|Got a cached failed neff"
        rb"|RunNeuronCC\w{0,20}: error|\[[A-Z]{3}\d{3}\] {1,4}Unhandled exception with message"
        rb"|=== BIR verification failed|Too many instructions after unroll",
        name="Neuron compiler",
        sample="  what():  === BIR verification failed ===",
    ),
    Signature(
        "rendezvous_timeout",
        "The other workers did not connect. Look for nodes that did not start, then check EFA, the security group, "
        "the interfaces and NEURON_RT_ROOT_COMM_ID.",
        rb"CCOM WARN [^\r\n]{0,300}(?:[Tt]imeout waiting for|[Tt]imed out|Connect to|Connection refused"
        rb"|[Nn]o route)|NEURON_RT_ROOT_COMM_ID[^\r\n]{0,200}(?:invalid|not set|[Ff]ailed)",
        more_specific_than=("any CCOM warning",),
        sample="CCOM WARN No route",
    ),
    # The runtime uses it to say that the graph was not finished, and may say no more.
    Signature(
        "watchdog",
        "A collective hangs on a Neuron device. Look for the worker that lags behind or has no such line.",
        rb"[Ss]uspected hang (?:in|between)\b|missing collectives status|waiting for cc status notifications"
        rb"|Unexpected number of CC notifications|\(FATAL-RT-[A-Z-]{1,40}\)|completed with err: 5\b"
        rb"|nrt_\w{1,40}:? status=5 message=|NRT_EXEC_HW_ERR_COLLECTIVES|" + _NUMBER + rb"1200\b"
        rb"|TDRV:[^\r\n]{1,99} execution timeout \(|Timeout exceeded: Waiting on [\w ]{0,20}proxy task",
        more_specific_than=(
            "any error of Neuron's runtime",
            "status INTERNAL",
        ),
        sample="INTERNAL: nrt_execute status=5 message=Timeout Exceeded",
    ),
    Signature(
        "nccl",
        "The network between the workers failed (EFA, libfabric). Check the EFA driver and devices (fi_info -p efa), "
        "the security group, and the other nodes' logs.",
        _NUMBER + rb"1206\b|NETWORK_PROXY_FAIL|Proxy failed to execute task"
        rb"|ERROR {1,4}ENC:\w{0,40}(?:[Bb]ootstrap|connect|ncclNet)",
        more_specific_than=(
            "status of Neuron's runtime",
            "any error of Neuron's runtime",
        ),
        sample='RuntimeError: odd: nrt_execute status=1206 message="odd"',
    ),
    # For these, the cause is whatever was printed before. If nothing was, they are as good as the next one.
    Signature(
        "neuron",
        None,
        rb"Failed to load NEFF with collectives|nrt_(?:\w{1,40}:? )?status=(?:1|2|101)\b|nrt_init failed"
        rb"|\bNRT_(?:FAILURE|INVALID|EXEC_UNIT_UNRECOVERABLE)\b"
        rb"|Nrt::\w{1,30} failed(?![^\r\n]{0,200}status=(?!(?:1|2|101)\b))"
        rb"|ERROR {1,4}(?:NMGR|ENC):" + _LINE + rb"\w{1,60}"
        rb"|INTERNAL: From /job:\w{0,9}localservice/|Missing infer_status notification"
        rb"|failed to create global communicator|barrier execution has failed|build and load collectives resources"
        rb"|Failed to progress Neuron Core Exec"
        rb"|TDRV not initialized"
        rb"|Failed to initialize devices, error",
        BLAME["watchdog"] + 1,
        name="status of Neuron's runtime",
        more_specific_than=("any error of Neuron's runtime",),
        sample="RuntimeError: INTERNAL: From /job:c_localservice/replica:0/task:0:",
    ),
    Signature(
        "neuron",
        None,
        rb"nrt_(?:execute|load|init|barrier|tensor|build|all)\w{0,40}[:(]? ?(?:status=|failed|\(\) failed)"
        rb"|\bNRT_(?:INVALID_HANDLE|TIMEOUT|HW_ERROR|QUEUE_FULL|FAIL_HOST_MEM_ALLOC"
        rb"|UNINITIALIZED|EXEC_[A-Z_]{1,50})\b|\bNERR_[A-Z_]{1,40}|ERROR {1,4}(?:TDRV|NRT|KBL|NEFF):"
        + _LINE
        + rb"\w{1,60}"
        rb"|Nrt::\w{1,30} failed|\bstatus=\d{1,4} message="
        rb"|\.\d{6} {1,4}\d{1,9}:\d{1,9} {1,4}(?:ERROR|FATAL) {1,4}[A-Z]{2,12}:" + _LINE + rb"|\] neuron:\w{1,60}: "
        rb"[^\r\n]{0,160}(?:[Ff]ailed|[Tt]imeout|[Ee]rror|[Ii]nvalid)",
        name="any error of Neuron's runtime",
        sample="2026-Jan-02 03:04:05.000331  77:88  ERROR  HAL:aws_hal_q_init  cannot start",
    ),
)
