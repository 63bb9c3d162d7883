# SPDX-License-Identifier: GPL-3.0-or-later
"""What vendors' tools print about adapters, in the shape of real outputs; addresses and numbers are examples.

AMD's Node Scraper has such outputs of niccli and nicctl, and NVIDIA's documentation of MFT those of mlxconfig.
"""

from __future__ import annotations

from pathlib import Path

NICCLI_DEVICES = """\
1 ) Broadcom BCM57608 1x400G QSFP-DD PCIe Ethernet NIC (Adp#1 Port#1)
     Device Interface Name     : ens1np0
     MAC Address               : 02:00:00:00:00:01
     PCI Address               : 0000:01:00.0

2 ) Broadcom BCM57608 1x400G QSFP-DD PCIe Ethernet NIC (Adp#2 Port#1)
     Device Interface Name     : ens2np0
     MAC Address               : 02:00:00:00:00:02
     PCI Address               : 0000:02:00.0
"""
NICCLI_LIST = """\

  1) BCM57608  02:00:00:00:00:01  235.2.40.0  0000:01:00.0  NIC  PCI
  2) BCM57608  02:00:00:00:00:02  235.2.40.0  0000:02:00.0  NIC  PCI
"""
NICCLI_QOS = """\
IEEE 8021QAZ ETS Configuration TLV:
         PRIO_MAP: 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2
         TC Bandwidth: 50% 50% 0%
         TSA_MAP: 0:ets 1:ets 2:strict
IEEE 8021QAZ PFC TLV:
         PFC enabled: 3
IEEE 8021QAZ APP TLV:
         APP#0:
          Priority: 7
          Sel: 5
          DSCP: 48

         APP#1:
          Priority: 3
          Sel: 5
          DSCP: 26

         APP#2:
          Priority: 3
          Sel: 3
          UDP or DCCP: 4791

TC Rate Limit: 100% 100% 100% 0% 0% 0% 0% 0%
"""
NICCTL_QOS = """\
NIC  : 42424650-4c32-3531-3230-000000000001 (0000:f1:00.0)

Port : 04908130-a7a0-4242-4242-000000000001

  Classification type         : DSCP

  DSCP-to-priority :
    DSCP bitmap               : 0xffffbffffeffffff ==> priority : 0
    DSCP bitmap               : 0x0000000001000000 ==> priority : 3
    DSCP bitmap               : 0x0000400000000000 ==> priority : 6
    DSCP                      : 0-23, 25-45, 47-63 ==> priority : 0
    DSCP                      : 24 ==> priority : 3
    DSCP                      : 46 ==> priority : 6


  PFC :
    PFC priority bitmap       : 0x8
    PFC no-drop priorities    : 3

  Scheduling :
    --------------------------------------------
    Priority  Scheduling  Bandwidth Rate-limit
              Type        (in %age) (in Gbps)
    --------------------------------------------
    0         DWRR        1         N/A
    3         DWRR        99        N/A
    6         strict      N/A       10

NIC  : 42424650-4c32-3531-3230-000000000002 (0000:02:00.0)

Port : 04908130-a7a0-4242-4242-000000000002

  Classification type         : DSCP

  DSCP-to-priority :
    DSCP bitmap               : 0xffffffffffffffff ==> priority : 0
    DSCP                      : 0-63 ==> priority : 0


  PFC :
    PFC priority bitmap       : 0x0
    PFC no-drop priorities    :
"""
# The first card has another address than its RDMA device ionic_0.
NICCTL_DCQCN = """\
NIC : 42424650-4c32-3531-3230-000000000001 (0000:f1:00.0)
------------------------------------------------------------------------------------------

Lif id                                     : 43000070-0100-0000-4242-000000000001
ROCE device                                : ionic_0
DCQCN profile id                         : 1
Status                                   : Enabled
Rate increase in AI phase                : 160
DSCP value used for CNP                  : 46

NIC : 42424650-4c32-3531-3230-000000000002 (0000:02:00.0)
------------------------------------------------------------------------------------------

Lif id                                     : 43000070-0100-0000-4242-000000000002
ROCE device                                : ionic_1
DCQCN profile id                         : 1
Status                                   : Disabled
Rate increase in AI phase                : 160
DSCP value used for CNP                  : 46
"""
_MLXCONFIG_HEAD = """\

Device #1:
----------

Device type:    ConnectX7
Name:           MCX75310AAS-NEA_Ax
Description:    NVIDIA ConnectX-7 HHHL Adapter card; 400GbE; Single-port OSFP; PCIe 5.0 x16; Crypto Disabled
Device:         0000:01:00.0

"""
MLXCONFIG = f"""{_MLXCONFIG_HEAD}\
Configurations:                              Next Boot
         NUM_OF_VFS                          6
         ROCE_CC_PRIO_MASK_P1                255
         PCI_WR_ORDERING                     per_mkey(0)
         ATS_ENABLED                         False(0)
         ADVANCED_PCI_SETTINGS               False(0)
"""
MLXCONFIG_ALL = f"""{_MLXCONFIG_HEAD}\
Configurations:                                     Default              Current              Next Boot
*       ROCE_CONTROL                                ROCE_ENABLE(2)       DEVICE_DEFAULT(0)    ROCE_ENABLE(2)
*       PCI_WR_ORDERING                             per_mkey(0)          per_mkey(0)          force_relax(1)
        ATS_ENABLED                                 False(0)             N/A                  False(0)
        HOST_CHAINING_DESCRIPTORS                   Array[0..7]          Array[0..7]          Array[0..7]
The '*' shows parameters with next value different from default/current value.
"""


def with_programs(folder: Path, **printed: dict[str, str]) -> None:
    """Make programs by their names, each with what it prints for some arguments; with all others they fail."""
    for name, outputs in printed.items():
        cases = [f"'{arguments}') cat <<'END'\n{output}END\n;;\n" for arguments, output in outputs.items()]
        program = folder / name
        program.write_text(f'#!/bin/sh\ncase "$*" in\n{"".join(cases)}*) exit 1;;\nesac\n')
        program.chmod(0o755)
