"""What is told of failures, by its class, and what only reads like it. The numbers and names are made up."""

from __future__ import annotations

# class -> texts; of those that name a rank or an exit code, (text, rank, exit code)
Text = str | tuple[str, int | None, int | None]

TEXTS: dict[str, list[Text]] = {
    "gpu_hang": [
        "[ 12.1] amdgpu 0000:05:00.0: amdgpu: GPU reset end with ret = -62",
        "[ 12.1] amdgpu 0000:05:00.0: amdgpu: HIQ odd, Queue preemption time out",
        "[ 12.1] amdgpu 0000:05:00.0: amdgpu: MODE1 reset",
        "HW Exception by GPU node-9 (Agent handle: 0x1) reason :GPU Hang",
        " 45%|####  | 9/20 [00:09<00:11]HW Exception by GPU node-9 (Agent handle: 0x1) reason :GPU Hang",
    ],
    "gpu_ecc": [
        "[ 12.1] amdgpu 0000:05:00.0: amdgpu: GPU will not be initialized due to bad page threshold.",
        "Memory critical error by agent node-3 (Agent handle: 0x5) on address 0x7f. Reason: Memory in use.",
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "health check: GPU 3: Xid 95",
        "[ 12.1] NVRM: Xid (PCI:0000:3b:00): 95, pid=7, Uncontained: LRC. RST: Yes",
        "[ 12.1] amdgpu 0000:05:00.0: amdgpu: socket: 0, die: 0 2 uncorrectable hardware errors detected in umc block",
        "[ 12.1] amdgpu 0000:e3:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        "2026-Jan-02 03:04:05.6 7:8 ERROR NRT:nrt_infodump Failure: NRT_EXEC_HW_ERR_HBM_UE in nrt_execute()",
    ],
    "node_failure": [
        "[ 12.1] general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP NOPTI",
        "[ 12.1] Memory failure: 0x7f: recovery action for dirty page: Failed",
        "slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2026-01-02T03:04:05 DUE TO NODE FAILURE, SEE SLURMCTLD "
        "LOG ***",
        "srun: error: Node failure on n3",
        "[ 12.1] watchdog: BUG: soft lockup - CPU#7 stuck for 26s! [python3:77]",
        "[ 12.1] Kernel panic - not syncing: Fatal exception",
    ],
    "driver_mismatch": [
        "n1:1:2 [3] misc/rocmwrap.cc:160 NCCL WARN ROCr Driver version found is 1. Minimum requirement is 11",
        "2026-Jan-02 03:04:05.6 7:8 ERROR   NRT:nrt_init   This runtime requires Neuron Driver version 9.9 or greater.",
        "CUDA initialization: Error 803: system has unsupported display driver / cuda driver combination",
        "HSA Error:  Incompatible kernel and userspace, queues disabled. Upgrade amdgpu.",
        "Failed to initialize NVML: Driver/library version mismatch",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
        "CUDA initialization: Error 802: system not yet initialized",
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4",
        "RuntimeError: HIP error: initialization error",
    ],
    "neuron": [
        "2026-Jan-02 03:04:05.000331  77:88  ERROR  HAL:aws_hal_q_init  cannot start",
        "[ 12.1] neuron:ndma_memcpy_wait: DMA completion timeout on nd7 for nc0 q1 desc count 4",
        'RuntimeError: Execute failed: nrt_execute: status=1004, error message="Execution was completed with other '
        'errors"',
        "2026-Jan-02 03:04:05.6 7:8 ERROR  TDRV:tdrv_init_one_mla_phase1  Could not map the BAR",
        "2026-Jan-02 03:04:05.6 7:8 ERROR   NRT:nrt_infodump    Failure: NRT_INVALID in nrt_load()",
    ],
    "io_error": [
        "MIOpen Error: /x/sqlite_odd.cpp:220: Internal error while accessing SQLite database: odd",
        "OSError: [Errno 108] Cannot send after transport endpoint shutdown: '/lustre/x'",
        "OSError: [Errno 37] No locks available",
        "RuntimeError: read(): fd 7 failed with Stale file handle",
        "ls: reading directory '/data': Stale NFS file handle",
        "OSError: [Errno 5] Input/output error: '/data/x.bin'",
        "mkdir: cannot create directory '/out': Read-only file system",
        "[ 12.1] nfs: server nas7 not responding, timed out",
    ],
    "checkpoint": [
        "FileNotFoundError: [Errno 2] No such file or directory: '/x/iter_0000007/odd'",
        "ChainedFuture completed 0/1 futures but timed out after 1199.9 seconds",
        "ValueError: Requested directory for restore does not exist at /x.",
        "_pickle.UnpicklingError: Weights only load failed.",
        "RuntimeError: Error(s) in loading state_dict for GPTModel:",
    ],
    "compile": [
        "XlaRuntimeError: INTERNAL: libdevice not found at ./odd",
        "RuntimeError: [aiter] build [module_odd] under /x/jit/build/module_odd failed !!!!!!",
        "XlaRuntimeError: INTERNAL: Mosaic does not like the odd kernel",
        "MIOpen(HIP): Error [Compile] 'hiprtcCompileProgram(x)' y.cpp: HIPRTC_ERROR_COMPILATION (6)",
        "  what():  /x/hipoc_program.cpp:304: Code object build failed. Source: y.cpp",
        "  OP_REQUIRES failed at tpu_execute_op.cc:266 : INTERNAL: neuronx-cc compilation failed.",
        "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/x/main.c']' returned non-zero exit status 1.",
        "2026-01-02 ERROR ||NEURON_CC_WRAPPER||: [F134] neuronx-cc terminated abnormally",
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to compile fusion",
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: "
        "65536. "
        "RuntimeError: x",
    ],
    "container": [
        'Error: "odd" is not a valid restart policy',
        "Error: unknown flag: --odd",
        'ERROR: /x/nvidia-container-runtime: find runc path: exec: "runc": executable file not found in $PATH',
        "ERRO[0000] failed to create NVIDIA Container Runtime: error constructing low-level runtime: x",
        "docker: Error response from daemon: unknown or invalid runtime name: nvidia",
        "ERROR: for x  Cannot create container for service x: Unknown runtime specified nvidia",
        "FATAL:   container creation failed: mount /x->/y error: no such file",
        "docker: 'run' requires at least 1 argument",
        'docker: Error response from daemon: Conflict. The container name "/x" is already in use by container 0a.',
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        "Error: crun: open `/proc/7`: No such file or directory: OCI runtime attempted to invoke a command",
        "exec /usr/bin/python: exec format error",
        "OSError: [Errno 8] Exec format error: '/usr/bin/odd'",
    ],
    "data_corrupt": [
        "OSError: Unable to open file (truncated file: eof = 7, odd)",
        "EOFError: Ran out of input",
        "SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered",
        "datasets.utils.info_utils.NonMatchingSplitsSizesError: [{}]",
        "ValueError: offset must be non-negative and no greater than buffer length (7)",
        "ValueError: mmap length is greater than file size",
        "_pickle.UnpicklingError: invalid load key, 'v'.",
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
        "pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer.",
    ],
    "scheduler": [
        "srun: error: Job allocation 77 has been revoked",
        "slurmstepd: error: Failed to send MESSAGE_TASK_EXIT: Connection refused",
    ],
    "duplicate_gpu": [
        "RuntimeError: object on CUDA device 3 but torch.cuda.device_count() is 1.",
        ("Duplicate GPU detected : rank 3 and rank 0 both on CUDA device 5000", 3, None),
        "RuntimeError: HIP error: invalid device ordinal",
    ],
    "hub_rate_limit": [
        "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/x",
    ],
    "hub_unreachable": [
        "RuntimeError: Data processing error: CAS service error : odd",
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
        "docker: Error response from daemon: manifest for rocm/x:7 not found: manifest unknown",
        "Error response from daemon: toomanyrequests: You have reached your unauthenticated pull rate limit.",
        "Error: initializing source docker://nope:7: reading manifest 7 in docker.io/library/nope: denied",
        "slurmstepd: error: pyxis: failed to import docker image",
        'Failed to pull image "x": rpc error: code = Unknown desc = failed to copy: 429 Too Many Requests',
    ],
    "open_files": [
        "OSError: [Errno 24] Too many open files: '/data/x'",
        "RuntimeError: received 0 items of ancdata",
    ],
    "permission_denied": [
        "bash: ./train.sh: Permission denied",
        "PermissionError: [Errno 13] Permission denied: '/out/checkpoints'",
    ],
    "slurm_start": [
        "srun: error: fwd_tree_thread: can't find address for host n3, check slurm.conf",
        "srun: error: Line 7 of configuration file /x.conf is invalid",
        "slurmstepd: error: n3 [1] pmixp_odd.c:212 [pmixp_lib_init] mpi/pmix: ERROR: odd failed with error -2",
        "slurmstepd: error: CPU binding outside of job step allocation, allocated CPUs are: 0x3.",
        "srun: error: Unable to create step for job 7: Requested nodes are busy",
        "slurmstepd: error: execve(): /home/x/run.sh: No such file or directory",
        "srun: error: Task launch for StepId=7.0 failed on node n3: Communication connection failure",
    ],
    "tokenizer": [
        "Exception: data did not match any variant of untagged enum ModelWrapper at line 7 column 3",
        "FileNotFoundError: Tokenizer path '/odd' does not exist",
        "ValueError: Cannot use odd functions because tokenizer.chat_template is not set and none was passed!",
        "TypeError: __init__() missing 1 required positional argument: 'vocab_file'",
        "OSError: Can't load tokenizer for 'x/y'. If you were trying to load it from 'https://huggingface.co/models'",
        "OSError: x/y is not a local folder and is not a valid model identifier listed on "
        "'https://huggingface.co/models'",
        "FileNotFoundError: [Errno 2] No such file or directory: '/models/tokenizer.model'",
    ],
    "collective_mismatch": [
        "RuntimeError: [/x/gloo/transport/tcp/pair.cc:446] op.preamble.length <= op.nbytes. 8 vs 4",
        "n1:1:2 [3] enqueue.cc:99 NCCL WARN Trying to recv to self without a matching send",
        "RuntimeError: DDP expects same model across all ranks, but Rank 1 has 36 params, while rank 0 has 37.",
        "n1:1:2 [0] NCCL WARN Message truncated : received 1024 bytes instead of 256",
    ],
    "wrong_gpu_build": [
        ":1:hip_fatbin.cpp :332 : 7 us: [pid:7 tid:0x7f] No compatible code objects found for: gfx1, value of ODD: 0",
        "RuntimeError: HIP error: invalid device function",
        "rocBLAS error: Cannot read /x/TensileLibrary.dat: No such file or directory for GPU arch : gfx942",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    ],
    "bus_error": [
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
        ("E api.py:874] failed (exitcode: -7) local_rank: 3 (pid: 77) of binary: /usr/bin/python", None, -7),
        "train.sh: line 7:   77 Bus error               (core dumped) python3 x.py",
        "  traceback : Signal 7 (SIGBUS) received by PID 77",
    ],
    "illegal_instruction": [
        "[ 12.1] traps: python3[77] trap invalid opcode ip:7f sp:7f error:0 in libodd.so",
        "train.sh: line 7:   77 Illegal instruction     (core dumped) python3 x.py",
    ],
    "memlock": [
        "[16.5] [n1:7:0] ib_log.c:246  UCX  ERROR mlx5_0: ibv_create_cq() failed: Cannot allocate memory. Please "
        "set max "
        "locked memory (ulimit -l) to 'unlimited'",
        "n1:1:2 [4] NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
    ],
    "rdma_devices": [
        " Unable to find the Infiniband/RoCE device",
        "192.0.2.7: WARN: Function: find_ofi_provider Line: 7: NET/OFI Couldn't find any optimal provider",
        "RDMA devices: 8 on the node, 0 in the container",
    ],
    "preempted": [
        "slurmstepd: error: *** STEP 7.0 ON n3 CANCELLED AT 2026-01-02T03:04:05 DUE TO PREEMPTION ***",
    ],
    "process_limit": [
        "OSError: [Errno 11] Resource temporarily unavailable",
        "  what():  Resource temporarily unavailable",
        "n1:1:2 [3] proxy.cc:99 NCCL WARN pthread_create odd failed: Resource temporarily unavailable",
        "RuntimeError: Unable to odd: can't start new thread",
        "RuntimeError: can't start new thread",
    ],
    "time_limit": [
        "slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***",
    ],
    "gpu_memory_fault": [
        "Memory access fault by GPU node-3 (Agent handle: 0x1) on address 0x7f. Reason: Page not present.",
    ],
    "no_gpu": [
        "[ 12.1] amdgpu 0000:05:00.0: probe with driver amdgpu failed with error -22",
        "[ 12.1] kfd kfd: amdgpu: skipped device 1:2, PCI rejects atomics 7<0",
        "[ 12.1] nvidia: probe of 0000:05:00.0 failed with error -1",
        "RuntimeError: Unknown backend odd. Available backends are ['cpu']",
        "RuntimeError: Unknown backend: 'odd' requested, but no platforms that are instances of odd are present.",
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
        "2026-Jan-02 03:04:05.6 7:8 ERROR NRT:nrt_init Unable to determine Neuron Driver version. Please check x",
        "XlaRuntimeError: UNKNOWN: TPU initialization failed: No x device found.",
        "RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
        "jax.errors.JaxRuntimeError: FAILED_PRECONDITION: No visible GPU devices.",
        "E rocm_driver.cc:1] failed call to hipInit: HIP_ERROR_NoDevice",
        "E rocm_diagnostics.cc:1] librocm reported version is: NOT_FOUND: was unable to find librocm.so",
        (
            "[rank2]: RuntimeError: No HIP GPUs are available",
            2,
            None,
        ),
    ],
    "killed": [
        (
            "[2026-01-02 03:04:05,678] [ERROR] [launch.py:7:sigkill_handler] ['python', 'x.py'] exits with return "
            "code = -9",
            None,
            -9,
        ),
        ("      Exit Code:    137", None, 137),
        "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.",
        "srun: error: n3: task 0: Out Of Memory",
        ("srun: error: n3: tasks 2-3,7: Killed", None, None),
        "train.sh: line 7:   77 Killed                  python3 x.py",
        "[ 12.1] Out of memory: Killed process 77 (python3) total-vm:7kB, anon-rss:7kB",
        "RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed.",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        (
            "E api.py:874] failed (exitcode: -9) local_rank: 3 (pid: 77) of binary: /usr/bin/python",
            None,
            -9,
        ),
    ],
    "out_of_memory": [
        "[AITER] /x/aiter_odd.h:19 fail to call hipMalloc(&p, n) ---> [HIP error](out of memory)",
        "ERROR: [NCC_EOOM001] the odd tensors exceed the limit",
        "2026-01-02 03:04:05 192.0.2.7 [3]   (1) Resource exhausted: Attempting to allocate 180.59M.",
        "W x/bfc_allocator.cc:275] Ran out of memory trying to allocate 39.81MiB.  See logs.",
        "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED",
        (
            "[rank5]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total "
            "capacity of",
            5,
            None,
        ),
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB.",
        "RuntimeError: HIP error: out of memory",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7 bytes.",
        "BufferAssignment OOM Debugging.",
        "HIP out of memory. Tried to allocate 2.00 GiB.",
        "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory.",
        "RuntimeError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 2.00G. "
        "That was not possible.",
        "E external/xla/xla/pjrt.cc:1] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Failed to allocate "
        "request for 2.0GiB",
    ],
    "disk_full": [
        'RuntimeError: RESOURCE_EXHAUSTED: Error writing "/odd": No space left on device',
        "[1.1] [n1:7:0] mm_odd.c:123 UCX  ERROR failed to allocate odd in /dev/shm: No space left on device",
        "docker: failed to register layer: write /opt/x: no space left on device.",
        "OSError: Not enough disk space. Needed: 7.5 GiB (odd)",
        "OSError: [Errno 28] No space left on device: '/cache/x.npy'",
        "tee: experiment/output_perf.log: No space left on device",
        "n1:1:2 [4] NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x (size 9637888), "
        "error: No space left on device (28)",
        (
            "[rank2]: OSError: [Errno 122] Disk quota exceeded",
            2,
            None,
        ),
    ],
    "gpu_error": [
        "[AITER] /x/aiter_odd.h:65 fail to call hipOdd(s) ---> [HIP error](odd state)",
        "n1:1:2 [3] graph/paths.cc:99 NCCL WARN P2P is disabled between NVLINK connected GPUs 1 and 0. Odd.",
        'RuntimeError: x INTERNAL ASSERT FAILED at "/odd/c10/cuda/driver_api.cpp":15, please report a bug to PyTorch.',
        "E0102 03:04:05.1 7 odd.cc:7] Detected failure SLICE_FAILURE_CHIP_DRIVER_ERROR in session 7",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "torch.AcceleratorError: HIP error: an illegal memory access was encountered",
    ],
    "nan": [
        "Exception: Current loss scale already at minimum - odd.",
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
        "ERROR:megatron.core.rerun_state_machine:Unexpected result nan on rank 0",
        "I0102 03:04:05.1 1 metric_logger.py:1] Aborting training due to NaN loss.",
    ],
    "import_error": [
        "n1:1:2 [3] misc/rocmwrap.cc:140 NCCL WARN Failed to find ROCm runtime library in /odd",
        "RuntimeError: operator torchvision::odd does not exist",
        "TypeError: Descriptors cannot not be created directly.",
        "python3: symbol lookup error: /x.so: undefined symbol: ncclCommSplit",
        "RuntimeError: fused module is not found. Please install apex.",
        "ModuleNotFoundError: import of torch halted; None in sys.modules",
        "ModuleNotFoundError: No module named 'grain'",
        "ImportError: libx.so.1: cannot open shared object file",
        "/usr/bin/python3: No module named maxtext",
    ],
    "access_denied": [
        "huggingface_hub.errors.HfHubHTTPError: 403 Forbidden: odd.",
        "wandb.errors.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])",
        "You are trying to access a gated repo.",
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
        "ValueError: Dimension 0 of the odd array should be 7",
        "ValueError: Received incompatible devices for jitted computation. Got odd ones",
        "XlaRuntimeError: INVALID_ARGUMENT: the shape of it is odd",
        "AssertionError: world size (6) is not divisible by total_model_size (total_model_size=16)",
        (
            "[rank1]: AssertionError: current global batch size (10) is not divisible by micro-batch-size (4) "
            "timesdata parallel size (2)",
            1,
            None,
        ),
        "AssertionError: Number of layers should be divisible by the pipeline-model-parallel size",
        "RuntimeError: decoder world_size (4) is not divisible by expert_tensor_model_pipeline_parallel size (8)",
        "RuntimeError: invalid implied data parallel degree: 8 / 3",
    ],
    "settings_refused": [
        'train.py: error: Parser key "odd" is odd',
        "ValueError: No dot product attention backend is available for the odd inputs.",
        "RuntimeError: /x/fused_odd.cu:77 in function operator(): Assertion failed: odd.",
        "RuntimeError: [AITER] /x/csrc/odd.cu:99 Unsupported head_size: 7",
        "n1:1:2 [3] graph/xml.cc:99 NCCL WARN XML Parse : Unexpected EOF",
        "AssertionError: odd is not supported with --odd-checkpoint-format yet",
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
        "yaml.scanner.ScannerError: mapping values are not allowed here",
        "Model size not supported.",
        "pretrain_gpt.py: error: unrecognized arguments: --no-such-flag",
        "pretrain_gpt.py: error: argument --tp: invalid int value: '8.0'",
        "ValueError: Key head_dim1 was passed at the command line but isn't in config.",
        "ValueError: You are passing overrides by both CLI and ENV for `run_name`. This isn't allowed.",
        "ValueError: We received env `M_STEP` but it doesn't match a key, so it is assumed a mistake.",
        "pretrain_tiny.py: the settings are refused, nothing was started:\n  BS: found '3', expected a multiple",
        "train_llama3.sh: the argument 'X' is refused: KEY=VALUE is expected",
    ],
    "xla_flags": [
        "ERROR: Unknown command line flag 'xla_odd'",
        "F0102 03:04:05.1 1 parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_tpu_x=true",
        "Unknown flags in XLA_FLAGS: --xla_tpu_x=true --xla_tpu_y=true",
        "Couldn't interpret value maybe for flag xla_gpu_enable_triton_gemm.",
        "Illegal value for --xla_gpu_enable_command_buffer 'BOGUS'",
        'Could not open file "x=1" to read flags for environment variable "XLA_FLAGS".',
    ],
    "jax_start": [
        "TypeError: process_id must be a nonnegative int. Got process_id=x.",
        "XlaRuntimeError: ALREADY_EXISTS: process 7 is there",
        "FAILED_PRECONDITION: TPU platform already registered for platform hardware version",
        "ValueError: Number of processes must be defined.",
        "ValueError: coordinator_address should be defined.",
    ],
    "not_found": [
        "/runs/r1/launch.sh: line 9: cd: /workspace/Megatron-LM: No such file or directory",
        "/runs/r1/launch.sh: line 10: torchrun: command not found",
        "bash: examples/llama/train_llama3.sh: No such file or directory",
        "/bin/bash: line 1: cd: /workspace: No such file or directory",
        "train_llama3.sh: line 212: torchrun: command not found",
        "sh: 1: torchrun: not found",
        "python3: can't open file '/w/pretrain_gpt.py': [Errno 2] No such file or directory",
        'OCI runtime exec failed: exec: "bash": executable file not found in $PATH: unknown',
    ],
    "data": [
        "datasets.exceptions.DataFilesNotFoundError: No supported data files found in /x",
        "FileNotFoundError: Unable to find '/odd/x.jsonl'",
        "ValueError: num_samples should be a positive integer value, but got num_samples=0",
        "KeyError: 'text column missing in the dataset'",
    ],
    "wrong_rank": [
        "ValueError: Invalid rank 8, rank should be in the interval [0, 7]",
        "n1:1:2 [3] init.cc:99 NCCL WARN improper usage of ncclCommInitRank: nId = 7, nranks=2",
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
        "ValueError: Couldn't find cache for odd for config 'en'",
        "FileNotFoundError: [Errno 2] No such file or directory: '/c/abc-MockGPTDataset-train-document_index.npy'",
    ],
    "name_resolution": [
        "n1:1:2 [3] misc/socket.cc:99 NCCL WARN Net : error encountered when getting address info : odd",
        "RuntimeError: The network addresses of (odd, 515) cannot be retrieved (gai error: -2 - odd).",
        "[W socket.cpp:601] [c10d] The IPv4 network addresses of (odd, 515) cannot be retrieved (gai error: -2 - odd).",
        "OSError: MASTER_ADDR 'n0' cannot be resolved to an IPv4 address: Name or service not known",
        "socket.gaierror: [Errno -2] Name or service not known",
        "UNAVAILABLE: DNS resolution failed for n0:1234: C-ares status is not ARES_SUCCESS",
        "OSError: rank 0 cannot listen on 10.0.0.9:6000 (Cannot assign requested address)",
    ],
    "network_interface": [
        "n1:1:2 [3] misc/socket.cc:99 NCCL WARN Net : No interface found in the same subnet as remote address 10.9",
        "OSError: there is no network interface 'ens51np0' on n1; there are lo, eth0",
        "OSError: the network interface 'ib0' has no IPv4 address (Cannot assign)",
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
        "n1:1:2 [0] NCCL WARN NET/Socket : no interface found",
        "ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)",
    ],
    "address_in_use": [
        "UNKNOWN: Failed to add port to server: No address added out of total 1 resolved for '[::]:1234'",
        "bind: Address already in use",
        "ConnectionError: what rank 1 found at 10.0.0.1:6000 is no rank 0 of this trainer: x",
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network "
        "address. port: 6000, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
        "OSError: [Errno 98] Address already in use",
    ],
    "segmentation_fault": [
        "free(): invalid pointer",
        "malloc(): corrupted top size",
        "train.sh: line 7:   77 Segmentation fault      (core dumped) python3 x.py",
        "Fatal Python error: Segmentation fault",
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
        "[W socket.cpp:7] [c10d] The client socket cannot be initialized to connect to [odd]:515 (errno: 97 - odd).",
        "RuntimeError: Deadline exceeded: Failed to connect to remote server at address: grpc://192.0.2.7:8470.",
        "ssh: connect to host n3 port 22: No route to host",
        "OSError: [Errno 101] Network is unreachable",
        "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address "
        "of (n0, 6000).",
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to "
        "connect to (10.0.0.1, 6000).",
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/3 clients joined.",
        "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError",
        "TimeoutError: rendezvous timed out after 5 s: rank 1 on n1 could not connect",
        (
            "rendezvous timed out after 5 s: 1 of 3 nodes joined (n0), missing: rank 2; rank 0 listened on "
            "10.0.0.1:6000",
            2,
            None,
        ),
        "DEADLINE_EXCEEDED: Deadline Exceeded\n\nRPC: /tensorflow.CoordinationService/RegisterTask",
        'while calling /tensorflow.CoordinationService/RegisterTask:\n:{"description":"Deadline Exceeded"}',
        "Stopping coordination service as cluster registration failed.",
    ],
    "stale_process": [
        (
            "ABORTED: /job:jax_worker/replica:0/task:1 unexpectedly tried to connect with a different incarnation.",
            1,
            None,
        ),
    ],
    "nccl": [
        " Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81",
        " A completion with Error in odd function",
        "2026-Jan-02 03:04:05.6 7:8 ERROR   ENC:ncclBootstrapRecv   failed odd request",
        "[ 12.1] infiniband efa_0: Failed to process command X (opcode 7) comp_status 1 err -12",
        "192.0.2.7: WARN: Function: f Line: 7: NET/OFI Couldn't open it. RC: -22, ERROR: Invalid argument",
        "libfabric:7:1234567890::efa:cq:efa_rdm_cq_poll():7<warn> Encountered an unresponsive peer",
        "n1: completion of 7: transport retry counter exceeded (12)",
        "JaxRuntimeError: INTERNAL: custom call of all-reduce is odd",
        "RuntimeError: Runtime error: unhandled system error\n    ncclGroupEnd() at x(/y/z.cpp:7)",
        "NCCL communication aborted: unhandled system error",
        "n1: Test NCCL failure common.cu:7 'internal error - please report this issue to the NCCL developers / '",
        "192.0.2.7: WARN: Function: main Line: 7: NET/OFI OFI NCCL failure: 2",
        "n1:1:2 [4] NCCL WARN NET/IB : Got completion from peer 10.0.0.1<1> with status=12 opcode=0 len=0",
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
        "Fatal Python error: Aborted",
        "F0102 03:04:05.1 77 x.cc:12] Check failed: a == b",
        (
            "E api.py:984] failed (exitcode: 1) local_rank: 6 (pid: 92121) of binary: /usr/bin/python",
            None,
            1,
        ),
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "train.sh: line 7:   77 Aborted                 (core dumped) python3 x.py",
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
        (
            "RuntimeError: Rank 0 reached monitoredBarrier, but received errors while waiting for odd from rank 5.",
            5,
            None,
        ),
        "XlaRuntimeError: INTERNAL: Odd result: DEADLINE_EXCEEDED: Barrier timed out. Id: Shutdown::0. Odd.",
        "        status = StatusCode.UNAVAILABLE",
        "E0102 03:04:05.1 7 x.cc:7] UNAVAILABLE: the odd service is gone",
        "jax.errors.JaxRuntimeError: ABORTED: Barrier failed because a task is in error",
        "XlaRuntimeError: UNAVAILABLE: BarrierError: a task has failed",
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
        "[rank3]: torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
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
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "EOFError",
    ],
    "coordinator_died": [
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
        "exiting program after receiving SIGTERM.",
    ],
}

HARMLESS: list[str] = [
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

# What no signature knows and is no exception, by class: where a log ends it is told by who prints it or by its words.
SENTENCES: dict[str, list[str]] = {
    "compile": ["2026-01-02T03:04:05Z [ABC404] Internal odd error", "error: ran out of registers during that"],
    "neuron": ["[ 12.1] neuron:odd_init: cannot", "2026-Jan-02 03:04:05 ERROR  CCOM:odd  no"],
    "container": [
        "[ERROR] Could not parse the odd thing",
        "enroot-odd: failed",
        "Back-off restarting failed container",
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
    "killed": [
        "launch.sh ended: exit 137",
        "Evicted: The node had condition: [MemoryPressure].",
        "job killed: mem 7kb exceeded limit 6kb",
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
