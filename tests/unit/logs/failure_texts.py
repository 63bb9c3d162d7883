"""Texts of failures, by class, and texts that only read like them. The numbers and names are made up."""

from __future__ import annotations

# class -> texts; (text, rank, exit code) for texts that contain a rank or an exit code
Text = str | tuple[str, int | None, int | None]

TEXTS: dict[str, list[Text]] = {
    "gpu_hang": [
        "[ 12.1] amdgpu 0000:05:00.0: amdgpu: GPU reset end with ret = -62",
        "[ 12.1] amdgpu 0000:05:00.0: amdgpu: HIQ odd, Queue preemption time out",
        "HW Exception by GPU node-9 (Agent handle: 0x1) reason :GPU Hang",
        " 45%|####  | 9/20 [00:09<00:11]HW Exception by GPU node-9 (Agent handle: 0x1) reason :GPU Hang",
    ],
    "gpu_ecc": [
        "    Remapping Failure Occurred            : Yes",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd (FATAL-RT-ODD) encountered uncorrectable memory "
        "error on Neuron Device 7",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd (FATAL-RT-ODD) [ND 7][NC 1] Uncorrectable memory "
        "error is detected, metadata: 0x1. Please",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd (FATAL-RT-ODD) Uncorrectable HBM memory error is "
        "detected. Execution results may be odd",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd [MLA 7][NC 1] DMA RX engine 3 is in an abort state",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  NMGR:odd Inference completed with err: 1203. mode->h_nn=7",
        "[ 12.1] neuron:odd: [ND 7] Total Uncorrected ecc err count is 2, but repair state is 9 which is invalid",
        "n1 kernel: NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i-0 nd-id=7 action=TERMINATE_INSTANCE",
        "[ 12.1] NVRM: Xid (PCI:0000:05:00): 157, odd",
        "Memory critical error by agent node-3 (Agent handle: 0x5) on address 0x7f. Reason: Memory in use.",
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "health check: GPU 3: Xid 95",
        "[ 12.1] NVRM: Xid (PCI:0000:3b:00): 95, pid=7, Uncontained: LRC. RST: Yes",
        "[ 12.1] amdgpu 0000:05:00.0: amdgpu: socket: 0, die: 0 2 uncorrectable hardware errors detected in umc block",
        "[ 12.1] amdgpu 0000:e3:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        "2026-Jan-02 03:04:05.6 7:8 ERROR NRT:nrt_infodump Failure: NRT_EXEC_HW_ERR_HBM_UE in nrt_execute()",
    ],
    "node_failure": [
        "manager.py:7] Slice down event and new slice available detected. Retrying.",
        'E0102 03:04:05.000006 7 kubelet.go:7] "Skipping odd" err="PLEG is not healthy: pleg was odd"',
        "  DisruptionTarget  True  DeletionByTaintManager  Taint manager: deleting due to NoExecute taint",
        "Normal  EvictedDueToNodeFailures  Workload was evicted as there was no replacement for a failed node: n7",
        "38m  Normal  NodeNotReady  node/n7  Node n7 status is now: NodeNotReady",
        "33m  Warning  PodGCTerminated  pod/worker-6  PodGC: node not found",
        "Normal  NodeHasUnknownStatus  node/n7  Kubelet stopped posting node status.",
        "[ 12.1] general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP NOPTI",
        "[ 12.1] Memory failure: 0x7f: recovery action for dirty page: Failed",
        "slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2026-01-02T03:04:05 DUE TO NODE FAILURE, SEE SLURMCTLD "
        "LOG ***",
        "[ 12.1] watchdog: BUG: soft lockup - CPU#7 stuck for 26s! [python3:77]",
    ],
    "driver_mismatch": [
        'x.cc:7] (0) INVALID_ARGUMENT: odd.cc:7:NEFF is invalid: nrt_load: status=2, error message="odd".',
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  NEFF:neff_parse  NEFF version: 9.0, features: 0x7 are not supported.",
        "NEFF version mismatch supported: 7.1 received: 9.0",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd Unsupported hardware operator code 7 found in neff.",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  HAL:aws_hal_tpb_pooling_write_profile   failed programming the engine",
        "[ 12.1] NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
        "pynvml.NVMLError_LibRmVersionMismatch: RM has detected an NVML/RM version mismatch.",
        "2026-Jan-02 03:04:05.6 7:8 ERROR NRT:nrt_init This Neuron Runtime (compatibility id: 9) is not compatible",
        "2026-Jan-02 03:04:05.6 7:8 ERROR   NRT:nrt_init   This runtime requires Neuron Driver version 9.9 or greater.",
        "HSA Error:  Incompatible kernel and userspace, queues disabled. Upgrade amdgpu.",
        "Failed to initialize NVML: Driver/library version mismatch",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
        "CUDA initialization: Error 802: system not yet initialized",
    ],
    "neuron": [
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  NRT:nrt_load_collectives  failed to create global "
        "communicator, global_device_id=7",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  NRT:nrt_barrier  The barrier execution has failed on LNC: 7",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd (FATAL-RT-ODD) execution timeout (7 ms) on Neuron "
        "Device 7 NC 1, model x.neff, waiting for execution completion notification",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd [ND 7][NC 1] execution timeout (7 ms) on model "
        "x.neff, potentially caused by DGE notifications enabled.",
        'RuntimeError: Nrt::BuildOdd failed on NeuronCores 0-1(2):  nrt_status=1, message="Non specific failure".',
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  NMGR:odd_load   Failed to load NN: x.neff, err: 1",
        "[ 12.1] neuron:ndma_memcpy_wait: DMA completion timeout on nd7 for nc0 q1 desc count 4",
        'RuntimeError: Execute failed: nrt_execute: status=1004, error message="Execution was completed with other '
        'errors"',
        "2026-Jan-02 03:04:05.6 7:8 ERROR  TDRV:tdrv_init_one_mla_phase1  Could not map the BAR",
        "2026-Jan-02 03:04:05.6 7:8 ERROR   NRT:nrt_infodump    Failure: NRT_INVALID in nrt_load()",
    ],
    "io_error": [
        "[ 12.1] critical medium error, dev nvme2n1, sector 7 op 0x0:(READ)",
        "[ 12.1] nvme2n1: I/O Cmd(0x2) @ LBA 7, 256 blocks, I/O Error (sct 0x2 / sc 0x81) MORE DNR",
        'ValueError: UNAVAILABLE: Error reading local file "/x": Odd [OS error 116: ESTALE Stale file handle]',
        "Node condition ReadonlyFilesystem is now: True, reason: FilesystemIsReadOnly",
        "OSError: [Errno 108] Cannot send after transport endpoint shutdown: '/lustre/x'",
        "RuntimeError: read(): fd 7 failed with Stale file handle",
        "OSError: [Errno 5] Input/output error: '/data/x.bin'",
        "mkdir: cannot create directory '/out': Read-only file system",
    ],
    "checkpoint": [
        "KeyError: MetadataIndex(fqn='module.odd', offset=torch.Size([2, 0]), index=24)",
        "ValueError: Requested shape: (7, 4) is not compatible with the stored shape: (6, 4). Odd",
        'ValueError: FAILED_PRECONDITION: Error opening "odd" driver: Expected "shape" of [7] but received: [8]',
        "ValueError: Size mismatch between saved torch.Size([7]) and current: torch.Size([8]) for odd",
        ">> '--exit-on-missing-checkpoint' set ... exiting. <<",
        "Unable to load optimizer from checkpoint /x. Odd",
        "AssertionError: hidden_size value from checkpoint (64) is not equal to the input argument value (32).",
        "FileNotFoundError: [Errno 2] No such file or directory: '/x/iter_0000007/odd'",
        "ValueError: Requested directory for restore does not exist at /x.",
        "RuntimeError: Error(s) in loading state_dict for GPTModel:",
    ],
    "compile": [
        "2026-01-02T03:04:05Z Too many instructions after unroll!",
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating on stack for %odd",
        "RESOURCE_EXHAUSTED: XLA:TPU says odd. Ran out of memory in memory space smem. Used 2M of 1M smem.",
        "subprocess.CalledProcessError: Command '['make', '-C', '/x']' returned non-zero exit status 2.",
        "nvrtc: error: odd",
        "OSError: CUDA_HOME environment variable is not set.",
        "OutOfResources: out of resource: tensor memory, Required: 7. Error",
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: ld.lld execute fail: , error code 1",
        "ValueError: type fp8e4odd not supported in this architecture. The supported ones are odd",
        "XlaRuntimeError: INTERNAL: libdevice not found at ./odd",
        "RuntimeError: [aiter] build [module_odd] under /x/jit/build/module_odd failed !!!!!!",
        "XlaRuntimeError: INTERNAL: Mosaic does not like the odd kernel",
        "MIOpen(HIP): Error [Compile] 'hiprtcCompileProgram(x)' y.cpp: HIPRTC_ERROR_COMPILATION (6)",
        "  OP_REQUIRES failed at tpu_execute_op.cc:266 : INTERNAL: neuronx-cc compilation failed.",
        "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/x/main.c']' returned non-zero exit status 1.",
        "2026-01-02 ERROR ||NEURON_CC_WRAPPER||: [F134] neuronx-cc terminated abnormally",
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to compile fusion",
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: "
        "65536. "
        "RuntimeError: x",
    ],
    "container": [
        "mx-0-6bqz2     0/1     CreateContainerConfigError   0          14m",
        "ds2-0-2bq7n    0/1     RunContainerError    4 (28s ago)     2m14s",
        'Error: failed to start containerd task "odd": cannot start a stopped process',
        "FATAL:   container creation failed: mount hook function failure: mount /odd->/data error: odd",
        "[ERROR] /etc/odd/hooks.d/98-odd.sh exited with return code 1",
        "Error: unknown flag: --odd",
        'ERROR: /x/nvidia-container-runtime: find runc path: exec: "runc": executable file not found in $PATH',
        "ERRO[0000] failed to create NVIDIA Container Runtime: error constructing low-level runtime: x",
        "ERROR: for x  Cannot create container for service x: Unknown runtime specified nvidia",
        "docker: 'run' requires at least 1 argument",
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        "Error: crun: open `/proc/7`: No such file or directory: OCI runtime attempted to invoke a command",
        "OSError: [Errno 8] Exec format error: '/usr/bin/odd'",
    ],
    "data_corrupt": [
        "tarfile.ReadError: ('unexpected end of data @ <_io.BufferedReader>', '/data/s.tar')",
        "OSError: Expected to be able to read 77 bytes for message body, got 7",
        "OSError: Unable to open file (truncated file: eof = 7, odd)",
        "EOFError: Ran out of input",
        "SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered",
        "datasets.utils.info_utils.NonMatchingSplitsSizesError: [{}]",
        "ValueError: offset must be non-negative and no greater than buffer length (7)",
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
        "pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer.",
    ],
    "scheduler": [
        "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-01-02T03:04:05 DUE to SIGNAL Terminated ***",
        "slurmstepd: error: Failed to send MESSAGE_TASK_EXIT: Connection refused",
    ],
    "duplicate_gpu": [
        ("Duplicate GPU detected : rank 3 and rank 0 both on CUDA device 5000", 3, None),
    ],
    "hub_rate_limit": [
        "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/x",
    ],
    "hub_unreachable": [
        "ValueError: ABORTED: Error writing gs://x/checkpoints/7: The object x exceeded the rate limit for object "
        "mutation operations",
        "ValueError: DEADLINE_EXCEEDED: Error reading gs://x/checkpoints/7: CURL error Timeout was reached: odd",
        "requests.exceptions.ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection "
        "reset by peer'))",
        "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file",
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files",
        "requests.exceptions.SSLError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded",
    ],
    "image_pull": [
        "Error: copying system image from manifest list: reading blob sha256:7: fetching blob: odd",
        "Error: Error committing the finished image: Error processing tar file(exit status 1): y",
        "docker: failed to register layer: lsetxattr security.capability /x: operation not supported.",
        "Error response from daemon: toomanyrequests: You have reached your unauthenticated pull rate limit.",
        "Error: initializing source docker://nope:7: reading manifest 7 in docker.io/library/nope: denied",
    ],
    "open_files": [
        'ValueError: RESOURCE_EXHAUSTED: Error reading "x" in OCDBT: Odd [OS error 24: EMFILE Too many open files]',
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  ENC:odd   2026-Jan-02 03:04:05.6 7:8 [1] odd.cc:7 CCOM WARN "
        "Call to odd failed : Too many open files",
        "2026-Jan-02 03:04:05.6 7:8 [1] bootstrap.cc:106 CCOM WARN Call to accept failed : Too many open files",
        "OSError: [Errno 24] Too many open files: '/data/x'",
    ],
    "permission_denied": [
        'ml is not member of "nogroup" group, the default DRM access group. Odd',
        "RuntimeError: Unable to initialize backend 'tpu': PERMISSION_DENIED: open(/dev/vfio/7): Permission denied",
        'ValueError: PERMISSION_DENIED: Error writing local file "/x": Odd [OS error 13: EACCES Permission denied]',
    ],
    "slurm_start": [
        "ResponseError: code=403, message=Insufficient regional quota to satisfy request: resource",
        "ERROR: QUOTA_EXCEEDED: Instance 'a' creation failed",
        "An error occurred (MaxSpotInstanceCountExceeded) when calling the RunInstances operation",
        "The zone 'z' does not have enough resources available to fulfill the request.",
        'Warning  FailedScheduling  pod/odd-0  running PreBind plugin "odd": odd',
        "Message: At least one admission check is false",
        "Message: Retrying after failure: Max nodepool size reached, affected nodepools: odd",
        "Warning  OutOfcpu  kubelet  Node didn't have enough resource: cpu, requested: 9, used: 3, capacity: 7",
        "Normal  NotTriggerScaleUp  pod didn't trigger scale-up: 3 max node group size reached",
        "Warning  Pending  kueue  couldn't assign flavors to pod set odd: insufficient unused quota for odd, "
        "7 more needed",
        "Normal  Inadmissible  kueue  ClusterQueue odd is inactive",
        'Error creating: pods "odd-0" is forbidden: exceeded quota: odd, requested: pods=7',
        "Warning  Unschedulable  volcano  3/4 tasks in gang unschedulable: pod group is not ready",
        "An error occurred (InsufficientInstanceCapacity) when calling the RunInstances operation: odd",
        "srun: error: fwd_tree_thread: can't find address for host n3, check slurm.conf",
        "srun: error: Line 7 of configuration file /x.conf is invalid",
        "slurmstepd: error: n3 [1] pmixp_odd.c:212 [pmixp_lib_init] mpi/pmix: ERROR: odd failed with error -2",
        "slurmstepd: error: CPU binding outside of job step allocation, allocated CPUs are: 0x3.",
        "srun: error: Unable to create step for job 7: Requested nodes are busy",
        "slurmstepd: error: execve(): /home/x/run.sh: No such file or directory",
        "srun: error: Task launch for StepId=7.0 failed on node n3: Communication connection failure",
    ],
    "tokenizer": [
        "tensorflow.python.framework.errors_impl.NotFoundError: assets/tokenizer.llama2; No such file or directory",
        "Exception: data did not match any variant of untagged enum ModelWrapper at line 7 column 3",
        "ValueError: Cannot use odd functions because tokenizer.chat_template is not set and none was passed!",
        "TypeError: __init__() missing 1 required positional argument: 'vocab_file'",
        "OSError: Can't load tokenizer for 'x/y'. If you were trying to load it from 'https://huggingface.co/models'",
        "OSError: x/y is not a local folder and is not a valid model identifier listed on "
        "'https://huggingface.co/models'",
        "FileNotFoundError: [Errno 2] No such file or directory: '/models/tokenizer.model'",
    ],
    "collective_mismatch": [
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  ENC:odd [gid: 7] failed signature validation: odd mismatched "
        "collectives between the peers",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd [nec_dev 1, gid 1] MPMD execution is not supported. "
        "This is likely caused by odd",
        "RuntimeError: odd rank 7 is all-gathering 8 parameters while rank 9 is all-gathering 3 parameters",
        "RuntimeError: [/x/gloo/transport/tcp/pair.cc:446] op.preamble.length <= op.nbytes. 8 vs 4",
        "n1:1:2 [3] enqueue.cc:99 NCCL WARN Trying to recv to self without a matching send",
        "RuntimeError: DDP expects same model across all ranks, but Rank 1 has 36 params, while rank 0 has 37.",
    ],
    "wrong_gpu_build": [
        "E1028 07:44:52.4 7 odd.cc:1220] ptxas fatal : Value 'sm_103a' is not defined for option 'gpu-name'",
        "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH",
        "rocblaslt error: Cannot read /odd/hipblaslt/library/TensileLibrary_lazy_gfx950.dat: No such file or directory",
        ":1:hip_fatbin.cpp :332 : 7 us: [pid:7 tid:0x7f] No compatible code objects found for: gfx1, value of ODD: 0",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    ],
    "bus_error": [
        "ERROR: Unexpected bus error encountered in worker. Odd.",
        ("E api.py:874] failed (exitcode: -7) local_rank: 3 (pid: 77) of binary: /usr/bin/python", None, -7),
        "train.sh: line 7:   77 Bus error               (core dumped) python3 x.py",
    ],
    "illegal_instruction": [
        "[ 12.1] traps: python3[77] trap invalid opcode ip:7f sp:7f error:0 in libodd.so",
    ],
    "memlock": [
        "n1:1:2 [3] odd:7 NCCL WARN NET/OFI Unable to register memory (type = 2) for device 3. RC: -7, "
        "Error: Cannot allocate memory",
        "[16.5] [n1:7:0] ib_log.c:246  UCX  ERROR mlx5_0: ibv_create_cq() failed: Cannot allocate memory. Please "
        "set max "
        "locked memory (ulimit -l) to 'unlimited'",
    ],
    "rdma_devices": [
        "n1:1:2 [3] odd:7 NCCL WARN NET/OFI Unable to find a protocol that worked.  Failing initialization.",
    ],
    "preempted": [
        "Warning  Preempted  node/n7  Node n7 is odd: instance was preempted by Compute Engine (compute.odd)",
        "  DisruptionTarget  True  PreemptionByScheduler  odd: preempting to accommodate a higher priority pod",
        "Normal  Preempted  kueue-admission  Preempted to accommodate a workload (UID: 7) due to odd",
        "Message:  Pod was terminated in response to imminent node shutdown.",
        "Warning  SpotInterrupted  karpenter  Spot interruption warning was triggered",
        "Normal  ScaleDown  cluster-autoscaler  deleting pod for node scale down",
        "41s  Normal  Preempted  pod/worker-3  Preempted by pod 7b1f-odd on node n7",
    ],
    "process_limit": [
        "OSError: [Errno 11] Resource temporarily unavailable",
        "  what():  Resource temporarily unavailable",
        "n1:1:2 [3] proxy.cc:99 NCCL WARN pthread_create odd failed: Resource temporarily unavailable",
        "RuntimeError: Unable to odd: can't start new thread",
    ],
    "time_limit": [
        "slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***",
    ],
    "gpu_memory_fault": [
        "Memory access fault by GPU node-3 (Agent handle: 0x1) on address 0x7f. Reason: Page not present.",
    ],
    "no_gpu": [
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: no supported devices found for platform ODD",
        "RuntimeError: Unable to initialize backend 'tpu': NOT_FOUND: TPU initialization failed: open(/dev/vfio/7): No "
        "such file or directory",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  NRT:nrt_allocate_neuron_cores   Neuron cores are not contiguous",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd Could not find VNC id 7",
        "Warning  UnexpectedAdmissionError  Allocate failed due to no healthy devices present; cannot allocate odd",
        "RuntimeError: Can't initialize NVML",
        "RuntimeError: CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server",
        "SystemError: Cannot use odd without accelerator.",
        'DeferredCudaCallError: odd: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at "/x/odd.cpp":7',
        "MisconfigurationException: No supported gpu backend found!",
        "MisconfigurationException: `Odd` can not run on your system since the accelerator is not available.",
        "[ 12.1] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
        "Message: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Odd",
        "[ 12.1] amdgpu 0000:05:00.0: probe with driver amdgpu failed with error -22",
        "[ 12.1] nvidia: probe of 0000:05:00.0 failed with error -1",
        "RuntimeError: Unknown backend odd. Available backends are ['cpu']",
        "RuntimeError: Unknown backend: 'odd' requested, but no platforms that are instances of odd are present.",
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
        "2026-Jan-02 03:04:05.6 7:8 ERROR NRT:nrt_init Unable to determine Neuron Driver version. Please check x",
        "RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
        "jax.errors.JaxRuntimeError: FAILED_PRECONDITION: No visible GPU devices.",
        (
            "[rank2]: RuntimeError: No HIP GPUs are available",
            2,
            None,
        ),
    ],
    "host_memory": [
        "E0102 03:04:05.1 7 x.cc:7] failed to alloc 77 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        'ValueError: RESOURCE_EXHAUSTED: Error reading "x": Odd [OS error 12: ENOMEM Cannot allocate memory]',
        "Warning  SystemOOM  kubelet  System OOM encountered, victim process: odd, pid: 7",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.",
    ],
    "killed": [
        "g++: fatal error: Killed signal terminated program cc1plus",
        (
            "I0102 x.py:7] Training stopped: `next(self.data_iterator)` failed with <class 'RuntimeError'> exception: "
            "(Grain worker process 7 was terminated unexpectedly with exit code -9).",
            None,
            -9,
        ),
        (
            "[2026-01-02 03:04:05,678] [ERROR] [launch.py:7:sigkill_handler] ['python', 'x.py'] exits with return "
            "code = -9",
            None,
            -9,
        ),
        ("      Exit Code:    137", None, 137),
        ("srun: error: n3: tasks 2-3,7: Killed", None, None),
        (
            "E api.py:874] failed (exitcode: -9) local_rank: 3 (pid: 77) of binary: /usr/bin/python",
            None,
            -9,
        ),
    ],
    "out_of_memory": [
        "JaxRuntimeError: RESOURCE_EXHAUSTED: E0101: RuntimeProgramAllocationFailure:",
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 9G of 7G hbm.",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  NRT:nrt_tensor_allocate  Failed to allocate nrt tensor ODD",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd Number of ONE TMPBUF pages requested exceeded the "
        "max number of pages allowed (requested: 9)",
        "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
        "CUDA error (/x/flash_odd/hopper/flash_odd_launch_template_of_a_long_name_in_a_deep_folder/of_many.h:188): "
        "out of memory",
        "[AITER] /x/aiter_odd.h:19 fail to call hipMalloc(&p, n) ---> [HIP error](out of memory)",
        "2026-01-02 03:04:05 192.0.2.7 [3]   (1) Resource exhausted: Attempting to allocate 180.59M.",
        "W x/bfc_allocator.cc:275] Ran out of memory trying to allocate 39.81MiB.  See logs.",
        (
            "[rank5]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total "
            "capacity of",
            5,
            None,
        ),
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB.",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7 bytes.",
        "RuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 2.00G. "
        "That was not possible.",
        "E external/xla/xla/pjrt.cc:1] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Failed to allocate "
        "request for 2.0GiB",
    ],
    "disk_full": [
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. Odd workers are out of shared memory.",
        'ValueError: RESOURCE_EXHAUSTED: Error writing "x": Odd [OS error 122: EDQUOT Disk quota exceeded]',
        'I0102 03:04:05.000006 7 eviction_manager.go:7] "odd: must evict pod(s) to reclaim" '
        'resourceName="ephemeral-storage"',
        'Warning  Evicted  kubelet  Container odd exceeded its local ephemeral storage limit "7Gi".',
        'Failed to pull image "x:7": failed to pull and unpack image: failed to extract layer: write /odd: '
        "no space left on device",
        "ERROR 7 [neuronx-cc]: Error message: [Errno 28] No space left on device",
        'RuntimeError: RESOURCE_EXHAUSTED: Error writing "/odd": No space left on device',
        "OSError: [Errno 28] No space left on device: '/cache/x.npy'",
        "tee: experiment/output_perf.log: No space left on device",
        (
            "[rank2]: OSError: [Errno 122] Disk quota exceeded",
            2,
            None,
        ),
    ],
    "gpu_error": [
        "[ 12.1] NVRM: GPU 0000:05:00.0: RmInitAdapter failed! (0x7:0x8:9)",
        "E0102 03:04:05.1 7 odd.cc:7] [/dev/accel7 n7:pe1:7] !!!! FATAL ERROR !!!! for [/dev/accel7 n7:pe1:7] , odd",
        "E0102 03:04:05.1 7 odd.cc:7] *** [Physical location: n7] odd has occurred, all pending programs will fail",
        "GPUassert: odd /w/f.cu 42",
        "INTERNAL: Fatal error occurred during TPU execution. This may be a compiler bug.",
        (
            "ERROR:megatron.core.rerun_state_machine:Rank 7, node n, device 3, step 9: Possible persistent error!!",
            7,
            None,
        ),
        "RuntimeError: cusolver error: CUSOLVER_STATUS_ODD, when calling `x`",
        "[ 12.1] NVRM: _oddPoll: RPC timedout for fn 7!",
        "CUDA error (/x/flash_odd/hopper/flash_odd_launch_template_of_a_long_name_in_a_deep_folder/of_many.h:188): "
        "invalid argument",
        "[AITER] /x/aiter_odd.h:65 fail to call hipOdd(s) ---> [HIP error](odd state)",
        'RuntimeError: x INTERNAL ASSERT FAILED at "/odd/c10/cuda/driver_api.cpp":15, please report a bug to PyTorch.',
        "E0102 03:04:05.1 7 odd.cc:7] Detected failure SLICE_FAILURE_CHIP_DRIVER_ERROR in session 7",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "torch.AcceleratorError: HIP error: an illegal memory access was encountered",
    ],
    "nan": [
        "FloatingPointError: invalid value (inf) encountered in odd.",
        "2026-Jan-02 03:04:05.000331 77:88 ERROR NMGR:dlr_infer Inference completed with err: 1003",
        (
            "AssertionError: Rank 3: found Inf in local grad norm in backward pass before data-parallel",
            3,
            None,
        ),
        (
            "AssertionError: Rank 3: found unexpected large grads in bucket #0",
            3,
            None,
        ),
        (
            "AssertionError: Rank 3: found NaN in local forward loss calculation. Device: 3, node: n1",
            3,
            None,
        ),
        (
            "RuntimeError: Rank 12, node n2, device 4, iteration 7: Unexpected result nan (message='found NaN in "
            "local forward loss calculation')",
            12,
            None,
        ),
        (
            "RuntimeError: Rank 1, node n, device 1, iteration 7: Unexpected result inf (message='found "
            "unexpected large grads in bucket #0')",
            1,
            None,
        ),
    ],
    "import_error": [
        "x.py:7: Warning: JAX plugin odd version 0.5.0 is odd, but it is not compatible with the installed jaxlib",
        "RuntimeError: Unable to load cuODD. Is it installed?",
        "FAILED_PRECONDITION: Mismatched PJRT plugin PJRT API major version (0)",
        "The detected CUDA version (7.8) mismatches the version that was used to compile",
        "CUDAMismatchException: Installed CUDA version 7.8 does not match the version torch was compiled with 7.9",
        "RuntimeError: Failed to load native library: libodd.so",
        "AttributeError: 'NoneType' object has no attribute 'cquantize_odd'",
        "FileNotFoundError: Could not find shared object file for Odd Engine",
        "RuntimeError: operator torchvision::odd does not exist",
        "TypeError: Descriptors cannot not be created directly.",
        "RuntimeError: fused module is not found. Please install apex.",
        "ModuleNotFoundError: import of torch halted; None in sys.modules",
        "ModuleNotFoundError: No module named 'grain'",
        "ImportError: libx.so.1: cannot open shared object file",
    ],
    "access_denied": [
        "ValueError: PERMISSION_DENIED: Error reading gs://x/checkpoints: odd does not have storage.objects.get access",
        "ValueError: NOT_FOUND: Error reading gs://x/7: Could not locate the credentials file and not running on GCE.",
        "httpx.HTTPStatusError: Client error '403 Forbidden' for url 'https://huggingface.co/odd/resolve/main/config.json'",
        "httpx.HTTPStatusError: Client error '403 Forbidden' for url "
        "'https://huggingface.co/odd/resolve/main/config.json'",
        "huggingface_hub.errors.HfHubHTTPError: 403 Forbidden: odd.",
        (
            "[rank3]: OSError: You are trying to access a gated repo.",
            3,
            None,
        ),
        "huggingface_hub.errors.GatedRepoError: 403 Client Error. (Request ID: Root=1-66f4b037)",
        "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/x",
        "2026-01-02 03:04:05 ERROR 403: Forbidden.",
    ],
    "sizes": [
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd Received notification generated at runtime: failed "
        "to odd, due to out-of-bound access.",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  NRT:nrt_execute_odd Failed to execute model x.neff with status 1006",
        "RuntimeError: stack expects each tensor to be equal size, but got [7]",
        "ValueError: Received incompatible devices for jitted computation. Got odd ones",
        "AssertionError: world size (6) is not divisible by total_model_size (total_model_size=16)",
        (
            "[rank1]: AssertionError: current global batch size (10) is not divisible by micro-batch-size (4) "
            "timesdata parallel size (2)",
            1,
            None,
        ),
        "AssertionError: Number of layers should be divisible by the pipeline-model-parallel size",
        "RuntimeError: decoder world_size (4) is not divisible by expert_tensor_model_pipeline_parallel size (8)",
    ],
    "settings_refused": [
        'Error creating: Internal error occurred: failed calling webhook "odd.kb.io": odd',
        'pods "odd-0" is forbidden: violates PodSecurity "odd": privileged',
        'Error from server: admission webhook "odd.kb.io" denied the request: odd',
        "mpirun has detected an attempt to run as root.",
        "RuntimeError: CUDA error: operation failed due to a previous error during capture",
        "AssertionError: Device compute capability 7.9 or higher required for odd execution.",
        "hydra.errors.InstantiationException: Error in call to target 'odd'",
        "odd.LexerNoViableAltException: x=",
        "│ Unrecognized options: --odd.degree=8   │",
        "Key 'foo' is not in struct",
        "ValueError: No dot product attention backend is available for the odd inputs.",
        "RuntimeError: /x/fused_odd.cu:77 in function operator(): Assertion failed: odd.",
        "AssertionError: odd is not supported with --odd-checkpoint-format yet",
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
        "yaml.scanner.ScannerError: mapping values are not allowed here",
        "Model size not supported.",
        "pretrain_gpt.py: error: unrecognized arguments: --no-such-flag",
        "pretrain_gpt.py: error: argument --tp: invalid int value: '8.0'",
        "ValueError: You are passing overrides by both CLI and ENV for `run_name`. This isn't allowed.",
        "ValueError: We received env `M_STEP` but it doesn't match a key, so it is assumed a mistake.",
        "pretrain_tiny.py: the settings are refused, nothing was started:\n  BS: found '3', expected a multiple",
    ],
    "xla_flags": [
        "JaxRuntimeError: INVALID_ARGUMENT: No such compile option: 'xla_odd'",
        "F0102 03:04:05.1 1 parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_tpu_x=true",
        "Unknown flags in XLA_FLAGS: --xla_tpu_x=true --xla_tpu_y=true",
        "Couldn't interpret value maybe for flag xla_gpu_enable_triton_gemm.",
        "Illegal value for --xla_gpu_enable_command_buffer 'BOGUS'",
        'Could not open file "x=1" to read flags for environment variable "XLA_FLAGS".',
    ],
    "jax_start": [
        "ALREADY_EXISTS: Aborted connect attempt as there is a request from a newer incarnation.",
        "INVALID_ARGUMENT: Unexpected heartbeat request from task: 9. Odd.",
        "TypeError: process_id must be a nonnegative int. Got process_id=x.",
        "FAILED_PRECONDITION: TPU platform already registered for platform hardware version",
        "ValueError: coordinator_address should be defined.",
    ],
    "not_found": [
        'runc create failed: odd: exec: "/deps/train.sh": stat /deps/train.sh: no such file or directory',
        "/runs/r1/launch.sh: line 9: cd: /workspace/Megatron-LM: No such file or directory",
        "/runs/r1/launch.sh: line 10: torchrun: command not found",
        "bash: examples/llama/train_llama3.sh: No such file or directory",
        "/bin/bash: line 1: cd: /workspace: No such file or directory",
        "sh: 1: torchrun: not found",
        "python3: can't open file '/w/pretrain_gpt.py': [Errno 2] No such file or directory",
    ],
    "data": [
        "I0102 x.py:7] Training stopped: `next(self.data_iterator)` failed with <class 'KeyError'> exception: (odd).",
        "AssertionError: no samples left to consume: 9216, 9102",
        "datasets.exceptions.DataFilesNotFoundError: No supported data files found in /x",
        "FileNotFoundError: Unable to find '/odd/x.jsonl'",
        "ValueError: num_samples should be a positive integer value, but got num_samples=0",
        "KeyError: 'text column missing in the dataset'",
    ],
    "wrong_rank": [
        "RuntimeError: object on CUDA device 3 but torch.cuda.device_count() is 1.",
        "ValueError: process_id and num_processes must be nonnegative, with process_id < num_processes.",
        (
            "ConnectionError: rank 0 refused to begin: two nodes were started as rank 1: n1 at 10.0.0.2 and n2 "
            "at 10.0.0.3",
            1,
            None,
        ),
        (
            "ConnectionError: two nodes were started as rank 2: n1 at 10.0.0.2 and n2 at 10.0.0.3",
            2,
            None,
        ),
        (
            "ConnectionError: rank 3 (n1 at 10.0.0.2) was started with other settings than rank 0: BS=8 (rank 0 "
            "has 16)",
            3,
            None,
        ),
    ],
    "data_cache": [
        "ConnectionError: Couldn't reach the Hugging Face Hub for dataset 'x/y': odd: offline mode is enabled.",
        "ConnectionError: Couldn't reach 'a/b' on the Hub (OfflineModeIsEnabled)",
        "NotImplementedError: Loading a dataset cached in a LocalFileSystem is not supported.",
    ],
    "name_resolution": [
        "n1:1:2 [3] misc/socket.cc:99 NCCL WARN Net : error encountered when getting address info : odd",
        "[W socket.cpp:601] [c10d] The IPv4 network addresses of (odd, 515) cannot be retrieved (gai error: -2 - odd).",
        "OSError: MASTER_ADDR 'n0' cannot be resolved to an IPv4 address: Name or service not known",
        "UNAVAILABLE: DNS resolution failed for n0:1234: C-ares status is not ARES_SUCCESS",
    ],
    "network_interface": [
        "2026-Jan-02 03:04:05.6 7:8 [1] odd.h:7 CCOM WARN No usable listening interface found",
        "n1:1:2 [3] misc/socket.cc:99 NCCL WARN Net : No interface found in the same subnet as remote address 10.9",
        "OSError: there is no network interface 'ens51np0' on n1; there are lo, eth0",
        (
            "[rank5]: RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:84] ifa != "
            "nullptr. Unable to find address for: ens51np0",
            5,
            None,
        ),
        "RuntimeError: [enforce fail at ../gloo/transport/tcp/device.cc:212] ifa != nullptr. Unable to find "
        "interface for: [0.0.0.0]",
        "n1:1:2 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found",
        (
            "[rank0]: Bootstrap : no socket interface found",
            0,
            None,
        ),
        "ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)",
    ],
    "address_in_use": [
        "bind: Address already in use",
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network "
        "address. port: 6000, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
    ],
    "segmentation_fault": [
        ("worker 7 exited with status -11", None, -11),
        ("worker 7 exit with code -11", None, -11),
        "free(): invalid pointer",
        "malloc(): corrupted top size",
        "train.sh: line 7:   77 Segmentation fault      (core dumped) python3 x.py",
        "  traceback : Signal 11 (SIGSEGV) received by PID 77",
        (
            "failed (exitcode: -11) local_rank: 3 (pid: 77) of binary: /usr/bin/python",
            None,
            -11,
        ),
    ],
    "rdma_abi_mismatch": [
        "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for device /sys/x",
    ],
    "gloo": [
        "RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error",
    ],
    "rendezvous_timeout": [
        "RuntimeError: Unable to initialize backend 'tpu': UNKNOWN: Failed to establish SliceBuilder grpc channel",
        "srun returned non-zero exit status (7) from launching the per-node daemon.",
        "A PRTE daemon has unexpectedly failed after launch and before communicating",
        "TCP client failed to connect/validate to host n7:7 - timed out (try=7): failed to recv, got 0 bytes",
        "RuntimeError: Using hostfile at /x but host=n7 was not reachable via ssh.",
        "XlaRuntimeError: INTERNAL: Getting local topologies failed: Error 1: GetKeyValue() odd",
        "[W socket.cpp:7] [c10d] The client socket cannot be initialized to connect to [odd]:515 (errno: 97 - odd).",
        "RuntimeError: Deadline exceeded: Failed to connect to remote server at address: grpc://192.0.2.7:8470.",
        "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address "
        "of (n0, 6000).",
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to "
        "connect to (10.0.0.1, 6000).",
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/3 clients joined.",
        (
            "rendezvous timed out after 5 s: 1 of 3 nodes joined (n0), missing: rank 2; rank 0 listened on "
            "10.0.0.1:6000",
            2,
            None,
        ),
        "DEADLINE_EXCEEDED: Deadline Exceeded\n\nRPC: /tensorflow.CoordinationService/RegisterTask",
        'while calling /tensorflow.CoordinationService/RegisterTask:\n:{"description":"Deadline Exceeded"}',
    ],
    "stale_process": [
        "HIP out of memory. Process 7 has 2.50 GiB memory in use. Including non-PyTorch memory, this process has 9 GiB",
        "RuntimeError: Unable to initialize backend 'tpu': UNAVAILABLE: TPU initialization failed: open(/dev/accel7): "
        "Device or resource busy",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd CRITICAL HW ERROR: One or more engines are running. "
        "Please restart device by reloading driver:",
        ("E1 odd.cc:1] 4 unexpectedly tried to connect with a different incarnation. Odd.", 4, None),
        (
            "ABORTED: /job:jax_worker/replica:0/task:1 unexpectedly tried to connect with a different incarnation.",
            1,
            None,
        ),
    ],
    "nccl": [
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  ENC:odd [nec_dev 7 gid 7] Proxy failed to execute task, status = 9",
        "[ 12.1] efa 0000:05:00.0 rdmap7: Failed to process command CREATE_QP (opcode 1) comp_status 7 err -22",
        "2026-Jan-02 03:04:05.6 7:8 [1] odd.cc:7 CCOM WARN NET/OFI Request 0x7 completed with error: err: 113",
        "libfabric:7:8::efa:ep:odd():7<warn> FI_HMEM capability requires peer to peer support, which is odd",
        " Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81",
        "2026-Jan-02 03:04:05.6 7:8 ERROR   ENC:ncclBootstrapRecv   failed odd request",
        "[ 12.1] infiniband efa_0: Failed to process command X (opcode 7) comp_status 1 err -12",
        "192.0.2.7: WARN: Function: f Line: 7: NET/OFI Couldn't open it. RC: -22, ERROR: Invalid argument",
        "libfabric:7:1234567890::efa:cq:efa_rdm_cq_poll():7<warn> Encountered an unresponsive peer",
        "RuntimeError: Runtime error: unhandled system error\n    ncclGroupEnd() at x(/y/z.cpp:7)",
        "n1: Test NCCL failure common.cu:7 'internal error - please report this issue to the NCCL developers / '",
        "n1:1:2 [4] NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev rdma0",
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting",
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed",
        (
            "[rank3]: torch.distributed.DistBackendError: NCCL error in: /x/NCCLUtils.hpp:268, remote process",
            3,
            None,
        ),
        "n1:1:2 [0] NCCL WARN NET/IB : mlx5_0:1 Got async event : local work queue catastrophic error",
        "n1:1:2 [4] NCCL WARN Call to ibv_modify_qp failed with error Connection timed out",
        (
            "[rank1]: NCCL error: unhandled system error, NCCL version 2.18.3",
            1,
            None,
        ),
    ],
    "watchdog": [
        "DeepEP dispatch forwarder timeout (RDMA meta), channel: 2, RDMA: 1",
        "RuntimeError: DeepEP error: CPU recv timeout",
        "DEADLINE_EXCEEDED: Barrier timed out. Id: odd_save::7. This usually happens because odd.",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd  [nec_dev 7 gid 7] Timeout exceeded: Waiting on "
        "barrier proxy task: 9 sec",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd  Suspected hang between the end of collectives "
        "operation 7 and odd",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  NMGR:odd Inference completed with err: 1200. mode->h_nn=7",
        "2026-Jan-02 03:04:05.000006 7:8 ERROR  TDRV:odd [ND 7][NC 1] execution timeout (7 ms) on model x.neff",
        'RuntimeError: odd: nrt_execute status=1200 message="odd"',
        "2026-Jan-02 03:04:05.000331 77:88 ERROR NMGR:dlr_infer Inference completed with err: 5",
        "RuntimeError: NCCL communicator was aborted",
        "2026-Jan-02 03:04:05.6 7:8 ERROR  TDRV:odd  timeout (1 ms), waiting for cc status notifications.",
        "[Rank 5] Found key in store: NCCLABORTEDCOMM:0x7f, from rank: 3.",
        "[rank0]:[E321 02:07:08.4 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600060 milliseconds "
        "before timing out.",
        "[PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: 1580, last "
        "enqueued NCCL work: 1582, last completed NCCL work: 1579.",
        "terminate called after throwing an instance of 'c10::DistBackendError'",
        "  what():  [PG 1 Rank 1] Process group watchdog thread terminated with exception: x",
    ],
    "elastic": [
        (
            "Root Cause (first observed failure): [0]: rank      : 6 (local_rank: 6) exitcode  : 1 (pid: 9)",
            6,
            1,
        ),
    ],
    "child_failed": [
        "Warning  BackoffLimitExceeded  job-controller  Job has reached the specified backoff limit",
        (
            "E api.py:984] failed (exitcode: 1) local_rank: 6 (pid: 92121) of binary: /usr/bin/python",
            None,
            1,
        ),
        (
            "E1103 api.py:984] failed (exitcode: -6) local_rank: 6 (pid: 9) of binary: /usr/bin/python",
            None,
            -6,
        ),
    ],
    "training_script": [
        (
            "ERROR: training (torchrun pretrain_gpt.py) failed with exit code 7",
            None,
            7,
        ),
    ],
    "peer_died": [
        "n1:15:91 [3] include/socket.h 398 NCCL WARN Call to recv failed : Connection reset by peer.\n"
        "n1:15:91 [3] transport.cu:153 NCCL WARN transport.cu:153 ->2 [Proxy thread error]",
        "n1:7:8 [2] proxy.cc:1494 NCCL WARN [Service thread] Accept failed Success",
        "2026-Jan-02 03:04:05.6 7:8 [1] odd.h:7 CCOM WARN RX, connection closed by remote peer n7<7>",
        ("UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n3\nThe tasks odd.", 3, None),
        ("UNAVAILABLE: Task 5 heartbeat timeout. Odd.", 5, None),
        "FAILED_PRECONDITION: The task is not connected or already has an error.",
        (
            "RuntimeError: Rank 0 reached monitoredBarrier, but received errors while waiting for odd from rank 5.",
            5,
            None,
        ),
        "XlaRuntimeError: INTERNAL: Odd result: DEADLINE_EXCEEDED: Barrier timed out. Id: Shutdown::0. Odd.",
        "E0102 03:04:05.1 7 x.cc:7] UNAVAILABLE: the odd service is gone",
        "jax.errors.JaxRuntimeError: ABORTED: Barrier failed because a task is in error",
        (
            "absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending "
            "heartbeats):\n/job:jax_worker/replica:0/task:3\nThe tasks have crashed.",
            3,
            None,
        ),
        (
            "/job:jax_worker/replica:0/task:0 has been set to ERROR in coordination service: UNAVAILABLE: Task "
            "/job:jax_worker/replica:0/task:2 heartbeat timeout.",
            2,
            None,
        ),
        (
            "ConnectionError: rank 0 lost the connection to rank 5: another node has failed",
            5,
            None,
        ),
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:1",
        "RuntimeError: [/x/gloo/transport/tcp/pair.cc:589] Read error [10.0.0.1]:1: Connection reset by peer",
        "torch.distributed.DistNetworkError: Connection reset by peer",
        "[W522 11:47:45.9 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=77, "
        "addr=[::ffff:10.0.0.1]:39732): Failed to recv, got 0 bytes. Connection was likely closed. Did the "
        "remote server shutdown or crash?",
        "[W522 11:47:45.9 TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd=3, addr=[n1]:4, "
        "remote=[n0]:6000): Broken pipe",
        "[rank3]: torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving "
        "ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: wait "
        "timeout after 600000ms",
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d "
        "store has failed. See inner exception for details.",
        "n1:1:2 [0] NCCL WARN socketProgress: Connection closed by remote peer n3.example<35321>",
        "n1:1:2 [0] NCCL WARN NET/Socket : Call to recv from 10.0.0.1<53012> failed : Connection reset by peer",
        "EOFError",
    ],
    "coordinator_died": [
        ("[rank7] WatchTasksAsync failed for task 7: UNAVAILABLE: failed to connect to all addresses", None, None),
        "Failed to disconnect from coordination service with status: UNAVAILABLE: failed to connect to all addresses",
        "UNAVAILABLE: Failed to send RPC to coordination service. Either the leader task was preempted/died/restarted",
        'UNAVAILABLE: :UNKNOWN:Error received from peer {grpc_message:"Socket closed", grpc_status:14}',
    ],
    "sigterm": [
        "*** SIGTERM received by PID 77 (TID 78) on cpu 3 from PID 1; stack trace: ***",
        "Terminated",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 1",
        "W api.py:1] Received 15 death signal, shutting down workers",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4 got signal: 15",
        "W0902 api.py:900] Sending process 819027 closing signal SIGTERM",
        "  traceback : Signal 15 (SIGTERM) received by PID 92115",
    ],
}

HARMLESS: list[str] = [
    "I0102 train.py:7] Training stopped: Target loss self.config.target_eval_loss=7.0 is achieved.",
    "Device or resource busy",
    "[ 12.1] efa 0000:05:00.0 rdmap7: Failed to process command DEREG_MR (opcode 8) comp_status 7 err -22",
    "n1:1:2 [3] odd:7 NCCL WARN NET/OFI WARNING: Use of ODD is deprecated.",
    "[rank3]:     raise ConnectionError(f\"Couldn't reach '{path}' on the Hub ({e})\") from e",
    "[ 12.1] NVRM: Xid (PCI:0000:05:00): 162, odd power smoothing",
    "WARNING:megatron.core.rerun_state_machine:Rank 7, node n7, device 3, iteration #9: Possible transient error!!",
    "[ 12.1] amdgpu 0000:05:00.0: amdgpu: ring odd timeout, but soft recovered",
    "[ 12.1] amdgpu 0000:05:00.0: amdgpu: {3}socket: 0, die: 0, 1 new correctable hardware errors detected in umc "
    "block",
    "n1:1:2 [0] NCCL WARN Could not find a path for pattern 4, falling back to simple order",
    "n1:1:2 [0] NCCL WARN minCTAs 64 is larger than #channels upper limit 32, cap it to 32",
    'n1:1:2 [0] NCCL WARN Missing "HSA_FORCE_FINE_GRAIN_PCIE=1" which can lead to low RCCL performance',
    "2026-Jan-02 03:04:05.000331 7:8 ERROR  TDRV:exec_odd (NON-FATAL, Ignoring) inference timeout (1 ms) on odd",
    "[aiter] start build [module_odd] under /x/jit/build/module_odd",
    "health check: GPU 3: Xid 0",
    "W external/xla/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.50GiB "
    "with freed_by_count=0. The caller indicates that this is not a failure, but may mean that there could "
    "be gains",
    "libibverbs: Warning: couldn't load driver 'libvmw_pvrdma-rdmav34.so': libvmw_pvrdma-rdmav34.so: cannot "
    "open shared object file: No such file or directory",
    'n1:1:2 [0] NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!',
    "n1:1:2 [0] NCCL INFO transport/net.cc:1302 -> 6",
    "WARNING:megatron.core.datasets.gpt_dataset:Unable to save MockGPTDataset indexes because path_to_cache is None",
    "  check_for_nan_in_loss_and_grad .................. True",
    "  distributed_timeout_minutes ..................... 120",
    "  error_injection_rate ............................ 0",
    "Overwriting rerun_state_machine.current_iteration from -1 to 0...",
    "INFO:megatron.core.rerun_state_machine:Unexpected result 3.5 on rank 0 (message='Spiky loss')",
    "Epoch 0:   3%|3 | 3/91 [03:00<88:00, v_num=5, reduced_train_loss=11.8, loss=nan]",
    "/x/megatron/core/optimizer/__init__.py:17: UserWarning: Apex is not installed. Falling back to Torch optimizers.",
    "Config param abort_on_nan_loss: True",
    "    raise torch.OutOfMemoryError(",
    "    raise RendezvousTimeoutError()",
    "    raise ChildFailedError(",
    "  error_file: <N/A>",
    "  exitcode  : -15 (pid: 92115)",
    " [2026-01-02 03:04:05] iteration 2/50 | throughput per GPU (TFLOP/s/GPU): 1.0 | number of nan iterations:   0 |",
    "UserWarning: 'pin_memory' argument is set as true but no accelerator is found",
    "I0926 coordination_service_agent.cc:1] Coordination agent has successfully connected.",
    "train_llama3.sh: line 44: rdma: command not found",
    "bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8): No such file or directory",
    "n1:1:2 [0] NCCL INFO NET/Plugin : libnccl-net.so: cannot open shared object file: No such file or directory",
    "[W socket.cpp:601] [c10d] The IPv6 network addresses of (localhost, 51595) cannot be retrieved (gai "
    "error: -2 - Name or service not known).",
    "n1:1:2 [0] NCCL INFO NET/IB : No device found.",
    "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true",
    "WARNING: Connection refused, trying again",
    "        raise EOFError",
    "    except BrokenPipeError:",
    "I0102 03:04:05.1 1 gda.cc:7] Connection to peer established",
]

# Lines without a signature that are not exceptions, by class: at a log's end, their program or their words decide.
SENTENCES: dict[str, list[str]] = {
    "compile": ["2026-01-02T03:04:05Z [ABC404] Internal odd error", "error: ran out of registers during that"],
    "neuron": ["[ 12.1] neuron:odd_init: cannot", "2026-Jan-02 03:04:05 ERROR  CCOM:odd  no"],
    "container": [
        "[ERROR] Could not parse the odd thing",
        "enroot-odd: failed",
        "the image is odd: failed",
    ],
    "scheduler": ["n1 slurmd.service: Main process exited, code=exited, status=1/FAILURE"],
    "nccl": [
        "[  +0.000844] irdma 0000:05:00.0: odd error",
        "the port ens7 of this node is down",
        "Unable to set the QP to odd",
    ],
    "io_error": ["[ 12.1] beegfs: odd error", "gcsfuse: odd error"],
    "rendezvous_timeout": ["[E TCPStore.cpp:7] odd"],
    "peer_died": ["E0102 03:04:05.1 7 coordination_odd.cc:7] odd"],
    "watchdog": ["[E ProcessGroupNCCL.cpp:494] we are taking the process down."],
    "gpu_error": [
        "F0102 03:04:05.1 7 pjrt_odd.cc:7] odd",
        "Jan 2 n1 kernel: NVRM: Unable to odd",
        "a GPU is unhealthy",
    ],
    "name_resolution": ["ping: n7: Name or service not known"],
    "access_denied": ["ERROR: (odd) HTTPError 403: it may not"],
    "hub_unreachable": ["fatal: unable to access 'https://odd.org/x/': timed out"],
    "host_memory": [
        "Evicted: it used more memory than it may, exceeded by odd",
        "job killed: mem 7kb exceeded limit 6kb",
    ],
    "killed": [
        "launch.sh ended: exit 137",
    ],
    "preempted": ["Your instance was preempted"],
    "nan": ["FATAL: loss is NaN"],
    "data_corrupt": ["gzip: stdin: unexpected end of file"],
    "settings_refused": ["train.sh: line 12: ODD: unbound variable"],
    "not_found": ["error: these module(s) are unknown: odd"],
    "segmentation_fault": ["node7 rc=139"],
    "sigterm": ["rank 3: exited with 143"],
    "child_failed": ["thread '<unnamed>' panicked at src/odd.rs:12:5: odd"],
    "checkpoint": ["error: the checkpoint is odd"],
    "unnamed": ["error: odd"],
}
