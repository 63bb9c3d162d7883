# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of the network under NCCL: libfabric with EFA, UCX, libibverbs, and the kernel drivers mlx5 and bnxt."""

from __future__ import annotations

from ..failure_classes import BLAME
from ..signature import Signature

_FAILS = (
    rb"fail|error|unable|cannot|could not|couldn't|timed out|unreach|unrespons|invalid|refused|exceed|abort"
    rb"|no eligible|empty list|peer to peer support|requires? p2p|p2p is required|doesn't support"
)

SIGNATURES = (
    Signature(
        "memlock",
        "RDMA cannot lock memory. Raise the limit in the container and on the node (--ulimit memlock=-1, ulimit -l "
        "unlimited; under Slurm, slurmd's limit); for EFA, also load its peer memory or DMA-BUF support.",
        rb"(?:register MR|fi_mr_reg|register memory|memory registration failed)[^\r\n]{0,200}(?:Cannot allocate memory"
        rb"|ENOMEM|-12\b)",
        more_specific_than=("any error of the libfabric plugin",),
        sample=("n1:1:2 [3] odd:7 NCCL WARN NET/OFI Couldn't register memory region with regattr. RC: -12, ERROR: odd"),
    ),
    # A warning. Anything that needs no RDMA goes on after it.
    Signature(
        "memlock",
        None,
        rb"RLIMIT_MEMLOCK is \d{1,8} bytes",
        BLAME["nccl"] - 1,
        sample="libibverbs: Warning: RLIMIT_MEMLOCK is 32768 bytes.",
    ),
    Signature(
        "settings_refused",
        "EFA needs a variable on this node's old kernel. Set FI_EFA_FORK_SAFE=1 on all nodes.",
        rb"requires setting FI_EFA_FORK_SAFE",
        more_specific_than=("any CCOM warning",),
        sample=("n1:1:2 [3] odd CCOM WARN Linux kernel 7.1 requires setting FI_EFA_FORK_SAFE=1 environment variable."),
    ),
    Signature(
        "rdma_devices",
        "libfabric has no provider that NCCL's plugin can use. Check whether fi_info -p efa lists one in the "
        "container, pass in /dev/infiniband, and compare the versions of libfabric and the plugin.",
        rb"(?:Couldn't|Could not) find any optimal provider|fi_getinfo\(\) call failed"
        rb"|No eligible providers were found|Ofi plugin is not installed or EFA",
        more_specific_than=(
            "any error of the libfabric plugin",
            "missing file of the hub",
            "missing package",
        ),
        sample=("192.0.2.7: WARN: Function: find_ofi_provider Line: 7: NET/OFI Couldn't find any optimal provider"),
    ),
    # A warning too, on a single instance.
    Signature(
        "rdma_devices",
        "NCCL's libfabric plugin did not start. Check whether fi_info -p efa lists a provider in the container, pass "
        "in /dev/infiniband, and compare the versions of libfabric and the plugin.",
        rb"OFI plugin initNet\(\) failed|Unable to find a protocol that worked",
        BLAME["nccl"] - 1,
        more_specific_than=("any CCOM warning",),
        sample=("2026-Jan-02 03:04:05.6 7:8 [1] odd.cc:7 CCOM WARN OFI plugin initNet() failed is EFA enabled?"),
    ),
    Signature(
        "nccl",
        "NCCL's libfabric plugin failed. Read its message, compare the versions of libfabric, the plugin and NCCL, "
        "and run again with NCCL_DEBUG=INFO and FI_LOG_LEVEL=warn.",
        rb"WARN: Function: \w{1,80} Line: \d{1,6}: NET/OFI |(?:NCCL|CCOM) WARN NET/OFI (?!WARNING: "
        rb"|[^\r\n]{0,200}(?:[Ii]gnoring|Not configuring))|NET/OFI (?i:[^\r\n]{0,200}(?:" + _FAILS + rb"))",
        name="any error of the libfabric plugin",
        more_specific_than=("any CCOM warning",),
        sample="192.0.2.7: WARN: Function: main Line: 7: NET/OFI OFI NCCL failure: 2",
    ),
    Signature(
        "rdma_devices",
        None,
        rb"Error: [^\r\n]{0,200}No IB devices found|\bIB device \S{1,40} not found"
        rb"|Unable to find the Infiniband/RoCE device|No ibverbs devices present",
        sample=" Unable to find the Infiniband/RoCE device",
    ),
    Signature(
        "rdma_devices",
        "UCX cannot find the network device in UCX_NET_DEVICES. Compare it and UCX_TLS with ibv_devices in the "
        "container, and pass in /dev/infiniband.",
        rb"UCX {1,4}ERROR [^\r\n]{0,60}no usable transports/devices|network device '[^'\r\n]{1,99}' is not available",
        more_specific_than=("any UCX error",),
        sample="network device 'x' is not available",
    ),
    Signature(
        "nccl",
        "The network between the nodes failed under UCX or libfabric. Check the links, the devices (ibv_devinfo, "
        "fi_info -p efa), for EFA the security group, and the other nodes' logs.",
        rb"\b(?:UCX|UCC) {1,4}(?:ERROR|FATAL) (?![^\r\n]{0,400}[Nn]o space left)|fi_[a-z_]{1,40}(?:\(\))? failed"
        rb"|(?i:Libfabric error)|\bprov_errno\b|EFA_IO_COMP_STATUS_(?!OK)|unable to reach each other for"
        rb"|libfabric:\d{1,9}:\d{1,12}:[\w:-]{1,99}\(\):\d{1,6}<(?:warn|critical)> (?i:[^\r\n]{0,200}(?:"
        + _FAILS
        + rb"))"
        rb"|\befa_\w{1,60}\(\):\d{1,6}<warn> (?i:[^\r\n]{0,200}(?:" + _FAILS + rb"))"
        rb"|Libfabric EFA provider has encountered"
        rb"|\befa(?:_\d{1,4}| [\da-f:.]{12} \w{1,20}): (?!Failed to process command DEREG_MR)(?i:[^\r\n]{0,200}(?:"
        + _FAILS
        + rb"))",
        name="any UCX error",
        sample="At least one pair of MPI processes are unable to reach each other for",
    ),
    # The names that ibv_wc_status_str and the driver efa give to the completion of a failed transfer.
    Signature(
        "nccl",
        "A transfer between two nodes failed. Check that the peer is running (its log may have the cause), then the "
        "links, NCCL_IB_GID_INDEX, GPUDirect and, for EFA, the security group.",
        rb"[Ll]ocal (?:length|protection|access|QP operation) error|Work Request Flushed Error|[Bb]ad response error"
        rb"|[Rr]emote (?:invalid request|access|operation) error|(?:[Tt]ransport|RNR) retry counter exceeded"
        rb"|Remote aborted|Unresponsive re(?:ceiver|mote)|Unreachable remote|lushed during queue pair destroy",
        sample="n1: completion of 7: transport retry counter exceeded (12)",
    ),
    Signature(
        "nccl",
        "RDMA between two nodes failed. Check the port (ibv_devinfo), the GID index, link and firmware, GPUDirect, "
        "and that /dev/infiniband is passed in.",
        rb"Failed status(?: |-[^\r\n]{1,60} \()\d{1,3}\)?: wr_id |[Cc]ompletion with (?:error at|Error in) "
        rb"|Bad wc status |[Ff]ailed to (?:create|modify|register|allocate|open|query) (?:an? )?(?:QP|CQ|MR|PD|AH|SRQ"
        rb"|[Qq]ueue [Pp]air|completion queue|protection domain|memory region)\b|Couldn't get context for the device"
        rb"|Unable to [Cc]onnect the HCA|Port number \d{1,3} state is (?!Active)|RDMA connect error|\b(?:ibv_|ucp_|uct_"
        rb"|rdma_)\w{1,40}(?:\([^()\r\n]{0,99}\))?:? (?:error|failed)|failed on ibv_\w",
        name="any RDMA error",
        sample=" A completion with Error in odd function",
    ),
    Signature(
        "nccl",
        "A network port of this node went down or its adapter failed. Check cable, switch port and adapter firmware.",
        rb"Cable unplugged|NETDEV WATCHDOG: |NIC Link is [Dd]own|link status definitely down|Port module event\[error\]"
        rb"|mlx5_core [^\r\n]{0,60}(?:Link down|health compromised|firmware (?:fatal|internal) error"
        rb"|mlx5_cmd_out_err: )"
        rb"|bnxt_en [^\r\n]{0,60}(?:Link is Down|[Ff]irmware fatal|hwrm req_type [^\r\n]{0,60} error)",
        more_specific_than=("any error of a network driver",),
        sample="mlx5_core 0000:0c:00.0: mlx5_port_module_event:1131: Port module event: module 0, Cable unplugged",
    ),
    Signature(
        "nccl",
        "The driver of a network adapter reports an error. Read the kernel log around this line, and compare driver "
        "and firmware with a node that works.",
        rb"\b(?:mlx5_core|mlx5_ib|bnxt_en|bnxt_re|ionic) [^\r\n]{0,160}(?:\b[Ff]ailed\b|\b[Ee]rror\b|timed? ?out)",
        name="any error of a network driver",
        sample="ionic 0000:61:00.0 enp97s0: Failed to reset the queues",
    ),
    Signature(
        "nccl",
        "Neuron's collectives failed. Check the EFA driver and devices (fi_info -p efa), the security group, and the "
        "other nodes' logs.",
        rb"CCOM WARN (?![^\r\n]{0,300}[Tt]oo many open files)",
        name="any CCOM warning",
        sample="2026-Jan-02 03:04:05.6 7:8 [1] odd.cc:7 CCOM WARN an odd thing",
    ),
)
