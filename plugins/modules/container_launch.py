#!/usr/bin/python
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Launches one program on one node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: container_launch
short_description: Launches a container or a process on a node, as one rank of a distributed program
version_added: 1.0.0
description:
  - Launches a program in a container of docker or podman, or as a process, that goes on when Ansible has ended.
  - It is launched by the same code as a training, so it has the same labels, its output is in one file, its exit status
    is recorded, and a node with a run on it is refused.
  - What runs already is left as it is. What has failed, or was launched with other options, is an error until it is
    removed with O(state=absent).
extends_documentation_fragment:
  - trainops.cluster.attributes
options:
  node:
    description: Name of the node.
    type: str
    required: true
  name:
    description: Name of the launch. Folder, labels and container carry it.
    type: str
    required: true
  state:
    description: V(present) launches the program unless it is there already, V(absent) ends and forgets
      it. Its output is kept.
    type: str
    choices:
      - present
      - absent
    default: present
  engine:
    description: What runs the program; V(none) runs it as a process of the node, V(auto) in the first
      engine that is installed.
    type: str
    choices:
      - auto
      - docker
      - podman
      - none
    default: auto
  image:
    description: Image of the container.
    type: str
    default: ''
  image_archive:
    description: Archive on the node to load the image from if the node does not have it. If empty,
      the image is pulled.
    type: path
    default: ''
  command:
    description: The program and its arguments. No shell reads them.
    type: list
    elements: str
    default: []
  environment:
    description: 'Variables of the program. C(NNODES), C(NODE_RANK), C(MASTER_ADDR) and C(MASTER_PORT)
      are set to the options below unless they are given here. No secrets: they would appear in files
      and in the engine.'
    type: dict
    default: {}
  mounts:
    description: Paths of the node, each with its path in the container.
    type: dict
    default: {}
  devices:
    description: Devices of the node that the container can use.
    type: list
    elements: path
    default: []
  options:
    description: How the container is started.
    type: dict
    default: {}
    suboptions:
      network:
        description: Network of the container.
        type: str
        default: host
      ipc:
        description: Shared memory of the container.
        type: str
        default: host
      shm_size:
        description: Size of C(/dev/shm) if that is not the host's.
        type: str
        default: 16G
      privileged:
        description: Give the container all devices and capabilities.
        type: bool
        default: false
      group_add:
        description: Further groups.
        type: list
        elements: str
        default: []
      cap_add:
        description: Capabilities to add.
        type: list
        elements: str
        default: []
      cap_drop:
        description: Capabilities to drop.
        type: list
        elements: str
        default: []
      security_opt:
        description: Security options.
        type: list
        elements: str
        default: []
      ulimits:
        description: Limits, each as C(soft:hard).
        type: dict
        default:
          memlock: -1:-1
  working_dir:
    description: Folder to start the program in. If empty, the folder of the launch.
    type: path
    default: ''
  folder:
    description: Folder on the node below which each launch has its own, with its output.
    type: path
    default: /var/tmp/trainops
  rank:
    description: Rank of the node.
    type: int
    default: 0
  nnodes:
    description: Number of nodes.
    type: int
    default: 1
  master_address:
    description: Address at which the nodes meet.
    type: str
    default: localhost
  master_port:
    description: Port at which the nodes meet. With more than one node, it has to be free on rank 0.
    type: int
    default: 29500
  wait_seconds:
    description: How long to wait for the end of the program, which then has to be a success. 0 does not
      wait.
    type: float
    default: 0
  grace_seconds:
    description: Seconds between SIGTERM and SIGKILL when the program is ended.
    type: float
    default: 3
"""

EXAMPLES = r"""
- name: Launch a bandwidth test on every node
  trainops.cluster.container_launch:
    name: allreduce
    node: "{{ inventory_hostname }}"
    image: rocm/pytorch:latest
    command: [python3, /data/allreduce.py] # it reads NODE_RANK, NNODES, MASTER_ADDR and MASTER_PORT
    devices: [/dev/kfd, /dev/dri]
    mounts:
      /data: /data
    rank: "{{ training_node_rank }}"
    nnodes: "{{ training_nnodes }}"
    master_address: "{{ training_master_address }}"
    wait_seconds: 600
"""

RETURN = r"""
status:
  description: V(running), V(exited), V(killed) or V(stopped); V(absent) with O(state=absent), V(planned) in check mode.
  returned: success
  type: str
  sample: running
exit_status:
  description: Exit status of the program, null while it runs.
  returned: success
  type: int
  sample: 0
output:
  description: Path of the program's output on the node.
  returned: success
  type: str
  sample: /var/tmp/trainops/allreduce/gpu01/output.log
last_lines:
  description: The last lines of the output, if the program has ended.
  returned: success
  type: list
  elements: str
  sample: [done]
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.logs.reader import tail
from ..module_utils.node.phase import NodeError
from ..module_utils.node.single_launch import ended, launched, node_of, removed

ARGUMENTS: dict[str, t.Any] = {
    "node": {"type": "str", "required": True},
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "engine": {"type": "str", "choices": ["auto", "docker", "podman", "none"], "default": "auto"},
    "image": {"type": "str", "default": ""},
    "image_archive": {"type": "path", "default": ""},
    "command": {"type": "list", "elements": "str", "default": []},
    "environment": {"type": "dict", "default": {}},
    "mounts": {"type": "dict", "default": {}},
    "devices": {"type": "list", "elements": "path", "default": []},
    "options": {
        "type": "dict",
        "default": {},
        "options": {
            "network": {"type": "str", "default": "host"},
            "ipc": {"type": "str", "default": "host"},
            "shm_size": {"type": "str", "default": "16G"},
            "privileged": {"type": "bool", "default": False},
            "group_add": {"type": "list", "elements": "str", "default": []},
            "cap_add": {"type": "list", "elements": "str", "default": []},
            "cap_drop": {"type": "list", "elements": "str", "default": []},
            "security_opt": {"type": "list", "elements": "str", "default": []},
            "ulimits": {"type": "dict", "default": {"memlock": "-1:-1"}},
        },
    },
    "working_dir": {"type": "path", "default": ""},
    "folder": {"type": "path", "default": "/var/tmp/trainops"},
    "rank": {"type": "int", "default": 0},
    "nnodes": {"type": "int", "default": 1},
    "master_address": {"type": "str", "default": "localhost"},
    "master_port": {"type": "int", "default": 29500},
    "wait_seconds": {"type": "float", "default": 0},
    "grace_seconds": {"type": "float", "default": 3},
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec=ARGUMENTS,
        supports_check_mode=True,
        required_if=[("state", "present", ["command"])],
    )
    asked = module.params
    if asked["state"] == "present":
        if not asked["command"]:
            module.fail_json(msg="command is empty, but must be the program and its arguments")
        if asked["engine"] != "none" and not asked["image"]:
            module.fail_json(msg="image is empty; set it, or engine to none for a process without a container")
    try:
        result = (
            _present(asked, module.check_mode) if asked["state"] == "present" else _absent(asked, module.check_mode)
        )
    except (NodeError, ValueError) as error:
        module.fail_json(msg=f"{error}.")
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}.")
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)


def _absent(asked: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    return {"changed": removed(asked, check_mode), "status": "absent", "exit_status": None}


def _present(asked: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    changed, state = launched(asked, check_mode)
    output = node_of(asked)["log_file"]
    if state is None:
        return {"changed": changed, "status": "planned", "exit_status": None, "output": output}
    state = ended(asked, state)
    result: dict[str, t.Any] = {
        "changed": changed,
        "status": state["status"],
        "exit_status": state.get("exit_status"),
        "output": output,
    }
    if state["status"] == "running":
        late = {"failed": True, "msg": f"{asked['name']} has not ended within {asked['wait_seconds']:g} s; it goes on."}
        return result | late if asked["wait_seconds"] else result
    result["last_lines"] = tail(output)
    if result["exit_status"] != 0:
        how = "was killed" if result["exit_status"] is None else f"ended with exit status {result['exit_status']}"
        again = "Remove it with state absent to launch it again."
        result |= {"failed": True, "msg": f"{asked['name']} {how}; its output is in {output}. {again}"}
    return result


if __name__ == "__main__":
    main()
