# SPDX-License-Identifier: GPL-3.0-or-later
"""The sentences and remedies for problems, by code: problems of nodes, and problems of the controller."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable

from ...module_utils.node import problems as of_nodes
from ...module_utils.node.problems import Problem, problem
from ..contracts import Call


class Unreachable(t.NamedTuple):
    """Why ssh did not reach a node, as the middle of a sentence, and what to do."""

    cause: str
    remedy: str


# By the codes of `unreachable`; ``said`` is what ssh said.
UNREACHABLE: t.Final = {
    "unknown_host": Unreachable(
        "no such host name is known to this machine",
        "Set ansible_host to the node's address in the inventory, or add the name to DNS or /etc/hosts here.",
    ),
    "host_key_changed": Unreachable(
        "the node has another host key than the one that this machine knows",
        "If the node was installed again, remove the old key with ssh-keygen -R HOST and log in once by hand; if not, "
        "find out who answers at its address.",
    ),
    "host_key_unknown": Unreachable(
        "this machine does not know the node's host key",
        "Log in once by hand (ssh USER@HOST) and compare the fingerprint, or add it with ssh-keyscan HOST >> "
        "~/.ssh/known_hosts.",
    ),
    "login_refused": Unreachable(
        "the node is up, but refuses the login",
        "Check ansible_user, and give the node this machine's public key (ssh-copy-id USER@HOST), or name the right "
        "key with ansible_ssh_private_key_file; for a password, add --ask-pass.",
    ),
    "connection_refused": Unreachable(
        "the node is up, but nothing listens on its SSH port",
        "Start sshd there (systemctl start ssh or sshd, from its console), or set ansible_port to the port on which it "
        "listens.",
    ),
    "no_route": Unreachable(
        "no way leads to the node's address",
        "Check that the node is on (its BMC), and that its address and the routes of this machine are right.",
    ),
    "timeout": Unreachable(
        "nothing answers at the node's address",
        "Check that the node is on (ping, its BMC), that ansible_host is right, and that no firewall drops packets.",
    ),
    "connection_ended": Unreachable(
        "the node ended the connection",
        "Check that sshd works there (journalctl --unit ssh or sshd); it ends connections when there are too many at "
        "once (MaxStartups) or an address is banned.",
    ),
}
UNREACHABLE_OTHERWISE: t.Final = "Check that the node is up and its management network works (ssh USER@HOST)."

SENTENCES: t.Final = {
    **of_nodes.SENTENCES,
    # The node does not answer.
    **{code: f"{one.cause} ({{said}})" for code, one in UNREACHABLE.items()},
    "no_answer": "{said}",
    "connected_without_answer": "connected, but no answer for {seconds} s; a file system there may be hanging",
    "task_silent": "it has not answered for {seconds:.0f} s",
    "job_ended": "{said}",
    # The program of a phase does not run there.
    "program_not_run": "{python} did not run the program of this collection (exit status {exit_status}): {said}. "
    "Python 3.8 or newer is needed there; set ansible_python_interpreter to it",
    "become_program_missing": "{program} is missing, and Ansible needs it to become another user; install it, or set "
    "ansible_become=false",
    "become_password_wrong": "the sudo password is wrong; enter it with --ask-become-pass",
    "become_password_missing": "sudo asks for a password; add --ask-become-pass, or allow this login sudo without one",
    "become_user_missing": "the user to become does not exist there, or cannot own files there; correct "
    "ansible_become_user, or set ansible_become=false",
    "become_forbidden": "this login may not use sudo; allow it, or set ansible_become=false",
    "become_failed": "Ansible could not become another user: {said}",
    # Found while following a training.
    "run_silent": "no log of the run has grown for {seconds:.0f} s",
    "log_silent": "its log has not grown for {seconds:.0f} s",
    "loss_not_finite": "the loss is {loss} at step {step} (training_abort_on_nan)",
    "nan_iteration": "the trainer reported a NaN iteration at step {step} (training_abort_on_nan)",
    "steps_not_kept": "its log has more than {most} steps: the rest is not kept",
    "preflight_red": "its preflight is red: {reasons}",
}

OF_BECOME: t.Final = (
    "become_program_missing",
    "become_password_wrong",
    "become_password_missing",
    "become_user_missing",
    "become_forbidden",
    "become_failed",
)
# What the user typed; of a run that was judged elsewhere it is unknown.
SOME_CALL: t.Final[Call] = {"playbooks": "playbooks", "inventory": " -i INVENTORY", "output_dir": ""}
_BECOME = "Check the login with: ansible {node}{inventory} -m ansible.builtin.command -a id --become."
STOP_RUN: t.Final = "ansible-playbook {playbooks}/stop.yml{inventory}{output_dir} -e training_run_id="
_ARCHIVE = "copy an archive of the image to the nodes and set training_image_archive to its path."
FULL_IMAGE_NAME: t.Final = "Write the full name in the config, such as docker.io/{image}."
_ROOM = "Free space there, or put log_dir on another disk."
_PUT = "Put it there, mount it into the container, or correct its path in the config or the inventory."
_HELD = f"Wait for that run to end, or stop it: {STOP_RUN}{{quoted}}"
# Most sentences already say what to do; these need another one.
REMEDIES = {
    "no_gpu": "Leave the node out (training_exclude), or set {option}=false if its accelerator is not on the PCI bus.",
    "other_gpu": "Choose the config's branch for this GPU (training_gpu), or leave the node out (training_exclude).",
    "port_taken": "Find the process that uses it on the node (ss -ltnp 'sport = :{port}') and end it, or set "
    "training_master_port to another port.",
    "held": _HELD,
    "held_by_same_name": _HELD,
    "program_not_run": "Install Python 3.8 or newer there, or set ansible_python_interpreter for the host to the one "
    "that it has.",
    "no_engine": "Install docker or podman there, or set container_engine=none.",
    "image_disk_full": "Free space there ({engine} system df shows what uses it).",
    "image_name_short": FULL_IMAGE_NAME,
    "registry_untrusted": "Put the registry's certificate into /etc/docker/certs.d/{registry} on the node (podman: "
    f"/etc/containers/certs.d/{{registry}}). Or {_ARCHIVE}",
    "registry_unreachable": "Check the registry's name in the config, and DNS, firewalls and the proxy of "
    f"{{engine}} on the node. Or {_ARCHIVE}",
    "registry_busy": f"Wait, or log in on the node: {{engine}} login {{registry}}. Or {_ARCHIVE}",
    "image_denied": "Check the image's name and tag in the config: a registry may answer so if it does not have the "
    f"image. Then log in on the node with the user of the training: {{engine}} login {{registry}}. Or {_ARCHIVE}",
    "image_unknown": f"Correct the image's name and tag in the config. Or {_ARCHIVE}",
    "engine_down": "Start it on the node: systemctl start docker. If it ends again, see journalctl --unit docker.",
    "engine_forbidden": "Add the login to the group docker on the node (usermod -aG docker USER), or set "
    "ansible_become=true.",
    "run_folder_unwritable": "Set log_dir in the config to a folder that the login on the node can write to, or let "
    "its owner allow that.",
    "too_little_room": _ROOM,
    "disk_full": _ROOM,
    "checkout_missing": _PUT,
    "script_missing": _PUT,
    "mount_wrong": "To fix it on the node: {command}.",
    "folder_open": "Inspect the folder's contents. Then let its owner run on the node: chmod go-w {quoted}. Or "
    "remove it, or choose another log_dir.",
    "parent_open": "As the owner of the folder, run on the node: chmod +t {quoted}. Or choose another log_dir.",
    "not_started_here": "Give the training_run_id of a run that was started; stop.yml without one lists the latest "
    "runs.",
    **dict.fromkeys(OF_BECOME, _BECOME),
}
_OTHERWISE = (
    "Check everything that a run needs there, with your training_config: "
    "ansible-playbook {playbooks}/preflight.yml{inventory} --limit {node}"
)


def in_words(problems: Iterable[Problem]) -> str:
    """Return problems as one sentence without a full stop."""
    return of_nodes.in_words(problems, SENTENCES)


def remedy_of(problems: Iterable[Problem]) -> str:
    """Return what to do about a node that cannot start a run: the first remedy for any of its problems.

    ``node`` among the values is the node's name, for commands.
    """
    known = list(problems)
    first = next((one for one in known if one["code"] in REMEDIES), known[0] if known else problem(""))
    remedy = REMEDIES.get(first["code"], _OTHERWISE)
    return remedy.format(**{**SOME_CALL, "node": "HOST", **first["values"]})


def why_unreachable(problem: Problem) -> tuple[str, str]:
    """Return a sentence about why a node does not answer, without a full stop, and what to do about it."""
    known, said = UNREACHABLE.get(problem["code"]), in_words([problem])
    if known is None:
        return f"The node did not answer: {said or 'nothing more is known'}", UNREACHABLE_OTHERWISE
    return f"{said[0].upper()}{said[1:]}", known.remedy


def cause_of(problems: Iterable[Problem]) -> str:
    """Return the code of why ssh did not reach a node; empty for any other problem.

    Nodes with the same cause share a line, although ssh's message mentions each of them.
    """
    codes = {one["code"] for one in problems}
    return codes.pop() if len(codes) == 1 and codes <= UNREACHABLE.keys() else ""
