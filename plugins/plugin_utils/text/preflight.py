# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts of preflight cells: for each code and case the node's state and, if the cell is red, reason and remedy.

Codes and cases are public: the module training_preflight returns them with each row of its table.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from types import MappingProxyType

from ..contracts import Call
from .problems import (
    FULL_IMAGE_NAME,
    OF_BECOME,
    REMEDIES,
    SENTENCES,
    SOME_CALL,
    STOP_RUN,
    UNREACHABLE,
    UNREACHABLE_OTHERWISE,
)
from .sentences import Form, filled


class Remedy(t.NamedTuple):
    """A command, or a step that only a person can take, with the command that shows more."""

    text: str
    shown_by: str = ""
    is_by_hand: bool = False


class CellForm(t.NamedTuple):
    """The texts of a cell.

    ``remedies`` maps the deciding property, such as the family of the node's system, to the remedy; "" is any other.
    ``many`` and ``each`` are as in `sentences.Form`, for a reason that several nodes share.
    """

    found: str
    reason: str = ""
    remedies: Mapping[str, Remedy] = MappingProxyType({})
    many: str = ""
    each: str = ""


def _fix(command: str) -> dict[str, Remedy]:
    return {"": Remedy(command)}


def _step(what: str, shown_by: str = "") -> Remedy:
    return Remedy(what, shown_by, is_by_hand=True)


def _by_hand(what: str, shown_by: str = "") -> dict[str, Remedy]:
    return {"": _step(what, shown_by)}


_REPEAT = "then repeat the preflight with --limit and the names of these nodes"


def _as_step(remedy: str) -> str:
    return f"{remedy[0].lower()}{remedy[1:].rstrip('.')}"


def _then_repeat(remedy: str) -> dict[str, Remedy]:
    return _by_hand(f"{_as_step(remedy)}; {_REPEAT}")


_REACHED: dict[str, dict[str, CellForm]] = {
    "unreachable": {
        "": CellForm("no", "The node did not answer: {said}", _then_repeat(UNREACHABLE_OTHERWISE)),
        "silent": CellForm("no", "The node did not answer: nothing more is known", _then_repeat(UNREACHABLE_OTHERWISE)),
        **{
            code: CellForm(
                "no",
                f"{one.cause[0].upper()}{one.cause[1:]} ({{said}})",
                _then_repeat(one.remedy),
                many=f"{one.cause[0].upper()}{one.cause[1:]} ({{said:example}})",
            )
            for code, one in UNREACHABLE.items()
        },
    },
    "not_inspected": {
        # A remedy is chosen by the code of the problem.
        "": CellForm(
            "no",
            "the node could not be inspected: {said}",
            {
                **_by_hand(f"look at the node, {_REPEAT}"),
                **{code: _then_repeat(REMEDIES[code])[""] for code in ("program_not_run", *OF_BECOME)},
            },
        ),
    },
}
# Grey cells, the same for every check.
_NOT_JUDGED = {
    "unknown": {"": CellForm("unknown"), "said": CellForm("{said}"), "all_said": CellForm("{said:texts_listed}")},
    "no_config": {"": CellForm("no training config (set -e training_config=FILE)")},
    "no_container": {"": CellForm("no container")},
    "single_node": {
        "": CellForm("a single node"),
        "interface": CellForm("a single node needs no interface"),
        "rdma": CellForm("a single node needs no RDMA"),
        "cache": CellForm("a single node shares nothing"),
    },
}
_WANTED_GPUS = {
    by + suffix: CellForm(
        "{gpus:gpus}",
        f"{who} {{wanted:count GPU}} per node, but the driver reports {{gpus[count]}}{more}",
        many=f"{who} {{wanted:count GPU}} per node, but the driver reports {{each}}",
        each=f"{{gpus[count]}} on {{node}}{on_bus}",
    )
    for by, who in (("plan", "the plan uses"), ("inventory", "the inventory expects"))
    for suffix, more, on_bus in (
        ("", "", ""),
        ("_on_bus", "; the PCI bus shows {on_bus}", " (the PCI bus shows {on_bus})"),
    )
}
_FIND_GPUS = {
    "load_driver": Remedy("modprobe {module}"),
    "kernel_log": _step("find the missing GPUs", "dmesg | grep -i {module}"),
    "": _step("find the missing GPUs", "lspci | grep -Ei 'display|3d|accelerator'"),
}
_PROCESSORS = {
    "gpus_not_used": {
        "": CellForm("the plan trains on CPUs"),
        "inventory": CellForm("the inventory has CPUs (training_gpu)"),
    },
    "gpus_not_required": {"": CellForm("{gpus:gpus}; not compared with the plan ({option}=false)")},
    "device_not_supported": {"": CellForm("the inspection does not support {device}s")},
    "no_gpu": {"": CellForm("{gpus:gpus}")},
    "gpus": {"": CellForm("{gpus:gpus}")},
    "gpus_missing": {
        name: form._replace(remedies=_FIND_GPUS)
        for name, form in {
            **_WANTED_GPUS,
            "": CellForm(
                "{gpus:gpus}",
                "the PCI bus shows {on_bus} GPUs, but the driver reports {gpus[count]}",
                many="the driver does not report all GPUs of the PCI bus: {each}",
                each="{gpus[count]} of {on_bus} on {node}",
            ),
        }.items()
    },
    "other_gpu": {
        "plan": CellForm(
            "{gpus:gpus}",
            "the plan is for {wanted}, but the node has {other}",
            _by_hand("select the config's branch for this GPU (training_gpu)"),
            many="the plan is for {wanted}, but the nodes have {each}",
            each="{other} on {node}",
        ),
        "inventory": CellForm(
            "{gpus:gpus}",
            "the inventory expects {wanted}, but the node has {other}",
            _by_hand("correct it in the inventory (training_gpu)"),
            many="the inventory expects {wanted}, but the nodes have {each}",
            each="{other} on {node}",
        ),
    },
    "gpus_idle": {"": CellForm("idle")},
    "gpus_busy": {
        "": CellForm(
            "{count} busy",
            "the GPUs are in use by {processes:processes}",
            {
                "run": Remedy(f"{STOP_RUN}{{processes[0][run_id]:quoted}}"),
                "": _step("ask its owner to stop it", "ps -fp {processes[0][pid]}"),
            },
            many="the GPUs are in use: {each}",
            each="{processes:processes} on {node}",
        )
    },
    "numa_not_balanced": {"": CellForm("this kernel has no NUMA auto-balancing")},
    "numa_off": {"": CellForm("auto-balancing off")},
    "numa_on": {
        "": CellForm(
            "auto-balancing on",
            "NUMA auto-balancing is on, and its page migration stalls GPUs",
            _fix("sysctl -w kernel.numa_balancing=0   # {playbooks}/node_prep.yml makes it permanent"),
        )
    },
}
_LIST_DEVICES = _fix("set nccl_ib_hca_list in the config to {there:joined}")
_NO_DEVICE = {
    "load_driver": Remedy("modprobe {module}"),
    "": _step("find the adapter", "lspci | grep -Ei 'ethernet|infiniband'"),
}
_SET_GID = {
    "index": Remedy("set nccl_ib_gid_index in the config to {better}"),
    "": _step("assign routable addresses to the ports", "show_gids"),
}
_READ = (("", ""), ("_read", " (NCCL reads {text} as {index})"))
_RDMA = {
    "rdma_not_used": {"": CellForm("the config uses no RDMA"), "no_device": CellForm("no RDMA device")},
    "nic_type_unknown": {
        "": CellForm(
            "{nic_type}",
            "nic_type {nic_type} is unknown",
            _fix("set nic_type in the config to one of {known:all_listed}"),
        )
    },
    "rdma_missing": {
        names + suffix: CellForm(
            "{devices} devices", f"{wanted} is not among the node's RDMA devices: {there}", remedies
        )
        for names, wanted in (
            ("named", "{missing:all_listed}"),
            ("of_kind", "a device such as {missing[0]}"),
            ("any", "a device"),
        )
        for suffix, there, remedies in (
            ("", "{there:all_listed}", _LIST_DEVICES),
            ("_of_none", "it has none", _NO_DEVICE),
        )
    },
    "rdma_of_other_kind": {
        "": CellForm(
            "{device}",
            "nic_type {nic_type} means {wanted} devices, but {device} uses {provider}",
            _by_hand("correct nic_type or nccl_ib_hca_list in the config"),
        )
    },
    "rdma_port_down": {
        "": CellForm(
            "{count:count port} down",
            "{ports:ports}",
            {
                "interface": Remedy("ip link set {ports[0][interface]} up"),
                "": _step("check the cable and the switch port", "rdma link"),
            },
            many="ports are down: {each}",
            each="{ports:ports} on {node}",
        )
    },
    "rdma": {"": CellForm("{count} × {provider}, active"), "no_provider": CellForm("{count} × RDMA device, active")},
    "no_roce": {"": CellForm("no RoCE device is used")},
    "gid_fits_nowhere": {
        "": CellForm(
            "no index fits",
            "no GID index is RoCE v2 with a routable address on every device of every node",
            _by_hand("assign routable addresses to the ports", "ip address show {interface}"),
        )
    },
    "gid": {
        "proposed": CellForm("{index} fits (proposed)"),
        **{suffix.lstrip("_"): CellForm(f"{{index}} is RoCE v2{read}") for suffix, read in _READ},
    },
    "gid_missing": {
        suffix.lstrip("_"): CellForm(
            "no index {index}", f"the GID table of {{device}} has no index {{index}}{read}", _SET_GID
        )
        for suffix, read in _READ
    },
    "gid_unfit": {
        suffix.lstrip("_"): CellForm(
            "{type} {address}",
            "GID index {index} of {device} is {type} with {address}; it must be RoCE v2 with a routable address" + read,
            _SET_GID,
        )
        for suffix, read in _READ
    },
    "provider_mounted": {"": CellForm("the node's {library}, mounted")},
    "provider_of_node": {"": CellForm("the node's own")},
    "provider_of_image": {"": CellForm("the image's own")},
    "provider_missing": {
        "": CellForm(
            "missing",
            "libibverbs has no provider library for {provider}",
            {
                "debian": Remedy("apt-get install rdma-core ibverbs-providers"),
                "rhel": Remedy("dnf install rdma-core libibverbs"),
                "": _step("install rdma-core and its providers"),
            },
        )
    },
    "verbs_unusable": {
        "": CellForm(
            "unknown",
            "libibverbs cannot be used: {said}",
            {
                "debian": Remedy("apt-get install rdma-core ibverbs-providers"),
                "rhel": Remedy("dnf install rdma-core libibverbs"),
                "": _step("install rdma-core and its providers"),
            },
        )
    },
    "verbs_silent": {
        "": CellForm(
            "no answer",
            "libibverbs did not answer in time",
            _by_hand(
                "repeat the preflight; if that does not help, reboot the node",
                "dmesg | grep -iE 'rdma|infiniband|mlx5|bnxt'",
            ),
        )
    },
    "abi_not_supported": {
        "": CellForm("ABI mismatch", "{said}", _by_hand("install the kernel driver vendor's user space package"))
    },
    "verbs_devices_missing": {
        "": CellForm(
            "{offered} devices",
            "libibverbs reports {offered} of the {devices} RDMA devices",
            _by_hand("fix the drivers of the other devices", "ibv_devinfo"),
            many="libibverbs does not report all RDMA devices: {each}",
            each="{offered} of {devices} on {node}",
        )
    },
    "library_unusable": {
        "": CellForm(
            "{kind}",
            "{problems:mounts}",
            {
                "prepare": Remedy(
                    "ansible-playbook {playbooks}/node_prep.yml{inventory} "
                    "-e node_prep_rdma_library_path={problems[0][path]}"
                ),
                "": Remedy("{problems:mounts_fixed}"),
            },
        ),
        "unreadable": CellForm(
            "no library", "{path}: {said}", _by_hand("install the vendor's library there", "file {path}")
        ),
        "abi": CellForm(
            "rdmav{abi}",
            "{path} is for libibverbs with rdmav{abi}, but the image's loads rdmav{wanted} and cannot use it",
            _by_hand(
                "install the vendor's library for rdmav{wanted} there, or take an image whose rdma-core has rdmav{abi}"
            ),
        ),
    },
    "abi_not_of_image": {
        "": CellForm(
            "ABI {abi}",
            "the kernel driver of {device} has ABI {abi}, but images support {supported}; they drop the device, and "
            "the training falls back to TCP",
            _fix(
                'add "/usr/local/lib/{library}": "/usr/lib/x86_64-linux-gnu/libibverbs/{library}.host" to volume_dict '
                "in the config"
            ),
        )
    },
}
_TO_ROUTE = _by_hand("give the node a route to {address}", "ip route get {address}")
_NETWORK = {
    "rank_0_unreachable": {"": CellForm("no route", "rank 0 ({address}) is not reachable: {said}", _TO_ROUTE)},
    "interface_missing": {
        "": CellForm(
            "no {interface}",
            "the node has no interface {interface}; it has {there:all_listed}",
            {
                "proposed": Remedy("set {key} in the config to {proposed}"),
                "": _step("set {key} to an interface of the node", "ip -brief address"),
            },
        )
    },
    "interface_down": {
        "": CellForm("{named} down", "the interface {interface} is down", _fix("ip link set {interface} up"))
    },
    "interface_without_address": {
        "": CellForm(
            "{named} bare",
            "the interface {interface} has no address",
            _by_hand("assign an address to {interface}", "ip address show {interface}"),
        )
    },
    "no_interface": {"": CellForm("no interface", "no interface of the node routes to rank 0 ({address})", _TO_ROUTE)},
    "interfaces": {"": CellForm("{interfaces:all_listed}"), "proposed": CellForm("{interfaces[0]} (proposed)")},
    "host_name": {"": CellForm("{addresses:all_listed}"), "unresolved": CellForm("does not resolve")},
    "host_name_loopback": {
        "": CellForm(
            "{address}",
            "the node's own name {name} resolves to a loopback address, so Gloo sends the other nodes to themselves",
            _by_hand("map {name} to {own} instead of {address} in /etc/hosts, or set gloo_socket_ifname in the config"),
            many="the own names of these nodes resolve to a loopback address, so Gloo sends the other nodes to "
            "themselves: {each}",
            each="{name} on {node}",
        ),
        "one_machine": CellForm("{name} resolves to {address}; all nodes are on one machine"),
        "interface": CellForm("{name} resolves to {address}; Gloo uses {interface}"),
    },
    "packets_lost": {
        "": CellForm(
            "{arrives} of {mtu}",
            "{interface} sends packets of {mtu} bytes, but on the way to {address} those above {arrives} are lost: "
            "small messages arrive, and a training hangs at the first large one",
            _by_hand(
                "give the network the MTU {mtu}, or run ip link set {interface} mtu {arrives} on all nodes",
                "tracepath -n {address}",
            ),
            many="packets as large as the interface's MTU are lost on the way to rank 0: {each}",
            each="above {arrives} of {mtu} bytes on {node}",
        )
    },
    "path_not_probed": {"": CellForm("{mtu}; the path to {address} cannot be proved with pings")},
    "port_of_rank_0": {"": CellForm("only rank 0 listens")},
    "port_free": {"": CellForm("{port} is free")},
    "port_taken": {
        "": CellForm(
            "{port} is taken",
            "rendezvous port {port} is not free ({said})",
            _fix("set training_master_port to a free port; to see what uses it: ss -ltnp 'sport = :{port}'"),
        )
    },
    "clock_off": {
        "ahead": CellForm(
            "{seconds:.1f} s ahead",
            "the clock is at least {seconds:.1f} s ahead of {other}'s",
            _fix("timedatectl set-ntp true   # or chronyc makestep"),
            many="clocks are ahead of {other}'s, at least by {each}",
            each="{seconds:.1f} s on {node}",
        ),
        "behind": CellForm(
            "{seconds:.1f} s behind",
            "the clock is at least {seconds:.1f} s behind {other}'s",
            _fix("timedatectl set-ntp true   # or chronyc makestep"),
            many="clocks are behind {other}'s, at least by {each}",
            each="{seconds:.1f} s on {node}",
        ),
    },
    "clock_synchronized": {"": CellForm("synchronized")},
    "clock_not_synchronized": {"": CellForm("correct, but not synchronized (no NTP)")},
}
_STORAGE = {
    "disk": {"": CellForm("{free:gib} free")},
    "disk_unknown": {"": CellForm("no answer", "{path}: {said}", _by_hand("repair the file system", "stat -f {path}"))},
    "disk_read_only": {
        "": CellForm(
            "read-only",
            "{path} cannot be written: this user has no write access to {nearest}",
            _by_hand("give this user write access", "ls -ld {nearest:quoted}"),
        )
    },
    "disk_full": {
        "": CellForm(
            "{free:gib} free",
            "{path} has {free:gib} free, but needs at least {least:gib}",
            _by_hand("free some space", "df -h {nearest:quoted}"),
            many="{path} needs at least {least:gib} free, but has {each}",
            each="{free:gib} on {node}",
        )
    },
    "disk_without_inodes": {
        "": CellForm(
            "{inodes:count inode}",
            "{path} has room for {inodes} more files, but needs at least {least}",
            _by_hand("delete some files", "df -i {nearest:quoted}"),
            many="{path} needs room for at least {least} more files, but has {each}",
            each="{inodes} on {node}",
        )
    },
    "shared_memory": {"": CellForm("{total:gib}")},
    "shared_memory_small": {
        "": CellForm(
            "{total:gib}",
            "the container uses the node's /dev/shm (ipc host), which is {total:gib}, but shm_size asks for "
            "{wanted:gib}",
            _fix("mount -o remount,size={size} /dev/shm   # or lower shm_size in the config"),
            many="the container uses the node's /dev/shm (ipc host), and shm_size asks for {wanted:gib}, but it is "
            "{each}",
            each="{total:gib} on {node}",
        )
    },
    "limits_of_container": {"": CellForm("set for the container")},
    "open_files": {
        "": CellForm(
            "nr_open {allowed}",
            "the container asks for {wanted} open files, but the kernel allows {allowed}",
            _fix("sysctl -w fs.nr_open={wanted}"),
            many="the container asks for {wanted} open files, but the kernel allows {each}",
            each="{allowed} on {node}",
        )
    },
    "memlock": {"": CellForm("memlock unlimited"), "no_rdma": CellForm("memlock {limit:kib}, and no RDMA")},
    "memlock_small": {
        "": CellForm(
            "memlock {limit:kib}",
            "RDMA locks all memory that it uses, but this login may lock only {limit:kib}",
            _fix("ansible-playbook {playbooks}/node_prep.yml{inventory} --tags limits   # then log in again"),
            many="RDMA locks all memory that it uses, but this login may lock only {each}",
            each="{limit:kib} on {node}",
        )
    },
    "mounts": {"": CellForm("{count} present")},
    "mounts_missing": {"": CellForm("{count} missing", "{problems:mounts}", _fix("{problems:mounts_fixed}"))},
    "no_token": {"": CellForm("the config has no token file")},
    "token": {"": CellForm("there")},
    "token_missing": {
        "": CellForm("{path} is missing here, so without a copy on the controller the run has no Hugging Face token")
    },
    "no_cache": {"": CellForm("the plan has no data cache")},
    "cache": {"": CellForm("shared")},
    "cache_in_container": {
        "": CellForm(
            "in the container",
            "data_cache_dir {inside} is not on a mount, so every node's container has its own",
            _by_hand("add a folder that all nodes share to volume_dict in the config, mounted at {inside}"),
        )
    },
    "cache_unverified": {"": CellForm("not verified: rank 0 could not create a file there")},
    "cache_not_shared": {
        "": CellForm(
            "not shared",
            "the file that {first} left in {folder} is missing here ({here} here, {there} on {first}); nodes would "
            "wait for an index that never appears",
            _by_hand("mount the same file system at {folder}, or choose another data_cache_dir", "findmnt -T {folder}"),
        )
    },
}
_CONTAINER = {
    "engine": {"": CellForm("{engine} {version}")},
    "engine_of_job": {"": CellForm("{engine} starts the container with the ranks")},
    "engine_missing": {
        "": CellForm(
            "missing",
            "{engine} is not installed",
            {
                "docker on debian": Remedy("apt-get install docker.io"),
                "podman on debian": Remedy("apt-get install podman"),
                "podman on rhel": Remedy("dnf install podman"),
                "": _step("install {engine}"),
            },
        )
    },
    "engine_fails": {
        "": CellForm(
            "no answer",
            "{said}",
            {"docker": Remedy("systemctl restart docker"), "": _step("fix {engine}", "{engine} info")},
        )
    },
    "script_missing": {
        "": CellForm(
            "no script",
            "the training script {script} does not exist",
            _fix("set training_{framework}_root to the trainer's checkout on the nodes"),
        )
    },
    "image": {"": CellForm("{image_id:.19}")},
    "image_at_start": {"": CellForm("fetched when the ranks start")},
    "image_to_fetch": {"": CellForm("not on the node yet; staging the run fetches it")},
    "image_to_load": {"": CellForm("not loaded yet; its archive is on the node")},
    "image_name_short": {
        "": CellForm(
            "short name",
            SENTENCES["image_name_short"],
            _by_hand(_as_step(FULL_IMAGE_NAME), "podman info"),
        )
    },
    "image_archive_missing": {
        "": CellForm(
            "no archive",
            "the node has neither the image {image} nor its archive {archive}",
            _by_hand("copy the archive to the node, or omit training_image_archive so that the image is pulled"),
        )
    },
    "image_missing": {
        "": CellForm(
            "missing",
            "the image {image} is not on the node, and no registry has it",
            _fix("{engine} load --input IMAGE.tar"),
        )
    },
}


def _setting(found: str, what: str, costs: str, asked_by: str, remedies: Mapping[str, Remedy]) -> dict[str, CellForm]:
    """Return the texts of a setting that costs speed, with its cost and its source."""
    return {"": CellForm(found, f"{what}: {costs} ({asked_by})", remedies)}


_SETTINGS = {
    "setting_not_used": {
        "": CellForm("does not apply"),
        "no_gpu": CellForm("no GPU"),
        "virtual_machine": CellForm("a virtual machine; the host decides"),
        "no_instinct": CellForm("no Instinct MI300 or later"),
        "no_nvidia_rdma": CellForm("no NVIDIA GPUs with RDMA"),
        "no_shared_network": CellForm("no two adapters in one network"),
        "no_slurmd": CellForm("no slurmd"),
    },
    "setting_unreadable": {"": CellForm("cannot be read"), "root": CellForm("only root can read it")},
    "acs_off": {"": CellForm("off")},
    "acs_on": _setting(
        "on",
        "PCIe ACS is on at {count:count bridge} above GPUs and adapters",
        "what passes between them goes through the processor",
        "NCCL, GPU Direct; AMD, single-node network configuration",
        _fix(
            "ansible-playbook {playbooks}/node_prep.yml{inventory} --tags acs -e node_prep_pcie_acs_off=true"
            "   # refused where the machine hands devices to guests; or turn it off in the BIOS"
        ),
    ),
    "iommu_off": {"": CellForm("off")},
    "iommu_passes_through": {"": CellForm("passes through")},
    "iommu_translates": _setting(
        "{kind}",
        "the IOMMU translates the addresses of GPUs and adapters ({kind})",
        "transfers between them are slow, or hang",
        "AMD, kernel parameters; NCCL, GPU Direct",
        _by_hand("add iommu=pt to the kernel's command line and reboot", "cat /proc/cmdline"),
    ),
    "boot_parameters": {"": CellForm("as AMD requires")},
    "boot_parameters_missing": _setting(
        "no {missing[0]}",
        "the kernel's command line lacks {missing:and}",
        "the memory of GPUs can be missing on the bus, and devices come in another order",
        "AMD, kernel parameters",
        _by_hand("add {missing:and} to the kernel's command line and reboot", "cat /proc/cmdline"),
    ),
    "pcie_full": {"": CellForm("full speed and width")},
    "pcie_weak": _setting(
        "{count:count link} weak",
        "{links:pcie_links}",
        "transfers over PCIe take longer",
        "AMD, health checks",
        _by_hand("reseat the device, and check slot, riser and BIOS", "lspci -vv -s {links[0][address]}"),
    ),
    "peer_memory": {"": CellForm("nvidia-peermem"), "dma_buf": CellForm("dma-buf")},
    "peer_memory_missing": _setting(
        "missing",
        "nvidia-peermem is not loaded, and the driver is not the open one with dma-buf",
        "each RDMA transfer goes through the node's memory",
        "NCCL, GPU Direct RDMA",
        _fix("ansible-playbook {playbooks}/node_prep.yml{inventory} --tags peer"),
    ),
    "rails": {"": CellForm("{interfaces:all_listed}")},
    "rails_mixed": _setting(
        "{settings:joined}",
        "{interfaces:all_listed} are in one network, and {settings:all_listed} let one answer for the other",
        "connections fail, or all go over one adapter",
        "AMD, NIC installation",
        _fix("ansible-playbook {playbooks}/node_prep.yml{inventory} --tags rails"),
    ),
    "cpu": {"": CellForm("performance")},
    "cpu_slowed": _setting(
        "{governor}",
        "the frequency governor of processors is {governor}",
        "kernels start late while a processor speeds up",
        "Linux, CPU performance scaling",
        _fix("ansible-playbook {playbooks}/node_prep.yml{inventory} --tags cpu"),
    ),
    "cpu_sleeps": _setting(
        "C2 on",
        "processors may sleep in C2",
        "they wake up late, which delays kernels and packets",
        "AMD, OS tuning",
        _fix("ansible-playbook {playbooks}/node_prep.yml{inventory} --tags cpu -e node_prep_cpu_c2_off=true"),
    ),
    "dscp_unknown": {
        "": CellForm("the config sets no traffic class"),
        "adapter": CellForm("neither the adapter's driver nor its tool shows its DSCP"),
    },
    "dscp": {"": CellForm("{dscp}")},
    "dscp_differs": _setting(
        "{dscp}, not {wanted}",
        "nccl_ib_tc {traffic_class} marks packets with DSCP {wanted}, but {device} and its lossless class have {dscp}",
        "RoCE goes without flow control and loses packets",
        "AMD, RoCE network configuration",
        _by_hand("set nccl_ib_tc in the config to four times the DSCP of the switches' lossless class"),
    ),
    "roce_lossy": {
        "pfc": CellForm(
            "no PFC",
            "{device} gives DSCP {dscp} of nccl_ib_tc the priority {priority}, which has no priority flow control: a "
            "full switch drops RoCE's packets, and they are sent again (AMD, RoCE network configuration)",
            {
                "": _step(
                    "turn PFC on for the priority of DSCP {dscp}, on adapters and switches",
                    "dcb pfc show dev INTERFACE",
                ),
                "other": _step(
                    "set nccl_ib_tc in the config to {traffic_class}, if DSCP {lossless} is lossless on the switches "
                    "as on the adapter; or turn PFC on for the priority of DSCP {dscp}, on adapters and switches",
                    "dcb pfc show dev INTERFACE",
                ),
            },
        ),
        "ecn": CellForm(
            "no DCQCN",
            "{device} gives DSCP {dscp} of nccl_ib_tc the priority {priority}, which has no congestion control: one "
            "slow receiver can stop the senders of others (AMD, RoCE network configuration)",
            _by_hand("turn DCQCN on for the priority of DSCP {dscp}, on adapters and switches"),
        ),
    },
    "ordering_strict": _setting(
        "strict ordering",
        "{count:count adapter} ({devices:all_listed}) may not reorder transfers over PCIe",
        "transfers to GPUs and memory wait for each other",
        "AMD, NIC installation",
        _by_hand(
            "turn relaxed ordering on in the BIOS and the adapter (niccli, or PCI_WR_ORDERING of mlxconfig)",
            "lspci -vv -s {address} | grep RlxdOrd",
        ),
    ),
    "firmware_waits": _setting(
        "{setting} waits",
        "{setting} of {device} was set to {next}, but is still {now}",
        "the firmware takes a setting at the next boot, and until then the node's speed can differ",
        "NVIDIA, mlxconfig",
        _by_hand("reboot the node", "mlxconfig -d {address} -e q"),
    ),
    "port_not_reserved": _setting(
        "{port} not reserved",
        "rendezvous port {port} is one of those ({first} to {last}) that the kernel gives to any connection",
        "a training fails to start when another connection has it",
        "AWS, train_setup.sh",
        _fix("sysctl -w net.ipv4.ip_local_reserved_ports={reserved}   # and in /etc/sysctl.d, to keep it"),
    ),
    "slurmd_memlock": {"": CellForm("memlock unlimited")},
    "slurmd_memlock_small": _setting(
        "memlock {limit:kib}",
        "slurmd may lock only {limit:kib}, and its jobs inherit that",
        "RDMA fails in jobs of Slurm",
        "Slurm, FAQ on memory lock",
        _fix(
            "ansible-playbook {playbooks}/node_prep.yml{inventory} --tags limits"
            "   # then systemctl restart slurmd on the node"
        ),
    ),
    "memory": {"": CellForm("{total:gib}")},
    "memory_small": _setting(
        "{total:gib}",
        "the node has {total:gib} of memory, its GPUs {of_gpus:gib}",
        "checkpoints and offloading can exhaust it",
        "AMD, health checks",
        _by_hand("look for failed memory modules", "dmidecode -t memory"),
    ),
}
_FIND_OUT = "find out why this node does not have {most:properties}"
_POWER = {
    "power_cap": Remedy("nvidia-smi --power-limit={most[power_cap_watts][0]}"),
    "amd": _step(_FIND_OUT, "amd-smi static --limit"),
    "nvidia": _step(_FIND_OUT, "nvidia-smi -q -d POWER,CLOCK"),
    "": _step(_FIND_OUT, "lspci"),
}
# Properties that all nodes should share: by name, the words, and the remedy for a node that differs.
_PROPERTIES = {
    "gpus": ("GPUs:", _POWER),
    "gpu_limits": ("GPU limits:", _POWER),
    "rdma": ("RDMA devices:", _by_hand(_FIND_OUT, "rdma link; lspci | grep -i eth")),
    "driver": ("driver", _by_hand("install {most:properties}")),
    "firmware": ("firmware", _by_hand("update the firmware to {most:properties}")),
    "mtu": (
        "MTU",
        {
            "rdma": Remedy("ip link set {interface} mtu {most[rdma_mtu][0]}"),
            "": Remedy("ip link set {interface} mtu {most[socket_mtu][0]}"),
        },
    ),
    "image": ("image", _fix("{engine} pull {image}   # the other nodes have {most[image][0]:.19}")),
    "kernel": (
        "kernel and system:",
        {
            "debian": Remedy("apt-get install linux-image-{most[kernel][0]} && reboot"),
            "rhel": Remedy("dnf install kernel-{most[kernel][0]} && reboot"),
            "system": _step("install {most:properties}"),
            "": _step("install kernel {most[kernel][0]} and reboot"),
        },
    ),
}
_ALIKE = {
    code: form
    for name, (what, remedies) in _PROPERTIES.items()
    for code, form in {
        f"{name}_alike": {"": CellForm("{here:properties}")},
        f"{name}_differs": {
            "": CellForm(
                "{here:properties}",
                f"{what} {{here:properties}} here, {{most:properties}} on {{nodes}} of {{nodes_judged}} nodes",
                remedies,
                many=f"{what} {{most:properties}} on {{nodes}} of {{nodes_judged}} nodes, but {{each}}",
                each="{here:properties} on {node}",
            ),
            "no_majority": CellForm(
                "{here:properties}",
                f"{what} {{here:properties}} here; {{values}} different values on {{nodes_judged}} nodes, none with a "
                "majority",
                _by_hand("choose one value and bring all nodes to it"),
                many=f"{what} {{values}} different values on {{nodes_judged}} nodes, none with a majority: {{each}}",
                each="{here:properties} on {node}",
            ),
        },
    }.items()
}

CELLS: t.Final[dict[str, dict[str, CellForm]]] = {
    **_REACHED,
    **_NOT_JUDGED,
    **_PROCESSORS,
    **_RDMA,
    **_NETWORK,
    **_STORAGE,
    **_CONTAINER,
    **_SETTINGS,
    **_ALIKE,
}
# The reasons of red cells, for `folding`.
REASONS: t.Final[dict[str, dict[str, Form]]] = {
    code: {case: Form(form.reason, form.many, form.each) for case, form in cases.items()}
    for code, cases in CELLS.items()
}


def cell_in_words(
    code: str, case: str, values: Mapping[str, t.Any], remedy: str = "", call: Call = SOME_CALL, node: str = "HOST"
) -> tuple[str, str, str]:
    """Return the node's state and, if the cell is red, why that is wrong and what to do about it.

    ``remedy`` selects one of the remedies of the form; if the form has no such remedy, the general one is used.
    ``call`` and ``node``, the node's name, complete the commands in it.
    """
    form = CELLS[code][case]
    known = form.remedies.get(remedy) or form.remedies.get("")
    return (
        filled(form.found, values),
        filled(form.reason, values),
        _remedy_in_words(known, {**call, "node": node, **values}) if known else "",
    )


def _remedy_in_words(remedy: Remedy, values: Mapping[str, t.Any]) -> str:
    step = "manual step: " if remedy.is_by_hand else ""
    check = f"; to check: {remedy.shown_by}" if remedy.shown_by else ""
    return filled(f"{step}{remedy.text}{check}", values)
