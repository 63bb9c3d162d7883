# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel messages about a node's devices, with the meaning that the makers give: a table, a row per fact.

``fail`` ended a rank, or takes the node out of service according to the maker's own document; ``note`` was contained,
corrected or recovered. ``ended_by`` lists facts that show, if reported later for the same device, that it recovered.
Only the kernel's own records are read here; text that other programs write to a log is no evidence about a machine.

Sources: [xid] NVIDIA, Xid Errors, "Analyzing Xid Errors with the Xid Catalog", column "Resolution Bucket (Immediate
Action)"; [nvswitch] NVIDIA Fabric Manager User Guide, "NVSwitch SXid Errors"; [memory] NVIDIA GPU Memory Error
Management; [ras] Linux, Documentation/gpu/amdgpu/ras.rst, and drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c; others are named
as files of Linux.
"""

from __future__ import annotations

import re
import typing as t
from functools import lru_cache

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .contracts import MachineFact

# How much of a line is sent at most, and how many facts: those that fail come first.
_CHARACTERS = 300
_MOST = 40
_NO_DEVICE = ""
_DEVICE = re.compile(r"\b(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?\b|\b(?:mlx5|bnxt_re|ionic|nvme)_?\d+\b")


class Row(t.NamedTuple):
    """A fact: its name, its effect, its meaning in words, the kernel's pattern, the source, and a line that matches."""

    name: str
    effect: str
    means: str
    pattern: str
    source: str
    sample: str
    ended_by: t.Tuple[str, ...] = ()


# Xids of the catalog for which no real log was found.
_NO_LOG = frozenset({46, 92, 110, 121, 136, 140, 143, 158})


def _xid(number: int, effect: str, means: str, said: str, *ended_by: str) -> Row:
    pattern = rf"NVRM: Xid \([^)]*\): {number}\b"
    sample = f"NVRM: Xid (PCI:0000:3b:00): {number}, {said}"
    source = "[xid]; the line has its words, because no log was found" if number in _NO_LOG else "[xid]"
    return Row(f"xid_{number}", effect, f"{means} (Xid {number})", pattern, source, sample, ended_by)


_AMD = r"amdgpu [^ ]+: (?:amdgpu: )?(?:\{\d+\})?"
_AMD_SAMPLE = "amdgpu 0000:c5:00.0: amdgpu: "
_RESET_DONE = ("amd_reset_done",)
_AER = r"(?:PCIe Bus Error: severity=|AER: (?:Multiple )?)"

ROWS: t.Tuple[Row, ...] = (
    _xid(13, "note", "a program's kernel failed on the GPU", "pid=411, name=python3, Graphics SM Warp Exception"),
    _xid(31, "note", "a program accessed GPU memory that it does not own", "pid=411, MMU Fault: ENGINE GRAPHICS"),
    _xid(43, "note", "a program's channel was reset", "pid=411, name=python3, channel 0x00000008"),
    _xid(45, "note", "a program's channel was removed, after another error or a kill", "pid=411, Ch 00000008"),
    _xid(46, "fail", "the GPU stopped processing and has to be reset", "pid=411, GPU stopped processing"),
    _xid(
        48,
        "fail",
        "uncorrectable ECC error; the GPU has to be reset",
        "pid=411, An uncorrectable double bit error (DBE) has been detected on GPU",
        "xid_94",
    ),
    _xid(
        62,
        "fail",
        "a microcontroller of the GPU halted; the GPU has to be reset",
        "pid=411, 0c83(1870) 00000000 00000000",
    ),
    _xid(63, "note", "a failed memory row was marked for remapping", "pid=411, Row Remapper: New row marked for remap"),
    _xid(
        64,
        "fail",
        "a failed memory row could not be remapped",
        "pid=411, Row Remapper Error: (0x2eebc4100) - All reserved rows are remapped",
    ),
    _xid(
        74,
        "fail",
        "NVLink error; the GPU has to be reset",
        "pid=411, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0)",
    ),
    _xid(79, "fail", "the GPU has fallen off the bus; the node has to be rebooted", "GPU has fallen off the bus."),
    _xid(92, "note", "many corrected ECC errors", "pid=411, High single-bit ECC error rate"),
    _xid(94, "note", "an uncorrectable memory error was contained", "pid=411, Contained: CE User Channel. RST: No"),
    _xid(95, "fail", "an uncorrectable memory error was not contained", "pid=411, Uncontained: FBHUB. RST: Yes"),
    _xid(
        109,
        "fail",
        "a context switch timed out; the GPU has to be reset",
        "pid=411, Ch 00000008, errorString CTX SWITCH TIMEOUT",
    ),
    _xid(110, "fail", "security fault; the GPU has to be reset", "pid=411, SEC_FAULT_ERROR"),
    _xid(
        119, "fail", "the GPU's system processor did not answer; reset the GPU", "pid=411, Timeout after 6s of waiting"
    ),
    _xid(
        120,
        "fail",
        "the GPU's system processor failed; reset the GPU",
        "pid=411, GSP task exception: load access fault",
    ),
    _xid(121, "note", "corrected errors on the link to the CPU", "C2C Link corrected error"),
    _xid(136, "fail", "an NVLink could not be trained; the GPU has to be reset", "NVLink: link training failed"),
    _xid(140, "fail", "an uncorrectable ECC error was not handled; reset the GPU", "pid=411, Unrecovered ECC error"),
    _xid(143, "fail", "the GPU could not be initialized", "GPU initialization error"),
    _xid(158, "fail", "fatal timeout of the GPU; the GPU has to be reset", "pid=411, GPU fatal timeout"),
    Row(
        "xid_nvlink_fatal",
        "fail",
        "fatal NVLink error (Xid 144 to 150); the GPU has to be reset",
        r"NVRM: Xid \([^)]*\): 1(?:4[4-9]|50), .*(?<!Non-)\bFatal\b",
        "[xid], table of the Xids 144 to 150",
        "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 12 (0x00000c42 0x00000000)",
    ),
    Row(
        "xid_154_out",
        "fail",
        "the driver asks to reset the GPU or reboot the node (Xid 154)",
        r"NVRM: Xid \([^)]*\): 154, .* to 0x\w+ \((?:GPU Reset Required|Node Reboot Required|Drain and Reset)\)",
        "[xid], Xid 154",
        "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
    ),
    Row(
        "xid_other",
        "note",
        "the GPU driver reported an event (Xid)",
        r"NVRM: Xid \([^)]*\): \d+",
        "[xid]",
        "NVRM: Xid (PCI:0000:3b:00): 137, pid=411, NVLink Privilege Error",
    ),
    Row(
        "nvidia_off_bus",
        "fail",
        "the GPU has fallen off the bus; the node has to be rebooted",
        r"NVRM: .*GPU.* has fallen off the bus",
        "[xid], Xid 79",
        "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
    ),
    Row(
        "nvswitch_fatal",
        "fail",
        "fatal error of an NVSwitch; the GPUs behind it have to be reset",
        r"SXid \([^)]*\): \d+, Fatal",
        "[nvswitch]",
        "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
    ),
    Row(
        "nvswitch",
        "note",
        "an NVSwitch reported an error that is not fatal",
        r"SXid \([^)]*\): \d+",
        "[nvswitch]",
        "nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
    ),
    Row(
        "amd_off_bus",
        "fail",
        "the GPU has fallen off the bus",
        _AMD + r"device lost from bus",
        "Linux, drivers/gpu/drm/amd/amdgpu/amdgpu_device.c",
        _AMD_SAMPLE + "device lost from bus!",
    ),
    Row(
        "amd_fatal_error",
        "fail",
        "fatal hardware error of the GPU",
        _AMD + r"uncorrectable hardware error ?\(ERREVENT_ATHUB_INTERRUPT\) detected",
        "[ras], amdgpu_ras_global_ras_isr",
        _AMD_SAMPLE + "uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        _RESET_DONE,
    ),
    Row(
        "amd_poison_consumed",
        "fail",
        "the GPU used data with an uncorrectable error, and had to be reset",
        _AMD + r"(?:RAS )?[Pp]oison (?:is consumed by client \d+, kick off|consumption, fall back to) gpu reset",
        "[ras]; Linux, drivers/gpu/drm/amd/amdkfd/kfd_int_process_v9.c",
        _AMD_SAMPLE + "RAS poison consumption, fall back to gpu reset flow: client id 27",
        _RESET_DONE,
    ),
    Row(
        "amd_poison_contained",
        "note",
        "a program used data with an uncorrectable error; its queue was removed",
        _AMD + r"RAS poison consumption, unmap queue flow succeeded",
        "[ras]; Linux, drivers/gpu/drm/amd/amdkfd/kfd_int_process_v9.c",
        _AMD_SAMPLE + "RAS poison consumption, unmap queue flow succeeded: client id 27",
    ),
    Row(
        "amd_memory_ue",
        "note",
        "uncorrectable ECC errors in GPU memory; the pages are retired",
        _AMD + r".*\d+ (?:new )?uncorrectable hardware errors? detected in (?:total in )?umc block",
        "[ras]: memory errors are poison, which is contained until it is used",
        _AMD_SAMPLE + "socket: 0, die: 0 2 uncorrectable hardware errors detected in umc block",
    ),
    Row(
        "amd_ue",
        "fail",
        "uncorrectable hardware errors in the GPU",
        _AMD + r".*[1-9]\d* (?:new )?uncorrectable hardware errors? detected",
        "[ras], RAS Reboot Behavior for Unrecoverable Errors",
        _AMD_SAMPLE + "socket: 0, die: 0 1 uncorrectable hardware errors detected in gfx block",
        _RESET_DONE,
    ),
    Row(
        "amd_ce",
        "note",
        "corrected hardware errors in the GPU",
        _AMD + r".*[1-9]\d* (?:new )?correctable hardware errors? detected",
        "[ras]",
        _AMD_SAMPLE + "{3}socket: 0, die: 0, 1 new correctable hardware errors detected in umc block",
    ),
    Row(
        "amd_bad_pages",
        "fail",
        "too many bad memory pages; the GPU has to be replaced",
        _AMD + r"(?:RAS records:? ?\d+ exceed threshold|GPU will not be initialized due to bad page threshold)",
        "[ras], RAS EEPROM: the threshold of bad pages",
        _AMD_SAMPLE + "RAS records:257 exceed threshold:256, GPU will not be initialized. Replace this GPU",
    ),
    Row(
        "amd_reset",
        "fail",
        "the GPU hung and was not reset successfully",
        _AMD + r"GPU reset begin",
        "Linux, drivers/gpu/drm/amd/amdgpu/amdgpu_device.c: amdgpu_device_gpu_recover",
        _AMD_SAMPLE + "GPU reset begin!",
        _RESET_DONE,
    ),
    Row(
        "amd_reset_done",
        "note",
        "the GPU was reset successfully",
        _AMD + r"GPU reset(?:\(\d+\))? succeeded",
        "Linux, drivers/gpu/drm/amd/amdgpu/amdgpu_device.c",
        _AMD_SAMPLE + "GPU reset(3) succeeded!",
    ),
    Row(
        "amd_thermal",
        "note",
        "the GPU was slowed down by its temperature",
        _AMD + r"WARN: GPU thermal throttling temperature reached",
        "Linux, drivers/gpu/drm/amd/pm/swsmu: smu_cmn throttling",
        _AMD_SAMPLE + "WARN: GPU thermal throttling temperature reached, expect performance decrease. SOC.",
    ),
    Row(
        "memory_failed",
        "fail",
        "uncorrectable error of the host's memory, which the kernel could not contain",
        r"Memory failure: 0x\w+: .*: (?:Failed|Ignored)",
        "Linux, mm/memory-failure.c",
        "Memory failure: 0x7fe2a: recovery action for dirty LRU page: Failed",
    ),
    Row(
        "memory_contained",
        "note",
        "uncorrectable error of the host's memory; the kernel retired the page",
        r"Memory failure: 0x\w+: .*: (?:Recovered|Delayed)",
        "Linux, mm/memory-failure.c",
        "Memory failure: 0x7fe2a: recovery action for clean LRU page: Recovered",
    ),
    Row(
        "edac_ue",
        "fail",
        "uncorrectable error of the host's memory",
        r"EDAC MC\d+: \d+ UE ",
        "Linux, Documentation/admin-guide/RAS/main.rst: uncorrected errors",
        "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x7fe2a)",
        ("memory_contained",),
    ),
    Row(
        "edac_ce",
        "note",
        "corrected errors of the host's memory",
        r"EDAC MC\d+: \d+ CE ",
        "Linux, Documentation/admin-guide/RAS/main.rst: corrected errors",
        "EDAC MC0: 3 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x7fe2a)",
    ),
    Row(
        "ghes_fatal",
        "fail",
        "the firmware reports a fatal hardware error",
        r"\[Hardware Error\]: event severity: fatal",
        "Linux, drivers/firmware/efi/cper.c",
        "{1}[Hardware Error]: event severity: fatal",
    ),
    Row(
        "ghes",
        "note",
        "the firmware reports a hardware error that was corrected or recovered",
        r"\[Hardware Error\]: event severity: (?:corrected|recoverable)",
        "Linux, drivers/firmware/efi/cper.c",
        "{2}[Hardware Error]: event severity: corrected",
    ),
    Row(
        "machine_check",
        "note",
        "the processors logged machine checks",
        r"mce: \[Hardware Error\]: Machine check events logged",
        "Linux, arch/x86/kernel/cpu/mce/core.c",
        "mce: [Hardware Error]: Machine check events logged",
    ),
    Row(
        "pcie_fatal",
        "fail",
        "fatal PCIe error",
        _AER + r"Uncorrect(?:ed|able) \(Fatal\)",
        "Linux, Documentation/PCI/pcieaer-howto.rst",
        "pcieport 0000:3a:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer",
        ("pcie_recovered",),
    ),
    Row(
        "pcie_lost",
        "fail",
        "a PCIe device did not recover from an error",
        r"AER: (?:device recovery failed|can't recover)",
        "Linux, Documentation/PCI/pcieaer-howto.rst",
        "pcieport 0000:3a:00.0: AER: device recovery failed",
    ),
    Row(
        "pcie_recovered",
        "note",
        "a PCIe device recovered from an error",
        r"AER: device recovery successful",
        "Linux, Documentation/PCI/pcieaer-howto.rst",
        "pcieport 0000:3a:00.0: AER: device recovery successful",
    ),
    Row(
        "pcie_error",
        "note",
        "PCIe errors that were corrected, or were not fatal",
        _AER + r"(?:Correct(?:ed|able)|Uncorrect(?:ed|able) \(Non-Fatal\))",
        "Linux, Documentation/PCI/pcieaer-howto.rst",
        "nvme 0000:81:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)",
    ),
    Row(
        "pcie_gone",
        "fail",
        "a PCIe device is gone",
        r"pciehp: Slot\([^)]*\): (?:Link Down|Card not present)",
        "Linux, drivers/pci/hotplug/pciehp_ctrl.c",
        "pcieport 0000:3a:00.0: pciehp: Slot(7): Link Down",
        ("pcie_back",),
    ),
    Row(
        "pcie_back",
        "note",
        "a PCIe device came back",
        r"pciehp: Slot\([^)]*\): Link Up",
        "Linux, drivers/pci/hotplug/pciehp_ctrl.c",
        "pcieport 0000:3a:00.0: pciehp: Slot(7): Link Up",
    ),
    Row(
        "oops",
        "fail",
        "the kernel failed; the node has to be rebooted",
        r"BUG: unable to handle|kernel BUG at |general protection fault, .*\[#\d+\]|\bOops: ",
        "Linux, Documentation/admin-guide/tainted-kernels.rst: D",
        "BUG: unable to handle page fault for address: ffffb0c5c8a3f000",
    ),
    Row(
        "lockup",
        "note",
        "a processor was stuck in the kernel",
        r"BUG: soft lockup|detected hard LOCKUP|detected (?:expedited )?stalls? on CPU|self-detected stall on CPU",
        "Linux, Documentation/admin-guide/lockup-watchdogs.rst",
        "watchdog: BUG: soft lockup - CPU#7 stuck for 26s! [python3:77]",
    ),
    Row(
        "hung_task",
        "note",
        "a process hung in the kernel",
        r"INFO: task \S+ blocked for more than",
        "Linux, kernel/hung_task.c",
        "INFO: task python3:77 blocked for more than 122 seconds.",
    ),
    Row(
        "memory_kill",
        "note",
        "the kernel killed a process because memory ran out",
        r"[Oo]ut of memory: Killed process",
        "Linux, mm/oom_kill.c",
        "Memory cgroup out of memory: Killed process 4711 (python3) total-vm:1kB",
    ),
    Row(
        "cpu_thermal",
        "note",
        "processors were slowed down by their temperature",
        r"temperature above threshold, cpu clock (?:is )?throttled",
        "Linux, drivers/thermal/intel/therm_throt.c",
        "mce: CPU12: Package temperature above threshold, cpu clock is throttled (total events = 3)",
    ),
    Row(
        "file_system_down",
        "fail",
        "a file system was shut down or became read-only",
        r"[Rr]emounting filesystem read-only|XFS \([^)]+\): .*(?:[Ss]hutting down|has been shut down)",
        "Linux, Documentation/admin-guide/ext4.rst: errors=remount-ro; Documentation/admin-guide/xfs.rst",
        "EXT4-fs (nvme0n1p2): Remounting filesystem read-only",
    ),
    Row(
        "disk_gone",
        "fail",
        "an NVMe disk is gone",
        r"nvme\d+: (?:Removing after probe failure|Disabling device after reset failure|Device not ready; aborting)",
        "Linux, drivers/nvme/host/pci.c",
        "nvme nvme0: Disabling device after reset failure: -19",
    ),
    Row(
        "disk_error",
        "note",
        "a disk reported errors",
        r"(?:I/O|critical \w+) error, dev |nvme\d+: controller is down; will reset",
        "Linux, block/blk-core.c; drivers/nvme/host/pci.c",
        "critical medium error, dev nvme0n1, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1",
    ),
    Row(
        "file_server",
        "note",
        "a file server did not answer",
        r"nfs: server \S+ (?:not responding|timed out)",
        "Linux, net/sunrpc/clnt.c",
        "nfs: server filer1 not responding, still trying",
    ),
    Row(
        "adapter_failed",
        "fail",
        "the network adapter's firmware failed",
        r"mlx5_core .*device's health compromised - reached miss count",
        "Linux, drivers/net/ethernet/mellanox/mlx5/core/health.c",
        "mlx5_core 0000:0c:00.0: poll_health:843:(pid 0): device's health compromised - reached miss count",
        ("adapter_recovered",),
    ),
    Row(
        "adapter_recovered",
        "note",
        "the network adapter recovered",
        r"mlx5_core .*health recovery succeeded",
        "Linux, drivers/net/ethernet/mellanox/mlx5/core/health.c",
        "mlx5_core 0000:0c:00.0: mlx5_health_try_recover:335:(pid 9): health recovery succeeded",
    ),
    Row(
        "module_error",
        "note",
        "the module or cable of a network port reported an error",
        r"Port module event\[error\]|Port module event: module \d+, Cable (?:unplugged|error)",
        "Linux, drivers/net/ethernet/mellanox/mlx5/core/events.c",
        "mlx5_core 0000:0c:00.0: Port module event[error]: module 0, Cable error, High Temperature",
    ),
    Row(
        "link_down",
        "note",
        "the link of a network adapter went down",
        r"(?:mlx5_core|bnxt_en|ionic) [^ ]+ \S*: ?(?:NIC )?Link (?:is )?[Dd]own",
        "Linux, drivers/net/ethernet: bnxt, mlx5, ionic",
        "bnxt_en 0000:c1:00.0 ens1np0: NIC Link is Down",
    ),
)
ROW_OF = {row.name: row for row in ROWS}


def row_in(message: str) -> Row | None:
    """Return the row that a message of the kernel belongs to, the first one in the table, or None."""
    if not _any_row().search(message):
        return None
    return next((row for row in ROWS if re.search(row.pattern, message)), None)


@lru_cache(maxsize=None)
def _any_row() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{row.pattern})" for row in ROWS))


def facts_in(records: Iterable[tuple[float, str]]) -> list[MachineFact]:
    """Return the facts about the machine in kernel records, each with its seconds since the start.

    A fact has its name (``fact``), the ``device`` (empty if unknown), the first ``line``, the number of reports
    (``count``), the time of the first (``seconds`` since the start), and whether the device had ``recovered`` by the
    end. Facts that fail come first.
    """
    found: dict[tuple[str, str], MachineFact] = {}
    last: dict[tuple[str, str], int] = {}
    for place, (seconds, message) in enumerate(records):
        row = row_in(message)
        if row is None:
            continue
        key = (row.name, _device(message))
        new: MachineFact = {
            "fact": row.name,
            "device": key[1],
            "line": message[:_CHARACTERS],
            "count": 0,
            "seconds": round(seconds, 1),
            "recovered": False,
        }
        found.setdefault(key, new)["count"] += 1
        last[key] = place
    for (name, device), fact in found.items():
        ends = [last[key] for key in _ends_of(name, device) if key in last]
        fact["recovered"] = bool(ends) and max(ends) > last[name, device]
    facts = sorted(found.values(), key=lambda fact: (not is_failure(fact), fact["seconds"]))
    return facts[:_MOST]


def is_failure(fact: MachineFact) -> bool:
    """Return whether a fact takes the node out of service, so that no run on it passes."""
    return ROW_OF[fact["fact"]].effect == "fail" and not fact["recovered"]


def _ends_of(name: str, device: str) -> Iterator[tuple[str, str]]:
    """Yield the facts that would end a fact of a device; some kernels do not mention the device in these."""
    for end in ROW_OF[name].ended_by:
        yield end, device
        yield end, _NO_DEVICE


def _device(message: str) -> str:
    named = _DEVICE.search(message)
    return named.group() if named else _NO_DEVICE
