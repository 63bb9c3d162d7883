# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWS Neuron says: its runtime (nrt.h: NRT_STATUS), driver, collectives (CCOM, aws-ofi-nccl) and neuronx-cc.

Of the runtime's status numbers 1003 means that a result was not a number, 1200 to 1205 that the hardware failed.
"""

from __future__ import annotations

from ..signature import Signature

SIGNATURES = (
    Signature(
        "nan",
        (b"COMPLETED_WITH_NUM_ERR", b"status=1003", b"err: 1003"),
        "A NeuronCore computed a value that is no number: check data, precision (stochastic rounding) and learning "
        "rate.",
        rb"NRT_EXEC_COMPLETED_WITH_NUM_ERR|nrt_\w{1,40}:? status=1003\b|completed with err: 1003\b",
    ),
    Signature(
        "gpu_ecc",
        (b"EXEC_HW_ERR_", b"status=120", b"HBM_UE", b"NC_UE", b"DMA_ABORT", b"NEURON_HW_ERR="),
        "The hardware of a Neuron device failed: drain the node, read neuron-top, neuron-monitor and the kernel "
        "log, and replace the instance where it comes back.",
        rb"NRT_EXEC_HW_ERR_(?:\w{0,20}HBM_UE|NC_UE|DMA_ABORT)|nrt_\w{1,40}:? status=120[1-35]\b|NEURON_HW_ERR=\w",
    ),
    Signature(
        "driver_mismatch",
        (b"requires Neuron Driver version", b"is Neuron Runtime (", b"load an incompatible model"),
        "Driver, runtime and compiler of Neuron are not of one release: update aws-neuronx-dkms on the node and "
        "aws-neuronx-runtime-lib in the image, and compile the model again.",
        rb"This runtime requires Neuron Driver version|his Neuron Runtime \([^)\r\n]{1,60}\) is not compatible"
        rb"|Attempting to load an incompatible model",
    ),
    Signature(
        "stale_process",
        (b"Core(s) not available",),
        "Other processes hold the NeuronCores, or more are asked for than there are: look for what is left over "
        "(neuron-ls), end it, and compare NEURON_RT_NUM_CORES and NEURON_RT_VISIBLE_CORES with the processes per node.",
        rb"(?:Logical Neuron |Neuron)Core\(s\) not available",
        nearness=11,
    ),
    Signature(
        "no_gpu",
        (
            b"No neuron device",
            b"/dev/neuron",
            b"Could not open the nd",
            b"open the device index",
            b"untime could not be initialized",
            b"untime cannot be initialized",
            b"NERR_RESOURCE_NC",
            b"determine Neuron Driver version",
            *(b"NOT_ENOUGH_NC", b"status=9"),
        ),
        "NeuronCores cannot be used: check neuron-ls, the driver (aws-neuronx-dkms), that /dev/neuron* is passed "
        "in, and that no other process holds the cores; NEURON_RT_NUM_CORES and NEURON_RT_VISIBLE_CORES must fit.",
        (
            rb"No neuron device available|Could not open the (?:nd\d"
            rb"|device index)"
            rb"|Neuron [Rr]untime c(?:ould not|annot) be initialized|NERR_RESOURCE_NC|NRT_LOAD_NOT_ENOUGH_NC"
            rb"|nrt_\w{1,40}:? status=9\b|Unable to determine Neuron Driver version|(?:open"
            rb"|access) [^\r\n]{0,60}/dev/neuron"
        ),
    ),
    Signature(
        "out_of_memory",
        (
            b"alloc DEVICE memory",
            b"allocate DEVICE memory",
            b"NRT_RESOURCE",
            b"status=4",
            b"alloc HOST memory",
            b"(alignment: ",
            *(b"peak HBM usage", b"Neff won't be able to load", b"NCC_EOOM", b"NCC_EVRF"),
        ),
        "The memory of a NeuronCore does not suffice: lower the micro batch size or sequence length, or split the "
        "model more; neuron-top shows what holds it.",
        (
            rb"[Ff]ailed to alloc(?:ate)? (?:DEVICE|HOST) memory|\bNRT_RESOURCE\b|nrt_\w{1,40}: status=4\b"
            rb"|nrt_\w{1,40} status=4\b|peak HBM usage [^\r\n]{0,60}exceeds|Neff won't be able to load"
            rb"|Failed to allocate [\d.]{1,20}[KMGT]?B \(alignment: |\bNCC_EOOM\d{1,5}\b|\bNCC_EVRF009\b"
        ),
    ),
    Signature(
        "killed",
        (b"forcibly killed", b"Backend exited with code -9", b"exit status -9", b"RunNeuronCC"),
        "The Neuron compiler was killed, mostly for lack of host memory: compile on a larger instance, or fewer "
        "graphs at a time.",
        rb"neuronx?-cc was forcibly killed|Backend exited with code -9|neuronx?-cc[^\r\n]{0,600}exit status -9"
        rb"|RunNeuronCC[^\r\n]{0,900}Signals\.SIGKILL",
    ),
    Signature(
        "compile",
        (
            b"neuronx-cc",
            b"neuron-cc",
            b"[NCC_",
            b"Compiler status ",
            b"Compilation failed for",
            b"neuronx_cc:",
            b"[neuronxcc",
            b"Failed compilation with",
            b"failed neff",
            b"RunNeuronCC",
            b"Internal Compiler Error",
            b"nhandled exception with message",
        ),
        "The Neuron compiler failed: read its log (log-neuron-cc.txt), check compiler flags and version, and clear the "
        "compile cache of the failed graph.",
        (
            rb"ERROR \d{1,9} \[neuronx?-cc\]: |neuronx?-cc failed|\[F\d{1,4}\] neuronx?-cc "
            rb"|neuronx?-cc[^\r\n]{0,600}(?:non-zero exit status|failed with|compilation failed"
            rb"|terminated abnormally)|\[NCC_[A-Z]{1,10}\d{1,5}\]"
            rb"|Compiler status (?:ERROR|FAIL)|Compilation failed for |ERROR:neuronx_cc:"
            rb"|ERROR \d{1,9} \[neuronxcc\.|Failed compilation with |Got a cached failed neff"
            rb"|RunNeuronCC\w{0,20}: error|\[[A-Z]{3}\d{3}\] {1,4}Unhandled exception with message"
        ),
    ),
    Signature(
        "rendezvous_timeout",
        (b"CCOM WARN", b"NEURON_RT_ROOT_COMM_ID"),
        "The other workers did not connect: look for nodes that did not start, then check EFA, the security group, the "
        "interfaces and NEURON_RT_ROOT_COMM_ID.",
        rb"CCOM WARN [^\r\n]{0,300}(?:[Tt]imeout waiting for|[Tt]imed out|Connect to|Connection refused"
        rb"|[Nn]o route)|NEURON_RT_ROOT_COMM_ID[^\r\n]{0,200}(?:invalid|not set|[Ff]ailed)",
    ),
    Signature(
        "watchdog",
        (
            b"hang in collectives",
            b"missing collectives status",
            b"(FATAL-RT-",
            b"or cc status notif",
            b"of CC notifications",
            *(b"with err: 5", b"status=5 message="),
        ),
        "A collective hangs on a Neuron device: look for the worker that lags behind or has no such line.",
        rb"suspected hang in collectives|missing collectives status|waiting for cc status notifications"
        rb"|Unexpected number of CC notifications|\(FATAL-RT-[A-Z-]{1,40}\)|completed with err: 5\b"
        rb"|nrt_\w{1,40}:? status=5 message=",
    ),
    Signature(
        "nccl",
        (b"CCOM WARN", b"EXEC_HW_ERR_COLLECTIVES", b"status=120", b"NETWORK_PROXY_FAIL", b"OFI plugin", b"ENC:"),
        "The network between the workers failed (EFA, libfabric): check the EFA driver and devices (fi_info -p "
        "efa), the security group, and the logs of the other nodes.",
        rb"CCOM WARN (?![^\r\n]{0,300}[Tt]oo many open files)|NRT_EXEC_HW_ERR_COLLECTIVES"
        rb"|nrt_\w{1,40}:? status=120[06]\b|NETWORK_PROXY_FAIL"
        rb"|ERROR {1,4}ENC:\w{0,40}(?:[Bb]ootstrap|replica_group|connect)",
    ),
    Signature(
        "neuron",
        (b"nrt_", b"NRT_", b"NERR_", b"ERROR ", b"FATAL ", b"Nrt::", b"NEFF is invalid", b"neuron:", b" message="),
        "The Neuron runtime or a NeuronCore failed: read the kernel log and the health of the device (neuron-top, "
        "neuron-monitor), and check that runtime, driver and compiler are of one release.",
        (
            rb"nrt_(?:execute|load|init|barrier|tensor|build|all)\w{0,40}[:(]? ?(?:status=|failed|\(\) failed)"
            rb"|\bNRT_(?:FAILURE|INVALID|INVALID_HANDLE|TIMEOUT|HW_ERROR|QUEUE_FULL"
            rb"|UNSUPPORTED_NEFF_VERSION|FAIL_HOST_MEM_ALLOC"
            rb"|UNINITIALIZED|EXEC_[A-Z_]{1,50})\b|\bNERR_[A-Z_]{1,40}|ERROR {1,4}(?:NMGR|TDRV|NRT|ENC|KBL"
            rb"|NEFF):(?!(?:nrt_close|nrt_infodump|notification_destroy)|[^\r\n]{0,99}\(NON-FATAL)\w{1,60}"
            rb"|Nrt::\w{1,30} failed|NEFF is invalid|\bstatus=\d{1,4} message="
            rb"|\.\d{6} {1,4}\d{1,9}:\d{1,9} {1,4}(?:ERROR"
            rb"|FATAL) {1,4}[A-Z]{2,12}:"
            rb"(?!(?:nrt_close|nrt_infodump|notification_destroy)|[^\r\n]{0,99}\(NON-FATAL)"
            rb"|\] neuron:\w{1,60}: [^\r\n]{0,160}(?:[Ff]ailed|[Tt]imeout|[Ee]rror|[Ii]nvalid)"
        ),
    ),
)
