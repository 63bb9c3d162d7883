#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports everything about a node that matters for training, in one round trip."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_inspect
short_description: Reports everything about a node that matters for training, in one round trip
version_added: 1.0.0
description:
  - Inspects the kernel, CPUs, NUMA, GPUs, RDMA devices and their user space, network, limits, disk space, clock, and
    container engines.
  - Changes nothing on the node.
  - A value that cannot be determined is null, and RV(node.problems) says why. The task fails only if its options are
    wrong.
  - Only root can see processes on GPUs, container engines and some firmware versions.
extends_documentation_fragment:
  - trainops.cluster.attributes
attributes:
  diff_mode:
    support: N/A
    details:
      - This module does not change state.
requirements:
  - Python 3.8 or newer on the node
  - C(ip) from iproute2 on the node, for interfaces and routes
options:
  paths:
    description:
      - Absolute paths of files and folders to check, including the free space on their disks.
    type: list
    elements: path
    default: []
  master_address:
    description:
      - Address or name of rank 0, used to look up the route to it.
    type: str
  master_port:
    description:
      - Port that must be free on rank 0. The module tests it by listening on it for a moment.
    type: int
  image:
    description:
      - Training image to look up in each container engine.
    type: str
  environment:
    description:
      - Environment variables for the commands that run on the node. References such as C($PATH) are resolved there.
    type: dict
    default: {}
seealso:
  - module: trainops.cluster.training_preflight
"""

EXAMPLES = r"""
- name: Inspect the node
  trainops.cluster.node_inspect:
    paths:
      - /home/ops/cache
      - /usr/local/lib/libbnxt_re-rdmav34.so
    master_address: gpu01
    master_port: 6000
    image: rocm/megatron-lm:v25.5_py310
  register: inspected

- name: Show the RDMA devices that are not active
  ansible.builtin.debug:
    msg: "{{ inspected.node.rdma.devices | rejectattr('ports.0.state', 'equalto', 'ACTIVE') | map(attribute='name') }}"
"""

RETURN = r"""
node:
  description:
    - Everything about the node.
  returned: success
  type: dict
  contains:
    hostname:
      description: Name of the node according to its kernel.
      type: str
      sample: gpu01
    kernel:
      description: Release of the running kernel.
      type: str
      sample: 5.15.0-116-generic
    architecture:
      description: Architecture of the CPUs.
      type: str
      sample: x86_64
    os:
      description: C(name), C(id), C(version), and C(family), one of V(debian), V(rhel), V(suse), V(azure) and null.
      type: dict
      sample: {name: Ubuntu 22.04.4 LTS, id: ubuntu, version: "22.04", family: debian}
    cpus:
      description: C(model), C(count) of online logical CPUs, and C(sockets).
      type: dict
      sample: {model: AMD EPYC 9554 64-Core Processor, count: 256, sockets: 2}
    bios:
      description: The version of the BIOS, null where the machine does not show it.
      type: str
      sample: 3.4a
    memory_bytes:
      description: Total memory in bytes.
      type: int
      sample: 2434000000000
    numa:
      description: Online C(nodes), and C(auto_balancing), 0 if off and null if the kernel does not have it.
      type: dict
      sample: {nodes: [0, 1], auto_balancing: 0}
    gpus:
      description:
        - C(vendor), one of V(amd), V(nvidia), V(neuron), V(tpu) and null.
        - C(devices), each with C(name), C(architecture), C(pci_address), C(numa_node), C(memory_bytes), C(firmware) and
          C(sensors).
        - C(sensors) has C(temperature) in degrees Celsius, C(power) and C(power_limit) in W, C(clock) and
          C(clock_limit) in MHz, C(utilization) in percent, C(memory_used) and C(memory_total) in bytes,
          C(ecc_corrected) and C(ecc_uncorrected) since the driver was loaded, C(ecc_uncorrected_ever) of the board's
          life, and C(held_down_by), a list of why the clock is lower than it could be, such as V(power cap),
          V(thermal) and V(idle). What the driver does not say is null.
        - C(driver) with C(name) and C(version), and C(on_bus), the number of GPUs that the PCI bus shows.
        - C(processes) on the GPUs, each with C(pid), C(command), C(user) and C(run_id), which is null unless the
          process belongs to a run of this collection.
        - C(problems), what could not be determined about the GPUs.
      type: dict
    rdma:
      description:
        - C(devices), each with C(name), C(provider), C(driver), C(driver_version), C(firmware), C(pci_address),
          C(numa_node), C(model) (vendor and device on the PCI bus), C(kernel_abi), and C(ports). A port has C(state),
          C(physical_state), C(link_layer), C(rate), C(netdev), C(mtu), and C(gids), each with C(index), C(type),
          C(address) and C(netdev).
        - C(libraries), the provider libraries, each with C(driver), C(path), C(configured), C(soname) and C(rdma_abi).
        - C(verbs), with the number of C(devices) that libibverbs reports, null if it did not answer in time, and its
          C(warnings) about unsupported kernel ABIs.
      type: dict
    network:
      description:
        - C(interfaces) by name, each with C(mtu), C(up) and C(addresses).
        - C(hostname), with the C(addresses) that the node's own name resolves to, and whether one is a C(loopback)
          address.
        - C(master), with the C(address) of rank 0, the C(interface) that routes to it, the C(source) address, whether
          the address is the node's C(own), the C(mtu) of the route, and C(path_mtu), the largest packet that arrives.
        - C(master_port_problem), why nothing can listen on O(master_port), null if it is free.
      type: dict
    limits:
      description:
        - C(memlock) in bytes and C(nofile) of this login, each with C(soft) and C(hard), -1 for unlimited.
        - C(uid) of this login, C(nr_open), and C(shm) with C(total_bytes) and C(free_bytes) of /dev/shm.
      type: dict
    settings:
      description:
        - Settings that matter for the speed of GPUs and RDMA adapters. C(acs_bridges), the PCIe bridges above them with
          ACS, null unless root; C(iommu), the kinds of their IOMMU domains; C(pcie), their links and what both ends can
          do; C(rails), ARP and filter settings of the adapters' interfaces, and C(shared_rails), those in one
          network; C(roce_dscp) of each adapter, if its
          driver shows it; C(roce), its priorities with PFC (C(pfc)) and DCQCN (C(ecn)) and the priority of each
          DSCP (C(dscp)), if the driver, iproute2's dcb, niccli or nicctl shows them; C(nic_firmware), some settings of
          its firmware by their names in mlxconfig, each with the values C(now), null if unknown, and C(next), from the
          next boot on; C(relaxed_ordering) of each adapter, null unless root.
        - C(virtual_machine), C(command_line) of the kernel, C(peer_memory) and C(open_kernel_module) of NVIDIA,
          C(governors), C(c2), whether any processor may enter this state, and C(slurmd_memlock) in bytes.
          C(port_range) and C(reserved_ports), the ports that the kernel gives to any connection, and those that it
          does not.
      type: dict
    paths:
      description:
        - For each of O(paths), the C(kind), one of V(file), V(directory), V(other) and V(missing).
        - C(nearest), the path itself or its nearest parent folder that exists, with C(writable), C(file_system),
          C(total_bytes), C(free_bytes) and C(free_inodes).
        - C(empty) for a folder, and C(library) with C(soname) and C(rdma_abi) for a shared library.
      type: dict
    engines:
      description:
        - C(docker) and C(podman), null if not installed, each with C(version), C(problem) if it does not respond,
          C(storage) with the C(path) of its images and the space there as for RV(node.paths), and C(image) with C(id)
          and C(digests), null if it does not have the image.
        - C(knows_registry) says whether the engine can tell which registry has the image. A podman with no, or with
          several, registries for short names cannot.
      type: dict
    clock:
      description:
        - C(began) and C(time), start and end of the inspection by the node's clock.
        - C(synchronized) and C(estimated_error_seconds) as the kernel reports them.
        - C(offset_seconds), the minimum and maximum lead of the node's clock over the controller's.
      type: dict
      sample:
        began: 1773480413.1
        time: 1773480413.4
        synchronized: true
        estimated_error_seconds: 0.0001
        offset_seconds: [-0.09, 0.41]
    problems:
      description: What could not be determined, and why.
      type: dict
      sample: {interfaces: ip is not installed}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.node.inspection.facts import inspect
from ..module_utils.node.phase import add_environment


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "paths": {"type": "list", "elements": "path", "default": []},
            "master_address": {"type": "str"},
            "master_port": {"type": "int"},
            "image": {"type": "str"},
            "environment": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    options = dict(module.params)
    relative = [path for path in options["paths"] if not path.startswith("/")]
    if relative:
        module.fail_json(msg=f"paths contains {relative[0]}, but must contain only absolute paths")
    if options["master_port"] is not None and not 0 < options["master_port"] < 65536:
        module.fail_json(msg=f"master_port is {options['master_port']}, but must be between 1 and 65535")
    add_environment({name: str(value) for name, value in options.pop("environment").items()})
    module.exit_json(changed=False, node=inspect(**options))


if __name__ == "__main__":
    main()
