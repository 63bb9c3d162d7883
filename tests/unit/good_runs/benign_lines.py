# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines in the logs of runs that went well, and the programs that print them.

A program's line is its format with made-up values; free text is written anew. ``at`` is the place of such a line: after
the last step, between two steps, or before the first one.
"""

from __future__ import annotations

import typing as t

END, BETWEEN, BEFORE = "end", "between", "before"


class Benign(t.NamedTuple):
    """One or more lines of a run that went well; ``source`` is the program, file or thread that has them."""

    name: str
    text: str
    source: str
    at: str = END


PYTORCH = (
    Benign(
        "guessing device",
        "[rank0]:[W203 04:10:01.397295157 ProcessGroupNCCL.cpp:5188] Guessing device ID based on global rank. This can"
        " cause a hang if rank to GPU mapping is heterogeneous. You can specify device_id in init_process_group()",
        "PyTorch 2.11, ProcessGroupNCCL.cpp; a run on an H200",
    ),
    Benign(
        "barrier device",
        "/opt/venv/lib/python3.12/site-packages/torch/distributed/c10d_logger.py:83: UserWarning: barrier(): using the"
        " device under current context. You can specify `device_id` in `init_process_group` to mute this warning.\n"
        "  return func(*args, **kwargs)",
        "PyTorch 2.9, distributed_c10d.py",
    ),
    Benign(
        "destroy not called",
        "[rank0]:[W203 04:10:01.123456789 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not"
        " called before program exit, which can leak resources. For more info, please see"
        " https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
        "PyTorch 2.6, ProcessGroupNCCL.cpp",
    ),
    Benign(
        "destroy not called, older",
        "[rank0]:[W203 04:10:01.123456789 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been"
        " destroyed before we destruct ProcessGroupNCCL. On normal program exit, the application should call"
        " destroy_process_group to ensure that any pending NCCL operations have finished in this process. In rare cases"
        " this process can exit before this point and block the progress of another member of the process group. This"
        " constraint has always been present,  but this warning has only been added since PyTorch 2.4 (function"
        " operator())",
        "PyTorch 2.4 and 2.5, ProcessGroupNCCL.cpp",
    ),
    Benign(
        "store gone",
        "[W203 04:10:01.482910271 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=72, addr=[node1]:53412,"
        " remote=[node0]:6000): Connection reset by peer",
        "PyTorch 2.7, TCPStore.cpp: rank 0 ends first",
    ),
    Benign(
        "heartbeat monitor store gone",
        "[rank9]:[W203 04:10:02.482910271 ProcessGroupNCCL.cpp:1783] [PG ID 0 PG GUID 0 Rank 9] Failed to check the"
        ' "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe',
        "PyTorch 2.7, ProcessGroupNCCL.cpp: rank 0 ends first",
    ),
    Benign(
        "socket retry",
        "[W203 04:05:02.511020933 socket.cpp:759] [c10d] The client socket has failed to connect to [node0]:6000"
        " (errno: 111 - Connection refused).",
        "PyTorch 2.5, socket.cpp: node 1 starts first",
        BEFORE,
    ),
    Benign(
        "socket hostname",
        "[W203 04:05:02.511020933 socket.cpp:464] [c10d] The hostname of the client socket cannot be retrieved. err=-3",
        "PyTorch 2.3, socket.cpp",
        BEFORE,
    ),
    Benign(
        "OMP_NUM_THREADS",
        "W0203 04:05:01.100000 77 torch/distributed/run.py:793] \n"
        "W0203 04:05:01.100000 77 torch/distributed/run.py:793] *****************************************\n"
        "W0203 04:05:01.100000 77 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable for each"
        " process to be 1 in default, to avoid your system being overloaded, please further tune the variable for"
        " optimal performance in your application as needed. \n"
        "W0203 04:05:01.100000 77 torch/distributed/run.py:793] *****************************************",
        "PyTorch 2.5 to 2.8, distributed/run.py",
        BEFORE,
    ),
    Benign(
        "torchrun agent finished",
        "I0203 04:10:03.100000 77 torch/distributed/elastic/agent/server/api.py:879] [default] worker group"
        " successfully finished. Waiting 300 seconds for other agents to finish.\n"
        "I0203 04:10:03.200000 77 torch/distributed/elastic/agent/server/api.py:932] Local worker group finished"
        " (WorkerState.SUCCEEDED). Waiting 300 seconds for other agents to finish\n"
        "I0203 04:10:03.300000 77 torch/distributed/elastic/agent/server/api.py:946] Done waiting for other agents."
        " Elapsed: 0.001 seconds",
        "PyTorch 2.5 at LOGLEVEL=INFO, elastic/agent/server/api.py",
    ),
    Benign(
        "torchrun exit barrier",
        "W0203 04:10:03.100000 77 torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1348] The node"
        " 'node1_77_0' has failed to send a keep-alive heartbeat to the rendezvous 'none' due to an error of type"
        " RendezvousConnectionError.",
        "PyTorch 2.6, dynamic_rendezvous.py: the agent of node 0 ends first",
    ),
    Benign(
        "torchrun rendezvous closed",
        "W0203 04:10:03.100000 77 torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1293] The node"
        " 'node1_77_0' has failed to shutdown the rendezvous 'none' due to an error of type RendezvousConnectionError.",
        "PyTorch 2.6, dynamic_rendezvous.py: the agent of node 0 ends first",
    ),
    Benign(
        "pin memory",
        "/opt/venv/lib/python3.12/site-packages/torch/utils/data/dataloader.py:668: UserWarning: 'pin_memory' argument"
        " is set as true but no accelerator is found, then device pinned memory won't be used.\n"
        "  warnings.warn(warn_msg)",
        "PyTorch 2.7, dataloader.py",
    ),
    Benign(
        "too many workers",
        "/opt/venv/lib/python3.12/site-packages/torch/utils/data/dataloader.py:627: UserWarning: This DataLoader will"
        " create 8 worker processes in total. Our suggested max number of worker in current system is 2, which is"
        " smaller than what this DataLoader is going to create. Please be aware that excessive worker creation might"
        " get DataLoader running slow or even freeze, lower the worker number to avoid potential slowness/freeze if"
        " necessary.\n  warnings.warn(",
        "PyTorch 2.7, dataloader.py",
    ),
    Benign(
        "non-writable array",
        "<frozen runpy>:88: UserWarning: The given NumPy array is not writable, and PyTorch does not support"
        " non-writable tensors. This means writing to this tensor will result in undefined behavior. You may want to"
        " copy the array to protect its data or make it writable before converting it to a tensor. (Triggered"
        " internally at /pytorch/torch/csrc/utils/tensor_numpy.cpp:209.)",
        "PyTorch 2.8, tensor_numpy.cpp",
        BETWEEN,
    ),
    Benign(
        "scheduler before optimizer",
        "/opt/venv/lib/python3.12/site-packages/torch/optim/lr_scheduler.py:224: UserWarning: Detected call of"
        " `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the"
        " opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch"
        " skipping the first value of the learning rate schedule.\n  warnings.warn(",
        "PyTorch 2.6, lr_scheduler.py",
        BETWEEN,
    ),
    Benign(
        "checkpoint reentrant",
        "/opt/venv/lib/python3.12/site-packages/torch/utils/checkpoint.py:87: UserWarning: None of the inputs have"
        " requires_grad=True. Gradients will be None\n  warnings.warn(",
        "PyTorch 2.6, utils/checkpoint.py",
        BETWEEN,
    ),
    Benign(
        "not enough SMs",
        "W0203 04:06:00.100000 77 torch/_inductor/utils.py:1137] [1/0] Not enough SMs to use max_autotune_gemm mode",
        "PyTorch 2.6, _inductor/utils.py",
        BETWEEN,
    ),
    Benign(
        "recompile limit",
        "W0203 04:06:00.100000 77 torch/_dynamo/convert_frame.py:906] [0/8] torch._dynamo hit config.recompile_limit"
        " (8)",
        "PyTorch 2.6, _dynamo/convert_frame.py",
        BETWEEN,
    ),
    Benign(
        "caching allocator flush",
        "[rank3]:[W203 04:06:01.100000000 CUDACachingAllocator.cpp:3093] Warning: expandable_segments not supported on"
        " this platform (function operator())",
        "PyTorch 2.6 on ROCm, CUDACachingAllocator.h",
        BETWEEN,
    ),
    Benign(
        "two logs name rank 3",
        "UserWarning: rank 3 has no tokens of document 7; its loss mask is empty",
        "written for issue 39: a warning that names a rank",
        BETWEEN,
    ),
    Benign(
        "deterministic upsample",
        "[rank0]:[W203 04:06:01.100000000 Context.cpp:417] Warning: Deterministic behavior was enabled with either"
        " `torch.use_deterministic_algorithms(True)` or `at::Context::setDeterministicAlgorithms(true)`, but this"
        " operation is not deterministic (function operator())",
        "PyTorch 2.6, Context.cpp",
        BETWEEN,
    ),
    Benign(
        "grad accumulation stream",
        "/opt/venv/lib/python3.12/site-packages/torch/autograd/graph.py:824: UserWarning: c10d::allreduce_: an autograd"
        " kernel was not registered to the Autograd key(s) but we are trying to backprop through it. This may lead to"
        " silently incorrect behavior.",
        "PyTorch 2.4, autograd",
        BETWEEN,
    ),
    Benign(
        "async error handling variable",
        "[rank0]:[W203 04:05:03.100000000 Utils.hpp:164] Warning: Environment variable NCCL_ASYNC_ERROR_HANDLING is"
        " deprecated; use TORCH_NCCL_ASYNC_ERROR_HANDLING instead (function operator())",
        "PyTorch 2.2 to 2.8, c10d/Utils.hpp",
        BEFORE,
    ),
    Benign(
        "flight recorder dump path",
        "[rank0]:[I203 04:10:04.100000000 ProcessGroupNCCL.cpp:1291] [PG ID 0 PG GUID 0(default_pg) Rank 0]"
        " ProcessGroupNCCL environments: NCCL_DUMP_ON_TIMEOUT: 1, TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC: 480,"
        " TORCH_NCCL_ASYNC_ERROR_HANDLING: 3, TORCH_NCCL_DESYNC_DEBUG: 0",
        "PyTorch 2.6 at TORCH_CPP_LOG_LEVEL=INFO, ProcessGroupNCCL.cpp",
        BEFORE,
    ),
    Benign(
        "heartbeat monitor stops",
        "[rank0]:[I203 04:10:04.100000000 ProcessGroupNCCL.cpp:1577] [PG ID 0 PG GUID 0(default_pg) Rank 0]"
        " ProcessGroupNCCL destructor entered.\n"
        "[rank0]:[I203 04:10:04.100000001 ProcessGroupNCCL.cpp:1596] [PG ID 0 PG GUID 0(default_pg) Rank 0] Launching"
        " ProcessGroupNCCL abort asynchrounously.\n"
        "[rank0]:[I203 04:10:04.200000000 ProcessGroupNCCL.cpp:1489] [PG ID 0 PG GUID 0(default_pg) Rank 0]"
        " ProcessGroupNCCL aborts successfully.",
        "PyTorch 2.6 at TORCH_CPP_LOG_LEVEL=INFO, ProcessGroupNCCL.cpp: the common end",
    ),
)
NCCL = (
    Benign(
        "no plugin",
        "node0:77:77 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
        "NCCL 2.22 to 2.26; NVIDIA/nccl#259",
        BEFORE,
    ),
    Benign(
        "failed symbol",
        "node0:77:77 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v6 symbol.",
        "NCCL 2.18; pytorch/pytorch#105287",
        BEFORE,
    ),
    Benign(
        "GID change",
        "\nnode0:77:88 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : client reregistration\n",
        "NCCL, net_ib.cc; microsoft/DeepSpeedExamples#310: the subnet manager was restarted",
        BETWEEN,
    ),
    Benign(
        "iommu",
        '\nnode0:77:77 [0] init.cpp:122 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system'
        " instablity or hang!\n",
        "RCCL 2.16 to 2.22, init.cpp; ROCm/rccl#1026",
        BEFORE,
    ),
    Benign(
        "NUMA balancing",
        "\nnode0:77:77 [0] init.cpp:117 NCCL WARN NUMA auto balancing enabled which can lead to variability in the RCCL"
        ' performance! Disable by "sudo sysctl kernel.numa_balancing=0"\n',
        "RCCL, init.cpp",
        BEFORE,
    ),
    Benign(
        "libibverbs",
        "\nnode0:77:77 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\n",
        "NCCL 2.10; NVIDIA/nccl#766: one node without RDMA",
        BEFORE,
    ),
    Benign(
        "empty affinity",
        "node0:705:705 [0] NCCL INFO ncclTopoGetCpuAffinity: Affinity for GPU 0 is empty, ignoring. (GPU affinity =  ;"
        " CPU affinity = 0-15).",
        "NCCL 2.28; a run on an H200",
        BEFORE,
    ),
    Benign(
        "destroyed",
        "node0:705:705 [0] NCCL INFO comm 0x391414f0 rank 0 nranks 2 cudaDev 0 busId 60 - Destroy COMPLETE\n"
        "node0:705:705 [0] NCCL INFO ENV/Plugin: Closing env plugin ncclEnvDefault",
        "NCCL 2.28; a run on an H200",
    ),
    Benign(
        "aborted at the end",
        "node0:77:99 [0] NCCL INFO [Service thread] Connection closed by localRank 0\n"
        "node0:77:501 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 5000 - Abort COMPLETE",
        "NCCL 2.18 to 2.26: PyTorch aborts communicators at the end",
    ),
    Benign(
        "proxy ends",
        "node0:77:99 [0] NCCL INFO misc/socket.cc:881 -> 3\n"
        "node0:77:99 [0] NCCL INFO [Proxy Service UDS] exit: stop 1 abortFlag 0",
        "NCCL 2.22, proxy.cc: a peer ends first",
    ),
    Benign(
        "OFI falls back",
        "node0:25:574 [2] nccl_net_ofi_create_plugin:257 NCCL WARN NET/OFI aws-ofi-nccl initialization failed",
        "aws-ofi-nccl; aws/aws-k8s-tester#454: instances without EFA",
        BEFORE,
    ),
    Benign(
        "RAS off",
        "node0:77:80 [0] NCCL INFO RAS client listening socket at ::1<28028>",
        "NCCL 2.24, ras/ras.cc",
        BEFORE,
    ),
    Benign(
        "peer with RAS gone",
        "node0:77:80 [0] NCCL INFO RAS handling deadPeer (addr 10.0.0.2<38111>)\n"
        "node0:77:80 [0] NCCL INFO RAS link 1: detected and handling an unresponsive peer 10.0.0.2<38111>",
        "NCCL 2.24, ras/peers.cc: the other node ends first",
    ),
    Benign(
        "libibverbs fork",
        "libibverbs: Warning: fork()-safety requested but init failed",
        "rdma-core, libibverbs/memory.c",
        BEFORE,
    ),
    Benign(
        "libibverbs driver",
        "libibverbs: Warning: couldn't load driver 'libvmw_pvrdma-rdmav34.so': libvmw_pvrdma-rdmav34.so: cannot open"
        " shared object file: No such file or directory",
        "rdma-core, libibverbs/dynamic_driver.c",
        BEFORE,
    ),
)
JAX = (
    Benign(
        "cuda plugin",
        "WARNING:2026-02-03 04:05:02,105:jax._src.xla_bridge:794: An NVIDIA GPU may be present on this machine, but a"
        " CUDA-enabled jaxlib is not installed. Falling back to cpu.",
        "JAX 0.4 to 0.9, xla_bridge.py",
        BEFORE,
    ),
    Benign(
        "cuda factories",
        "E0000 00:00:1769000702.123456      77 cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to"
        " register factory for plugin cuDNN when one has already been registered\n"
        "E0000 00:00:1769000702.123457      77 cuda_blas.cc:1418] Unable to register cuBLAS factory: Attempting to"
        " register factory for plugin cuBLAS when one has already been registered",
        "TensorFlow 2.17 to 2.19 beside JAX, cuda_dnn.cc",
        BEFORE,
    ),
    Benign(
        "before absl",
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
        "abseil, log.cc",
        BEFORE,
    ),
    Benign(
        "computation placer",
        "W0000 00:00:1769000702.123457      77 computation_placer.cc:177] computation placer already registered. Please"
        " check linkage and avoid linking the same target more than once.",
        "XLA of 2025, computation_placer.cc",
        BEFORE,
    ),
    Benign(
        "TensorRT",
        "2026-02-03 04:05:02.105000: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not"
        " find TensorRT",
        "TensorFlow 2.17, py_utils.cc",
        BEFORE,
    ),
    Benign(
        "slow compile",
        "E0203 04:05:30.100000     312 slow_operation_alarm.cc:140] The operation took 2m10.5s\n\n"
        "********************************\n[Compiling module jit_train_step] Very slow compile? If you want to file a"
        " bug, run with envvar XLA_FLAGS=--xla_dump_to=/tmp/foo and attach the results.\n"
        "********************************",
        "XLA, slow_operation_alarm.cc: prints at severity E, and goes on",
        BETWEEN,
    ),
    Benign(
        "rendezvous waited",
        "W0203 04:05:45.100000     312 rendezvous.cc:178] This thread has been waiting for `first call to collective"
        " operation; run_id=1` for 20 seconds; it was stuck before it went on\n"
        "W0203 04:05:46.100000     312 rendezvous.cc:190] Thread is unstuck! Warning above was a false-positive.",
        "XLA, service/rendezvous.cc",
        BETWEEN,
    ),
    Benign(
        "autotuner",
        "W0203 04:05:45.100000     312 gemm_fusion_autotuner.cc:1156] Failed to compile config"
        " {block_m:64,block_n:64,block_k:64,split_k:1,num_stages:4,num_warps:4,num_ctas:1}; skipped",
        "XLA, gemm_fusion_autotuner.cc",
        BETWEEN,
    ),
    Benign(
        "rematerialization",
        "W0203 04:05:45.100000     312 hlo_rematerialization.cc:3204] Can't reduce memory use below 60.10GiB"
        " (64531234816 bytes) by rematerialization; only reduced to 61.20GiB (65712931635 bytes), down from 61.20GiB"
        " (65712931635 bytes) originally",
        "XLA, hlo_rematerialization.cc",
        BETWEEN,
    ),
    Benign(
        "preemption notifier",
        "I0203 04:10:05.100000      78 preemption_sync_manager.cc:214] Shutdown PreemptionSyncManager: cancelled"
        " preemption notifier thread",
        "XLA, preemption_sync_manager.cc",
    ),
    Benign(
        "coordination service polling",
        "I0203 04:10:05.100000      78 coordination_service_agent.cc:282] Cancelling error polling because the service"
        " or the agent is shutting down.",
        "XLA, coordination_service_agent.cc",
    ),
    Benign(
        "donated buffers",
        "/opt/venv/lib/python3.12/site-packages/jax/_src/interpreters/mlir.py:1184: UserWarning: Some donated buffers"
        " were not usable: int32[], float32[2,64].\nSee an explanation at"
        " https://jax.readthedocs.io/en/latest/faq.html#buffer-donation.\n  warnings.warn(",
        "JAX 0.5, mlir.py",
        BETWEEN,
    ),
    Benign(
        "transparent hugepages",
        "/opt/venv/lib/python3.12/site-packages/jax/_src/cloud_tpu_init.py:86: UserWarning: Transparent hugepages are"
        " not enabled. TPU runtime startup and shutdown time should be significantly improved on TPU v5e and newer.",
        "JAX, cloud_tpu_init.py",
        BEFORE,
    ),
    Benign(
        "orbax not awaited",
        "W0203 04:05:10.100000 140001 checkpoint_manager.py:1550] [process=0][thread=MainThread] Metrics file missing"
        " for step 10; metrics of this step are not known",
        "Orbax, checkpoint_manager.py",
        BETWEEN,
    ),
    Benign(
        "grpc fork",
        "I0000 00:00:1769000702.123457      77 fork_posix.cc:75] Other threads are currently calling into gRPC,"
        " skipping fork() handlers",
        "gRPC 1.6x, fork_posix.cc",
        BETWEEN,
    ),
    Benign(
        "grpc shutdown",
        "E0203 04:10:06.000000000      77 init.cc:232] grpc_wait_for_shutdown_with_timeout() timed out.",
        "gRPC, surface/init.cc: at severity E, after all is done",
    ),
    Benign(
        "os.fork",
        "/usr/lib/python3.12/multiprocessing/popen_fork.py:66: RuntimeWarning: os.fork() was called. os.fork() is"
        " incompatible with multithreaded code, and JAX is multithreaded, so this will likely lead to a deadlock.\n"
        "  self.pid = os.fork()",
        "JAX, xla_bridge.py",
        BETWEEN,
    ),
)
LIBRARIES = (
    Benign(
        "tokenizers",
        "huggingface/tokenizers: The current process just got forked, after parallelism has already "
        "been used. Disabling"
        " parallelism to avoid deadlocks...\nTo disable this warning, you can either:\n"
        "\t- Avoid using `tokenizers` before the fork if possible\n"
        "\t- Explicitly set the environment variable TOKENIZERS_PARALLELISM=(true | false)",
        "tokenizers, utils/parallelism.rs",
        BETWEEN,
    ),
    Benign(
        "tokenizer length",
        "Token indices sequence length is longer than the specified maximum sequence length for this model (131105 >"
        " 8192). Running this sequence through the model will result in indexing errors",
        "transformers, tokenization_utils_base.py",
        BETWEEN,
    ),
    Benign(
        "apex",
        "WARNING: could not import apex; fused kernels of Megatron Core are used in its place",
        "written after megatron/core/tensor_parallel/layers.py",
        BEFORE,
    ),
    Benign(
        "TE deprecation",
        "/usr/local/lib/python3.12/dist-packages/transformer_engine/__init__.py:10: RuntimeWarning: Detected a Jax"
        " installation but could not find the shared object file for the Transformer Engine Jax extension library. If"
        " this is not intentional, please reinstall Transformer Engine with `pip install transformer_engine[jax]`\n"
        "  import transformer_engine.jax",
        "Transformer Engine 2.4, common/__init__.py",
        BEFORE,
    ),
    Benign(
        "flash-attn version",
        "WARNING:DotProductAttention:flash-attn v3 may provide important feature support or performance improvement."
        " Please install flash-attn v3",
        "Transformer Engine 2.x, attention/dot_product_attention/utils.py",
        BEFORE,
    ),
    Benign(
        "flash-attn too new",
        "Supported flash-attn versions are >= 2.1.1, <= 2.7.4.post1. Found flash-attn 2.8.0.",
        "Transformer Engine 2.x, attention/utils.py",
        BEFORE,
    ),
    Benign(
        "MIOpen",
        "MIOpen(HIP): Warning [IsEnoughWorkspace] [GetSolutionsFallback WTI] Solver <GemmFwdRest>, workspace required:"
        " 1204224, provided ptr: 0 size: 0",
        "MIOpen, conv/solver_finders.cpp",
        BETWEEN,
    ),
    Benign(
        "hipBLASLt",
        "[rank0]:[W203 04:05:45.100000000 Context.cpp:296] Warning: Attempting to use hipBLASLt on an unsupported"
        " architecture! Overriding blas backend to hipblas (function operator())",
        "PyTorch on ROCm, Context.cpp",
        BETWEEN,
    ),
    Benign(
        "aiter",
        "[aiter] WARNING: NUMA balancing is enabled, which may cause errors. It is recommended to disable NUMA"
        " balancing by running \"sudo sh -c 'echo 0 > /proc/sys/kernel/numa_balancing'\" for more details:"
        " https://rocm.docs.amd.com",
        "AITER of 2025, aiter/__init__.py",
        BEFORE,
    ),
    Benign(
        "resource tracker semaphores",
        "/usr/lib/python3.12/multiprocessing/resource_tracker.py:279: UserWarning: resource_tracker: There appear to be"
        " 9 leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: "
        "There appear to be %d '",
        "CPython 3.12, resource_tracker.py",
    ),
    Benign(
        "resource tracker shared memory",
        "/usr/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be"
        " 1 leaked shared_memory objects to clean up at shutdown\n"
        "  warnings.warn('resource_tracker: There appear to be %d '\n"
        "/usr/lib/python3.11/multiprocessing/resource_tracker.py:267: UserWarning: resource_tracker: '/psm_5f3a':"
        " [Errno 2] No such file or directory: '/psm_5f3a'\n  warnings.warn('resource_tracker: %r: %s' % (name, e))",
        "CPython 3.11, resource_tracker.py",
    ),
    Benign(
        "tcmalloc",
        "tcmalloc: large alloc 4294967296 bytes == 0x7f1c2a000000 @  0x7f2b9a1c3680 0x7f2b9a1e4ff4 0x5c4d3e",
        "gperftools, tcmalloc.cc",
        BETWEEN,
    ),
    Benign(
        "jemalloc",
        "<jemalloc>: option background_thread currently supports pthread only",
        "jemalloc, background_thread.c",
        BEFORE,
    ),
    Benign(
        "LD_PRELOAD",
        "ERROR: ld.so: object '/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4' from LD_PRELOAD cannot be preloaded (cannot"
        " open shared object file): ignored.",
        "glibc, elf/rtld.c",
        BEFORE,
    ),
    Benign(
        "pkg_resources",
        "/opt/venv/lib/python3.12/site-packages/wandb/analytics/sentry.py:21: UserWarning: pkg_resources is deprecated"
        " as an API. See https://setuptools.pypa.io/en/latest/pkg_resources.html. The pkg_resources package is slated"
        " for removal as early as 2025-11-30.",
        "setuptools 80",
        BEFORE,
    ),
    Benign(
        "SyntaxWarning",
        "/workspace/Megatron-LM/megatron/legacy/data/dataset_utils.py:91: SyntaxWarning: invalid escape sequence '\\s'",
        "CPython 3.12",
        BEFORE,
    ),
    Benign(
        "exception ignored",
        "Exception ignored in: <function _ConnectionBase.__del__ at 0x7f2c1b3d8e00>\n"
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.12/multiprocessing/connection.py", line 133, in __del__\n'
        "    self._close()\n"
        '  File "/usr/lib/python3.12/multiprocessing/connection.py", line 362, in _close\n'
        "    _close(self._handle)\n"
        "OSError: [Errno 9] Bad file descriptor",
        "CPython, Objects/typeobject.c: what a destructor raises at the end is ignored",
    ),
    Benign(
        "unclosed file",
        "/workspace/train.py:41: ResourceWarning: unclosed file <_io.TextIOWrapper name='/tmp/x' mode='r'"
        " encoding='utf-8'>\nResourceWarning: Enable tracemalloc to get the object allocation traceback",
        "CPython at -X dev",
    ),
)
TRACKERS = (
    Benign(
        "wandb retries",
        "wandb: Network error (ConnectTimeout), entering retry loop.",
        "wandb 0.15 to 0.19, sdk/lib/retry.py",
    ),
    Benign(
        "wandb retries between",
        "wandb: Network error (ReadTimeout), entering retry loop.",
        "wandb 0.15 to 0.19, sdk/lib/retry.py",
        BETWEEN,
    ),
    Benign(
        "wandb 502",
        'wandb: 502 encountered ({"errors":[{"message":"context deadline exceeded"}]}), retrying request',
        "wandb 0.16, sdk/internal/internal_api.py",
        BETWEEN,
    ),
    Benign(
        "wandb offline",
        "wandb: You can sync this run to the cloud by running:\n"
        "wandb: wandb sync /scratch/wandb/offline-run-20260203_040501-f8k2m1q0\n"
        "wandb: Find logs at: ./wandb/offline-run-20260203_040501-f8k2m1q0/logs",
        "wandb 0.19 offline",
    ),
    Benign(
        "wandb slow",
        "wandb: WARNING Step cannot be set when using tensorboard syncing. Please use "
        "`run.define_metric(...)` to define"
        " a custom metric to log your step values.",
        "wandb 0.19, sdk/wandb_run.py",
        BETWEEN,
    ),
    Benign(
        "wandb summary",
        "wandb: \nwandb: Run history:\nwandb: lm loss █▇▆▅▄▃▂▁\nwandb: \nwandb: Run summary:\nwandb: lm loss 2.31\n"
        "wandb: \nwandb: 🚀 View run tiny at: https://wandb.ai/a/llama/runs/f8k2m1q0\n"
        "wandb: Synced 5 W&B file(s), 0 media file(s), 0 artifact file(s) and 0 other file(s)",
        "wandb 0.17",
    ),
    Benign(
        "wandb file sync",
        'wandb: ERROR Error uploading "/scratch/wandb/run-1/files/output.log": CommError, unexpected EOF; it will be'
        " tried again",
        "wandb 0.16, filesync/upload_job.py",
        BETWEEN,
    ),
    Benign(
        "mlflow retry",
        "2026/02/03 04:10:02 WARNING urllib3.connectionpool: Retrying (Retry(total=6, connect=7, read=6, redirect=7,"
        " status=7)) after connection broken by 'NewConnectionError: Failed to establish a new connection: [Errno 111]"
        " Connection refused': /api/2.0/mlflow/runs/log-batch",
        "urllib3 with MLflow",
        BETWEEN,
    ),
    Benign(
        "tensorboard",
        "TensorFlow installation not found - running with reduced feature set.",
        "tensorboard, compat/__init__.py",
        BEFORE,
    ),
    Benign(
        "comet",
        "COMET WARNING: Comet is not able to send 3 messages now; they are kept in an offline archive",
        "written after comet_ml, offline.py",
    ),
)
SCHEDULERS = (
    Benign(
        "time limit of the job",
        "Time limit of the job: 04:00:00, used 00:05:12",
        "issue 39: a site's epilog",
    ),
    Benign(
        "scontrol",
        "   JobState=COMPLETED Reason=None Dependency=(null)\n   Requeue=1 Restarts=0 BatchFlag=1 "
        "Reboot=0 ExitCode=0:0\n"
        "   RunTime=00:05:12 TimeLimit=04:00:00 TimeMin=N/A\n   KillOInInvalidDependent=NO",
        "Slurm, scontrol show job",
    ),
    Benign(
        "seff",
        "Job ID: 4711\nState: COMPLETED (exit code 0)\nCPU Efficiency: 3.41% of 13:20:00 core-walltime\n"
        "Memory Utilized: 311.20 GB\nMemory Efficiency: 15.20% of 2.00 TB",
        "Slurm, contribs/seff",
    ),
    Benign(
        "srun cpu bind",
        "srun: warning: can't honor --ntasks-per-node set to 8 which doesn't match the requested "
        "tasks 2 with the number"
        " of requested nodes 2. Ignoring --ntasks-per-node.",
        "Slurm, libslurm/proc_args.c",
        BEFORE,
    ),
    Benign(
        "srun slow",
        "srun: Job 4711 step creation temporarily disabled, retrying (Requested nodes are busy)",
        "Slurm, libsrun/allocate.c",
        BEFORE,
    ),
    Benign(
        "slurmstepd task epilog",
        "slurmstepd: task_p_post_term: affinity 4711.0, task 0",
        "Slurm at --slurmd-debug",
    ),
    Benign(
        "slurm temporary folder",
        "slurmstepd: error: Unable to unlink domain socket `/var/spool/slurmd/node1_4711.0`: No such file or directory",
        "Slurm, slurmstepd/mgr.c: after the task ended",
    ),
    Benign(
        "pmix",
        "[node1:00077] PMIX ERROR: PMIX_ERR_NOT_FOUND in file client/pmix_client_topology.c at line 352",
        "OpenPMIX under Slurm: it goes on without a topology",
        BEFORE,
    ),
    Benign(
        "openmpi btl",
        "--------------------------------------------------------------------------\n"
        "WARNING: There was an error initializing an OpenFabrics device.\n\n  Local host:   node1\n"
        "  Local device: mlx5_bond_0\n"
        "--------------------------------------------------------------------------",
        "Open MPI, help-mpi-btl-openib.txt",
        BEFORE,
    ),
    Benign(
        "module",
        'Lmod is automatically replacing "gcc/13" with "rocm/6.4".',
        "Lmod",
        BEFORE,
    ),
    Benign(
        "job summary",
        "tasks: 16 completed, 0 failed, 0 killed, 0 timed out",
        "written: a site's epilog",
    ),
    Benign(
        "ray gcs",
        "(raylet) [2026-02-03 04:10:02,105 E 77 101] (raylet) node_manager.cc:3041: 0 Workers "
        "(tasks / actors) killed due"
        " to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 1f2e, IP: 10.0.0.3)",
        "Ray 2.9, node_manager.cc",
    ),
    Benign(
        "kubectl log",
        'Defaulted container "train" out of: train, sidecar, init (init)',
        "kubectl logs",
        BEFORE,
    ),
    Benign(
        "pod events",
        "LAST SEEN   TYPE     REASON      OBJECT             MESSAGE\n"
        "5m12s       Normal   Pulled      pod/train-0        Successfully pulled image in 1.2s\n"
        "3s          Normal   Completed   job/train          Job completed",
        "kubectl get events",
    ),
    Benign(
        "pod status",
        "    State:          Terminated\n      Reason:       Completed\n      Exit Code:    0\n    Restart Count:  0\n"
        "    Ready:          False",
        "kubectl describe pod",
    ),
)
MACHINE = (
    Benign(
        "rocm-smi RAS",
        "GPU[0]\t\t: RAS errors: correctable 0, uncorrectable 0\nGPU[1]\t\t: RAS errors: "
        "correctable 0, uncorrectable 0",
        "issue 39: a site's script over rocm-smi --showrasinfo",
    ),
    Benign(
        "rocm-smi RAS table",
        "         Block     Status  Correctable Error  Uncorrectable Error\n"
        "           UMC    ENABLED                  0                    0\n"
        "          SDMA    ENABLED                  0                    0\n"
        "           GFX    ENABLED                  0                    0",
        "rocm-smi --showrasinfo",
    ),
    Benign("links", "link_downed: 0", "issue 39: perfquery, sysfs of an HCA"),
    Benign(
        "perfquery",
        "SymbolErrorCounter:..............0\nLinkErrorRecoveryCounter:........0\nLinkDownedCounter:...............0\n"
        "PortRcvErrors:...................0\nPortXmitDiscards:................0\nLocalLinkIntegrityErrors:........0",
        "infiniband-diags, perfquery",
    ),
    Benign("power violations", "0 power violations", "issue 39: a site's script over dcgmi stats"),
    Benign(
        "dcgmi stats",
        "|  ECC Errors                            |                                      |\n"
        "|  Single Bit Errors                     | 0                                    |\n"
        "|  Double Bit Errors                     | 0                                    |\n"
        "|  XID Errors                            | 0                                    |\n"
        "|  Thermal Violation                     | 0 (0%)                               |\n"
        "|  Overall Health                        | Healthy                              |",
        "dcgmi stats -j",
    ),
    Benign(
        "nvidia-smi",
        "+-----------------------------------------------------------------------------------------+\n"
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
        "|=========================================+========================+======================|\n"
        "|   0  NVIDIA H200                    On  |   00000000:60:00.0 Off |                    0 |\n"
        "| N/A   65C    P0            690W /  700W |       2MiB / 143771MiB |      0%      Default |",
        "nvidia-smi of driver 580",
    ),
    Benign(
        "nvidia-smi -q",
        "    Clocks Event Reasons\n        Idle                              : Not Active\n"
        "        SW Power Cap                      : Active\n        HW Slowdown                       : Not Active\n"
        "            HW Thermal Slowdown           : Not Active\n            HW Power Brake "
        "Slowdown       : Not Active\n"
        "    ECC Errors\n        Volatile\n            SRAM Uncorrectable Parity     : 0\n"
        "            DRAM Uncorrectable            : 0\n    Remapped Rows\n        Remapping "
        "Failure Occurred        : No",
        "nvidia-smi -q of driver 580",
    ),
    Benign(
        "amd-smi",
        "GPU: 0\n    ECC:\n        TOTAL_CORRECTABLE_COUNT: 0\n        TOTAL_UNCORRECTABLE_COUNT: 0\n"
        "        TOTAL_DEFERRED_COUNT: 0\n    PCIE:\n        REPLAY_COUNT: 0\n        NAK_SENT_COUNT: 0",
        "amd-smi metric",
    ),
    Benign(
        "node exporter",
        'node_infiniband_link_downed_total{device="mlx5_0",port="1"} 0\nnode_vmstat_oom_kill 0\n'
        'node_network_receive_errs_total{device="eth0"} 0\nDCGM_FI_DEV_XID_ERRORS{gpu="0"} 0',
        "node_exporter, dcgm-exporter",
    ),
    Benign(
        "ethtool",
        "NIC statistics:\n     rx_errors: 0\n     tx_timeout: 0\n     rx_discards_phy: 0\n     link_down_events_phy: 1",
        "ethtool -S: a link goes down once when it is set up",
    ),
    Benign(
        "bnxt counters",
        "local_ack_timeout_err:0\npacket_seq_err:0\nmax_retry_exceeded: 0\nrnr_naks_rcvd: 0\nout_of_sequence: 17",
        "bnxt_re, hw_counters",
    ),
    Benign(
        "dmesg tail",
        "[    2.105113] mce: CPU0: Thermal monitoring enabled (TM1)\n"
        "[    3.817720] EDAC MC0: Giving out device to module skx_edac\n"
        "[    9.105113] nvidia: module verification failed: signature and/or required key missing - tainting kernel\n"
        "[   17.310122] systemd[1]: Started Process error reports when automatic reporting is enabled.",
        "the kernel's log of a healthy node; NVIDIA/nvtrust#19",
    ),
    Benign(
        "dmesg perf",
        "[84223.105113] perf: interrupt took too long (2513 > 2500), lowering "
        "kernel.perf_event_max_sample_rate to 79500",
        "Linux, kernel/events/core.c",
        BETWEEN,
    ),
    Benign(
        "dmesg clocksource",
        "[84223.105113] clocksource: timekeeping watchdog on CPU37: hpet wd-wd read-back delay of 108114ns",
        "Linux, kernel/time/clocksource.c",
        BETWEEN,
    ),
    Benign(
        "dmesg workqueue",
        "[84223.105113] workqueue: svm_range_restore_work [amdgpu] hogged CPU for >10000us 4 times, "
        "consider switching to"
        " WQ_UNBOUND",
        "Linux 6.6, kernel/workqueue.c",
        BETWEEN,
    ),
    Benign(
        "dmesg no RAS",
        "[   12.105113] amdgpu 0000:c5:00.0: amdgpu: MEM ECC is active.\n"
        "[   12.105114] amdgpu 0000:c5:00.0: amdgpu: SRAM ECC is active.\n"
        "[   12.105115] amdgpu 0000:c5:00.0: amdgpu: RAS: optional ras ta ucode is not available",
        "amdgpu, amdgpu_ras.c, amdgpu_psp.c",
    ),
    Benign(
        "dmesg apparmor",
        '[84223.105113] audit: type=1400 audit(1769000702.105:71): apparmor="DENIED" operation="capable"'
        ' profile="/usr/sbin/cupsd" pid=902 comm="cupsd" capability=12  capname="net_admin"',
        "Linux, AppArmor",
    ),
    Benign(
        "health summary",
        "health check: 8 of 8 GPUs ok, 0 Xid, 0 SXid, 0 ECC errors, 0 link errors, no throttling",
        "written: a site's epilog",
    ),
    Benign(
        "smart",
        "SMART overall-health self-assessment test result: PASSED\nMedia and Data Integrity Errors:    0\n"
        "Error Information Log Entries:      0",
        "smartctl -a",
    ),
    Benign(
        "df",
        "Filesystem      Size  Used Avail Use% Mounted on\n/dev/nvme0n1p2  1.8T  1.8T     0 100% /snap/core20\n"
        "shm              64G   12M   64G   1% /dev/shm",
        "coreutils, df: an image that is read only is always full",
    ),
)
SHELL = (
    Benign("exit", "+ exit 0", "bash -x"),
    Benign(
        "trace of the end",
        "+ STATUS=0\n+ [[ 0 != 0 ]]\n+ rm -rf /tmp/triton_cache_4711\n+ kill 4242\n+ true",
        "bash -x",
    ),
    Benign(
        "trace with failure words",
        "+ echo 'ERROR: training failed'\n+ trap - ERR\n+ set +e",
        "bash -x: a function is defined or passed by",
        BEFORE,
    ),
    Benign(
        "kill",
        "train.sh: line 41: kill: (4242) - No such process",
        "bash, kill: the monitor had ended before the clean-up",
    ),
    Benign(
        "rm",
        "rm: cannot remove '/tmp/lock': No such file or directory",
        "issue 39; coreutils, rm",
    ),
    Benign(
        "rm busy",
        "rm: cannot remove '/scratch/job/.nfs000000010a3c': Device or resource busy",
        "coreutils, rm on NFS",
    ),
    Benign(
        "dubious ownership",
        "fatal: detected dubious ownership in repository at '/workspace/Megatron-LM'\nTo add an exception for this"
        " directory, call:\n\n\tgit config --global --add safe.directory /workspace/Megatron-LM",
        "issue 39; git 2.35",
    ),
    Benign("not a repository", "fatal: not a git repository (or any of the parent directories): .git", "git", BEFORE),
    Benign("no commit", "fatal: No names found, cannot describe anything.", "git describe", BEFORE),
    Benign("pkill", "pkill: killing pid 4243 failed: Operation not permitted", "procps, pkill in a clean-up"),
    Benign("umount", "umount: /mnt/data: not mounted.", "util-linux, umount in a clean-up"),
    Benign("cp", "cp: cannot stat '/opt/trace/*.json': No such file or directory", "coreutils, cp of optional traces"),
    Benign("grep", "grep: /var/log/nvidia-installer.log: No such file or directory", "grep of an optional log"),
    Benign("tee", "tee: /root/nohup.out: Permission denied", "coreutils, tee of a second copy"),
    Benign("locale", "bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)", "bash", BEFORE),
    Benign(
        "no job control",
        "bash: cannot set terminal process group (77): Inappropriate ioctl for device\n"
        "bash: no job control in this shell",
        "bash -i in a container",
        BEFORE,
    ),
    Benign("ssh", "Warning: Permanently added '10.0.0.2' (ED25519) to the list of known hosts.", "OpenSSH", BEFORE),
    Benign("ssh closed", "Connection to 10.0.0.2 closed by remote host.", "OpenSSH: a tunnel is shut down"),
    Benign(
        "terminated",
        "train.sh: line 17: 4242 Terminated              rocm-smi --showpower --loop > power.log",
        "bash: the monitor in the background was ended",
    ),
    Benign(
        "killed monitor",
        "./run.sh: line 88: 4243 Killed                  nvidia-smi dmon -s pucvmet > dmon.log",
        "bash: the monitor in the background was ended with -9",
    ),
    Benign("time", "real\t5m12.105s\nuser\t31m0.201s\nsys\t1m2.003s", "bash, time"),
    Benign("gnu time", "Command exited with non-zero status 0", "written after GNU time"),
    Benign("curl", "curl: (28) Connection timed out after 5001 milliseconds", "curl: a message to a chat at the end"),
    Benign(
        "mail", "sendmail: fatal: open /etc/postfix/main.cf: No such file or directory", "Postfix: a mail at the end"
    ),
    Benign("slack hook", "notify: webhook returned 500, message dropped", "written: a hook at the end"),
)
CONTAINERS = (
    Benign(
        "NGC banner",
        "ERROR: No supported GPU(s) detected to run this container",
        "NVIDIA's images, /opt/nvidia/entrypoint.d: on a CPU node of the job",
        BEFORE,
    ),
    Benign(
        "NGC shm",
        "NOTE: The SHMEM allocation limit is set to the default of 64MB.  This may be\n"
        "   insufficient for PyTorch.  NVIDIA recommends the use of the following flags:\n"
        "   docker run --gpus all --ipc=host --ulimit memlock=-1 --ulimit stack=67108864 ...",
        "NVIDIA's images, /opt/nvidia/entrypoint.d",
        BEFORE,
    ),
    Benign(
        "docker rm",
        "Error response from daemon: No such container: trainops-old",
        "Docker: the clean-up of a container that is gone",
    ),
    Benign(
        "docker swap",
        "WARNING: Your kernel does not support swap limit capabilities or the cgroup is not mounted. Memory limited"
        " without swap.",
        "Docker",
        BEFORE,
    ),
    Benign("docker stop", "train-node0\ntrain-node0", "docker stop and docker rm print the name"),
    Benign(
        "pip root",
        "WARNING: Running pip as the 'root' user can result in broken permissions and conflicting"
        " behaviour with the system package manager, possibly rendering your system unusable.",
        "pip",
        BEFORE,
    ),
    Benign(
        "pip resolver",
        "ERROR: pip's dependency resolver does not currently take into account all the packages that"
        " are installed. This behaviour is the source of the following dependency conflicts.\n"
        "tensorflow 2.18.0 requires numpy<2.1.0,>=1.26.0, but you have numpy 2.2.0 which is incompatible.",
        "pip: at ERROR, and it goes on",
        BEFORE,
    ),
    Benign(
        "enroot", "[WARN] Could not remount /sys/fs/cgroup: Operation not permitted", "written after enroot", BEFORE
    ),
    Benign("pyxis clean-up", "slurmstepd: pyxis: removing container filesystem ...", "pyxis at the end of a job"),
    Benign(
        "apptainer", "INFO:    Cleaning up image...\nWARNING: nv files may not be bound with --writable", "Apptainer"
    ),
    Benign(
        "podman",
        'time="2026-02-03T04:10:05Z" level=warning msg="StopSignal SIGTERM failed to stop container'
        ' monitor in 10 seconds, resorting to SIGKILL"',
        "Podman: a container beside the training",
    ),
    Benign("apt", "debconf: delaying package configuration, since apt-utils is not installed", "apt", BEFORE),
)
FRAMEWORKS = (
    Benign(
        "rerun state machine",
        "WARNING:megatron.core.rerun_state_machine:Implicit initialization of Rerun State Machine!\n"
        "WARNING:megatron.core.rerun_state_machine:RerunStateMachine initialized in mode RerunMode.DISABLED",
        "Megatron Core 0.10, rerun_state_machine.py",
        BEFORE,
    ),
    Benign(
        "one logger",
        "WARNING: one_logger package is required to enable e2e metrics tracking. please go to"
        " https://confluence.nvidia.com/display/MLWFO/Package+Repositories for details to install it",
        "Megatron-LM of 2024 and 2025, training/global_vars.py",
        BEFORE,
    ),
    Benign(
        "no checkpoint",
        "WARNING: could not find the metadata file /ckpt/latest_checkpointed_iteration.txt\n"
        "    will not load any checkpoints and will start from random",
        "Megatron-LM, training/checkpointing.py",
        BEFORE,
    ),
    Benign(
        "loss validation",
        "WARNING: Result validation enabled, a result that differs between reruns would be an error",
        "written after Megatron Core, rerun_state_machine.py",
        BEFORE,
    ),
    Benign(
        "helpers",
        "make: Entering directory '/workspace/Megatron-LM/megatron/core/datasets'\nmake: Nothing to be done for"
        " 'default'.\nmake: Leaving directory '/workspace/Megatron-LM/megatron/core/datasets'",
        "Megatron Core, datasets/utils.py",
        BEFORE,
    ),
    Benign(
        "stragglers",
        "^^^^ stragglers: min/max rank 3/7, 98.10/99.91 ms | etpt 401.2/411.1",
        "written after Megatron Core, core/utils.py",
        BETWEEN,
    ),
    Benign(
        "exiting",
        "exiting program after 0 failures, 0 retries",
        "written: a script at the end",
    ),
    Benign(
        "tokens skipped",
        "dataset: 3 documents are shorter than 2 tokens and were dropped; 0 documents are corrupt",
        "written: a data loader",
        BEFORE,
    ),
    Benign(
        "early stopping",
        "EarlyStopping: metric did not improve for 0 of 3 evaluations; training is not stopped",
        "written after Lightning, early_stopping.py",
        BETWEEN,
    ),
    Benign(
        "gc",
        "gc: collected 1203 objects, uncollectable 0 (generation 2)",
        "written after CPython, gc.DEBUG_STATS",
        BETWEEN,
    ),
    Benign(
        "in-process restart off",
        "nvidia-resiliency-ext: 0 restarts, 0 hangs, 0 faults detected by the rank monitors",
        "written after nvidia-resiliency-ext",
    ),
    Benign(
        "crash handler installed",
        "faulthandler enabled; on SIGSEGV, SIGABRT or SIGUSR1 a traceback is written to stderr",
        "written: a launcher",
        BEFORE,
    ),
)
BENIGN = (
    *PYTORCH, *NCCL, *JAX, *LIBRARIES, *TRACKERS, *SCHEDULERS, *MACHINE, *SHELL, *CONTAINERS, *FRAMEWORKS,
)  # fmt: skip
