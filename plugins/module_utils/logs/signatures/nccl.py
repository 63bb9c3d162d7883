# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of NCCL and RCCL (the WARN of their sources), and of libibverbs and gloo."""

from __future__ import annotations

from ..failure_classes import BLAME
from ..signature import Signature

# A line that gives no cause; the line with the cause, before or after it, is nearer.
_IN_GENERAL = BLAME["nccl"] + 1

SIGNATURES = (
    Signature(
        "duplicate_gpu",
        None,
        rb"Duplicate GPU detected(?: : rank (?P<rank>\d{1,9}))?|Multiple Ranks are using the same GPU",
        sample="Duplicate GPU detected : rank 3 and rank 0 both on CUDA device 5000",
    ),
    Signature(
        "memlock",
        "RDMA cannot lock memory. Raise the limit in the container and on the node (--ulimit memlock=-1, ulimit -l "
        "unlimited; under Slurm, slurmd's limit).",
        rb"max locked memory|ibv_(?:reg_mr\w{0,20}|create_cq|create_qp)[^\r\n]{0,200}(?:Cannot allocate memory|ENOMEM)",
        more_specific_than=(
            "any RDMA error of NCCL",
            "any NCCL warning",
            "any RDMA error",
        ),
        sample=("n1:1:2 [4] NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory"),
    ),
    Signature(
        "memlock",
        "RDMA could not set up a queue or register memory, and NCCL does not say why. Mostly too little memory may be "
        "locked: check ulimit -l in the container and on the node (--ulimit memlock=-1; under Slurm, slurmd's limit). "
        "Then check links and the HCA.",
        # NCCL before 2.12 leaves the error out.
        rb"Call to ibv_(?:reg_mr\w{0,20}|create_cq|create_qp) failed(?m:[ \t]{0,9}\r?$)",
        more_specific_than=(
            "any RDMA error of NCCL",
            "any NCCL warning",
            "any RDMA error",
        ),
        sample="n1:1:2 [4] ibvwrap.c:130 NCCL WARN Call to ibv_create_qp failed",
    ),
    Signature(
        "nccl",
        "RDMA cannot register a GPU's memory (GPUDirect). Load nvidia-peermem (for AMD, a driver and kernel with peer "
        "memory or DMA-BUF), compare the driver with another node, and try NCCL_NET_GDR_LEVEL=LOC to see whether "
        "GPUDirect is what fails.",
        rb"Call to ibv_reg_(?:dmabuf_)?mr\w{0,20} failed with error (?:Invalid argument|Bad address)",
        more_specific_than=(
            "any RDMA error of NCCL",
            "any NCCL warning",
            "any RDMA error",
        ),
        sample="n1:1:2 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Invalid argument",
    ),
    Signature(
        "rdma_abi_mismatch",
        None,
        rb"Driver \S{1,99} does not support the kernel ABI of|kernel ABI version \d{1,9} doesn't match"
        rb"|couldn't load driver [^\r\n]{0,200}version `IBVERBS_PRIVATE",
        sample="libibverbs: Fatal: kernel ABI version 9 doesn't match library version 7.",
    ),
    Signature(
        "disk_full",
        "The container's shared memory (/dev/shm) is full or too small. Enlarge it (--shm-size, or ipc=host).",
        rb"Error while (?:creating|attaching to) shared memory segment|failed to extend /dev/shm"
        rb"|failed to create shared memory file|Could not map \S{1,200} size \d",
        more_specific_than=(
            "any NCCL warning",
            "full shared memory",
            "any full disk",
        ),
        sample=(
            "n1:1:2 [4] NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x "
            "(size 9637888), error: No space left on device (28)"
        ),
    ),
    Signature(
        "out_of_memory",
        "The GPU has too little memory for the communicator. Lower the micro batch size, or NCCL_BUFFSIZE.",
        rb"Failed to (?:CUDA|HIP) (?:calloc|malloc)",
        more_specific_than=("any NCCL warning",),
        sample="gpu07:42:99 [0] rccl/src/include/alloc.h:246 NCCL WARN Failed to HIP calloc async 4194304 bytes",
    ),
    Signature(
        "import_error",
        "RCCL or NCCL cannot find part of the ROCm or CUDA runtime because the image's libraries do not match. Check "
        "LD_LIBRARY_PATH and RCCL_ROCR_PATH, or use another image.",
        rb"Failed to find ROCm runtime library|Failed to load ROCr missing symbol"
        rb"|PFN functions not found in the library",
        more_specific_than=("any NCCL warning",),
        sample=("n1:1:2 [3] misc/rocmwrap.cc:140 NCCL WARN Failed to find ROCm runtime library in /odd"),
    ),
    Signature(
        "driver_mismatch",
        None,
        rb"ROCr Driver version found is|WARN [^\r\n]{0,60}requires CUDA driver [\d.]{1,9} or later",
        more_specific_than=("any NCCL warning",),
        sample=("n1:1:2 [3] misc/rocmwrap.cc:160 NCCL WARN ROCr Driver version found is 1. Minimum requirement is 11"),
    ),
    Signature(
        "network_interface",
        None,
        rb"(?:Bootstrap|NET/(?:Socket|IB)) ?: [Nn]o (?:socket |IP |usable listening )?interface found"
        rb"|WARN (?:Net : )?No (?:interface found in the same subnet|usable listening interface found)"
        rb"|is neither AF_INET\(2\) nor AF_INET6"
        rb"|Unable to find (?:address|interface) for[: ]|no device found (?:matching|after excluding)",
        more_specific_than=("any NCCL warning",),
        sample="n1:1:2 [0] NCCL WARN NET/Socket : no interface found",
    ),
    Signature(
        "rdma_devices",
        "NCCL_NET asks for RDMA, but NCCL finds no RDMA device. Check ibv_devices in the container and the earlier "
        "output of libibverbs, and pass in /dev/infiniband.",
        rb"network IB not found",
        more_specific_than=(
            "NCCL's settings",
            "any NCCL warning",
        ),
        sample="n1:1:2 [0] net.cc:580 NCCL WARN Error: network IB not found.",
    ),
    Signature(
        "settings_refused",
        "The nodes run different NCCL or RCCL versions, or a requested network is missing. Use one image on all "
        "nodes, and check NCCL_NET, NCCL_IB_DISABLE and the network plugin.",
        rb"Mismatched NCCL version detected|NCCL version mismatch with remote peer|NCCL library is (?:too old"
        rb"|not backwards)|compiled with too old version of NCCL|Invalid NCCL_COMM_ID"
        rb"|Error: network \w{1,40} not found",
        name="NCCL's settings",
        sample="Invalid NCCL_COMM_ID",
    ),
    Signature(
        "settings_refused",
        "NCCL or RCCL cannot follow its variables or its topology file. Read the text after WARN, compare "
        "the nodes, and check NCCL_ALGO, NCCL_PROTO, NCCL_IB_HCA, NCCL_COMM_ID and NCCL_TOPO_FILE.",
        rb"Net : No valid |WARN No algorithm/protocol available|WARN XML (?:\w{1,20} has wrong version|Parse "
        rb"|Mismatch )|WARN Could not open (?:MSCCL )?XML |WARN Invalid config [^\r\n]{1,60} attribute value"
        rb"|WARN Unrecognized (?:element|prefix) token |Could not force merge NICs"
        rb"|WARN FP8 reduction support begins with|unsupported collective\. Please ensure|Attempted to (?:connect"
        rb"|merge) incompatible devices|device is incompatible with the local|Detected mixed local (?:CollNet"
        rb"|Net) device counts",
        more_specific_than=("any NCCL warning",),
        sample="n1:1:2 [3] graph/xml.cc:99 NCCL WARN XML Parse : Unexpected EOF",
    ),
    Signature(
        "gpu_error",
        "NVLink multicast or NVLink between nodes does not work. Check that nvidia-fabricmanager (and the IMEX "
        "service) is running and that no other process uses the GPUs, or disable it (NCCL_NVLS_ENABLE=0, "
        "NCCL_MNNVL_ENABLE=0).",
        rb"Failed to bind NVLink SHARP \(NVLS\)|MNNVL \([^)\r\n]{1,60}\) is available but not working",
        sample="Failed to bind NVLink SHARP (NVLS)",
    ),
    Signature(
        "gpu_error",
        "A GPU of this node or its link to another one does not work. Read the kernel log, check the links "
        "(nvidia-smi topo -m, amd-smi topology), and compare with another node.",
        rb"P2P is disabled between NVLINK connected GPUs|WARN ROCr failure '",
        more_specific_than=("any NCCL warning",),
        sample=("n1:1:2 [3] graph/paths.cc:99 NCCL WARN P2P is disabled between NVLINK connected GPUs 1 and 0. Odd."),
    ),
    Signature(
        "wrong_rank",
        "Two processes have the same rank, or the nodes were started with different numbers of ranks. Compare the "
        "node ranks and the number of nodes, and stop processes left over from an earlier run.",
        rb"Bootstrap Root : (?:rank (?P<rank>\d{1,9}) of \d{1,9} ranks has already checked in|mismatch in )"
        rb"|WARN Invalid rank requested : |WARN improper usage of ncclCommInitRank",
        more_specific_than=("any NCCL warning",),
        sample=("n1:1:2 [3] init.cc:99 NCCL WARN improper usage of ncclCommInitRank: nId = 7, nranks=2"),
    ),
    Signature(
        "host_memory",
        "The host ran out of memory for NCCL. Use fewer data workers or a smaller cache, or give the container more "
        "memory.",
        rb"Unrecoverable error detected: malloc\(size=|Failed to malloc \d",
        more_specific_than=("any NCCL warning",),
        sample="gpu07:42:99 [0] include/alloc.h:57 NCCL WARN Failed to malloc 1048576 bytes",
    ),
    Signature(
        "name_resolution",
        "This node cannot resolve a name that NCCL was given. Use an address that every node resolves and reaches "
        "(NCCL_COMM_ID, MASTER_ADDR).",
        rb"WARN (?:Net : )?error encountered when getting address info",
        more_specific_than=("any CCOM warning",),
        sample="7:8 [1] odd.cc:7 CCOM WARN error encountered when getting address info : odd",
    ),
    Signature(
        "collective_mismatch",
        None,
        rb"[Mm]essage truncated : receiv|mismatch between collectives|[Mm]ismatched collective"
        rb"|distributed collective mismatch|[Cc]ollectives? mismatch|to self without a matching (?:send|recv)"
        rb"|op\.preamble\.length <= op\.nbytes|symmetric registration check failed"
        rb"|DDP expects same model across all ranks|appears not to match sizes of the same param in process"
        rb"|sync_global_devices name mismatch|Error: [^\r\n]{0,99} is all-gathering [^\r\n]{1,200} while rank ",
        name="different collectives",
        more_specific_than=("any NCCL warning",),
        sample="n1:1:2 [0] NCCL WARN Message truncated : received 1024 bytes instead of 256",
    ),
    Signature(
        "nccl",
        "A peer does not answer (retries exceeded). Check the links, NCCL_IB_GID_INDEX, NCCL_IB_TC and the peer's log.",
        rb"Got completion (?:from peer [^\r\n]{0,200})?with (?:error|status=)(?:[A-Z_]{1,30}\()? ?12\b",
        more_specific_than=(
            "any RDMA error of NCCL",
            "any NCCL warning",
        ),
        sample=("n1:1:2 [4] NCCL WARN NET/IB : Got completion from peer 10.0.0.1<1> with status=12 opcode=0 len=0"),
    ),
    Signature(
        "nccl",
        "This node's HCA failed. Read the kernel log, and check the HCA's firmware, driver and link.",
        rb"Got async (?:error )?event ?: (?:local catastrophic error|device fatal|port error)"
        rb"|async fatal event|Got non-fatal async event: port error",
        more_specific_than=("any RDMA error of NCCL",),
        sample="async fatal event",
    ),
    Signature(
        "nccl",
        "RDMA failed on this device. Check links, NCCL_IB_HCA, NCCL_IB_GID_INDEX, the HCA's driver and firmware, "
        "GPUDirect (peer memory or DMA-BUF), and the peer's log.",
        rb"Got completion from peer|Got completion with |Got async (?:error )?event|Call to ibv_\w{1,40} failed"
        rb"|local work queue catastrophic error|\bIBV_WC_\w{1,30}|Transport retry count exceeded"
        rb"|nvshmem\S{1,200}:\d{1,6}: (?:non-zero status: \d{1,9}|NULL value) [^\r\n]{1,99} failed",
        name="any RDMA error of NCCL",
        more_specific_than=("any RDMA error",),
        sample="/x/nvshmem/src/odd.cu:77: non-zero status: 7 odd init failed",
    ),
    Signature(
        "peer_died",
        "Another rank went away. Look for the cause in its log or its earlier output.",
        rb"gloo/transport/tcp/pair\.cc:\d{1,6}\][^\r\n]{0,300}(?:closed|reset) by peer"
        rb"|[Cc]onnection closed by remote peer"
        rb"|(?<!')Connection reset by peer|Connection closed by peer|Software caused connection abort"
        rb"|gloo/transport/\w{1,12}/\w{1,30}\.cc:\d{1,6}\] (?:Socket (?:unexpectedly )?closed|Read timeout"
        rb"|Read error [^\r\n]{0,300}remote worker hanging|Write timeout|Application timeout caused)"
        rb"|WARN (?:[^\r\n]{0,200}failed : Broken pipe|\[Service thread\] Accept failed)",
        more_specific_than=(
            "any gloo error",
            "any lost connection",
        ),
        sample="ConnectionResetError: [Errno 104] Connection reset by peer",
    ),
    Signature(
        "nccl",
        "A rank cannot reach a peer over NCCL's sockets. Check that the peer is running, NCCL_SOCKET_IFNAME on all "
        "nodes, routes and firewall.",
        rb"NCCL WARN [^\r\n]{0,200}(?:[Cc]onnect(?:ing)? to|[Cc]all to connect|bootstrap)[^\r\n]{0,200}"
        rb"(?:No route to host|[Cc]onnection refused|[Cc]onnection timed out|[Nn]etwork is unreachable"
        rb"|exceeded error retry count)",
        more_specific_than=(
            "any NCCL warning",
            "any refused connection",
        ),
        sample="NCCL WARN bootstrapNo route to host",
    ),
    Signature(
        "gloo",
        None,
        rb"Gloo connectFullMesh failed|gloo/transport/tcp/\w{1,30}\.cc:\d{1,6}\] [^\r\n]{0,200}(?:[Tt]imed out"
        rb"|[Cc]onnect |[Nn]o route)|gloo/\w{1,30}(?:/\w{1,30}){0,3}\.cc:\d{1,6}\] ",
        name="any gloo error",
        sample="RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error",
    ),
    Signature(
        "nccl",
        "NCCL or RCCL failed. Run again with NCCL_DEBUG=WARN; check the links, NCCL_IB_HCA, NCCL_IB_GID_INDEX, "
        "NCCL_SOCKET_IFNAME and the other nodes' logs.",
        rb"nccl(?:(?:Remote|System|Internal|UnhandledCuda)Error|InvalidUsage|InvalidArgument): "
        rb"|[NR]CCL [Ee]rror(?: in| \d{1,2})?:|Failed to initialize any NET plugin|[NR]CCL communication aborted"
        rb"|unhandled (?:system|cuda) error|please report this issue to the [NR]CCL developers"
        rb"|remote process exited or there was a network error|Test [NR]CCL failure ",
        nearness=_IN_GENERAL,
        sample="NCCL communication aborted: unhandled system error",
    ),
    Signature(
        "nccl",
        "NCCL or RCCL warns that an operation failed. Read the text after WARN, compare nodes, image and NCCL "
        "variables, and run again with NCCL_DEBUG=INFO.",
        rb"[NR]CCL WARN (?!NET/OFI|\S{1,60}:\d{1,6} -> ?\d"
        rb"|[^\r\n]{0,200}(?:Too many open files|Thread creation failed|pthread_create"
        rb"|libibverbs|iommu|NUMA|path for pattern|CollNet|[Ii]gnor|[Dd]efaulting|Unsetting|not using|MSCCL|lead to "
        rb"|not dumping|[Ff]alling back|[Ll]imiting|setting (?:it )?to|[Ss]kipping|cap it to|set it to|set both to"
        rb"|\bdisabling\b))[^\r\n]",
        nearness=_IN_GENERAL,
        name="any NCCL warning",
        sample="gpu07:4242:4311 [3] transport/net_ib.cc:1295 NCCL WARN NET/IB : Unable to open device mlx5_3",
    ),
)
