# SPDX-License-Identifier: GPL-3.0-or-later
"""The reasons why a node cannot do its part: codes with values, and the one sentence of each code.

A code decides the reaction of the controller; its sentence is for people. Both travel to nodes, so that a module that
runs there says the same. Another program's message stays as it is, as a value.
"""

from __future__ import annotations

import errno
import typing as t


class Problem(t.TypedDict):
    """A problem of a node: its code, and the values that its sentence names."""

    code: str
    values: t.Dict[str, t.Any]


_ANOTHER = "another run of the name {run_id} is here, {since}: "
_CHOOSE = " To train, choose another training_run_id, or omit it"
_OTHER_FOLDER = "it was begun from another folder of runs; "
_TRUST = "inspect it, then remove it"

SENTENCES = {
    # The run and the machine.
    "not_started_here": "no training of run {run_id} was started here, so there is none to follow or to judge",
    "not_staged": "run {run_id} is not staged here and cannot be started",
    "held": "the node is held by run {holder}",
    "held_by_same_name": "the node is held by another run {holder}",
    "plan_differs": _ANOTHER + "its plan differs in {different}." + _CHOOSE,
    "other_run_and_plan": _ANOTHER + _OTHER_FOLDER + "its plan differs in {different}." + _CHOOSE,
    "other_run": _ANOTHER + _OTHER_FOLDER + "its plan is the same." + _CHOOSE + "; or follow and judge that run: "
    "attach.yml with its training_run_id and training_config",
    "already_running": "run {run_id} is already running here, although its state says otherwise: {what}",
    "state_gone": "{path} is gone: somebody removed it after the start",
    "run_folder_gone": "the run's folder {path}, with its log, is gone: somebody removed it after the start",
    "other_state": "{path} is not the state of run {run_id} on {node}",
    "not_ended": "run {run_id} may not have ended here: {left}",
    "tests_over": "the node is no longer held for tests",
    # Accelerators.
    "no_gpu": "the plan trains on {wanted}, but neither the PCI bus nor /dev shows an accelerator here; {option}=false "
    "trains on the node anyway",
    "other_gpu": "the plan is for {wanted}, but the node has {found}; {option}=false trains on it anyway",
    # Ports, interfaces, disks and paths.
    "port_taken": "rendezvous port {port} is not free here ({why})",
    "interface_unknown": "no interface can be found for {variables}: {why}",
    "no_interface": "no network interface of this node routes to {master}, so {variables} cannot be set",
    "too_little_room": "{paths} need {needed_gib:,.1f} GiB but have {free_gib:,.1f} GiB free; free up space there "
    "(du -xh {disk}), or choose another log_dir or data folder",
    "run_folder_unwritable": "the run's folder {path} cannot be written: {why}",
    "run_folder_unreadable": "the run's folder {path} cannot be read: {why}",
    "disk_full": "{path}: {why}",
    "file_error": "{path}: {why}",
    "checkout_missing": "the folder {path} does not exist; it has to be the trainer's checkout",
    "script_missing": "the {what} {path} does not exist",
    "device_missing": "the device {path} does not exist",
    "mount_wrong": "{reason}",
    # Container engines.
    "no_engine": "no container engine is installed here (looked for {looked_for})",
    "engine_unknown": "container_engine is {name!r}, not one of auto, none, {known}",
    "engine_missing": "the container engine {name} is not installed here",
    "engine_refused": "{command} failed: {said}",
    "engine_down": "docker's daemon does not run: {said}",
    "engine_forbidden": "this login may not use docker: {said}",
    "engine_slow": "{command} did not finish within {seconds:g} s",
    "engine_silent": "{said}",
    "container_name_taken": "the container name {name} is taken by somebody else's container of {image} ({status}, "
    "created {created}); choose another container_name, or have its owner remove it",
    "image_missing": "the node has neither the image {image} nor its archive {archive}; copy the archive to the node, "
    "or omit training_image_archive so that the image is pulled",
    "not_in_archive": "{archive} does not contain the image {image}",
    # An image that cannot be pulled, by the message of the engine: see `engine_words`.
    "image_disk_full": "the disk with the images of {engine} has no room for {image}: {said}",
    "image_name_short": "{image} is a short name, and podman cannot tell which registry has the image",
    "registry_untrusted": "{engine} does not trust the registry {registry}: {said}",
    "registry_unreachable": "the registry {registry} cannot be reached: {said}",
    "registry_busy": "the registry {registry} allows no more pulls for now: {said}",
    "image_denied": "the registry {registry} denies access to the image {image}: {said}",
    "image_unknown": "the registry {registry} does not have the image {image}: {said}",
    # Folders that somebody else may have written.
    "folder_of_other": "{path} belongs to {owner}, not to {user}, who runs this: it may be a trap; " + _TRUST,
    "folder_is_link": "{path} must be a folder, not a link; " + _TRUST,
    "folder_open": "others can write to {path} (mode {mode})",
    "loop_of_links": "{path} contains a loop of links",
    "parent_open": "every user can write to {path} and could replace a run's files",
    "made_by_other": "{path} was created by {owner}, as every user can write to {folder}: " + _TRUST + ", or choose "
    "another log_dir or training_run_id",
}


def problem(code: str, **values: t.Any) -> Problem:
    """Return a problem of a code, with the values of its sentence."""
    return {"code": code, "values": values}


def file_problem(error: OSError, code: str, path: str = "") -> Problem:
    """Return the problem of a code that the system has with a file, or that its disk is full."""
    code = "disk_full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else code
    return problem(code, path=path or str(error.filename), why=error.strerror)


def in_words(problems: t.Iterable[Problem], sentences: t.Optional[t.Mapping[str, str]] = None) -> str:
    """Return problems as one sentence without a full stop, of `SENTENCES` or of others."""
    known = SENTENCES if sentences is None else sentences
    return "; ".join(known[one["code"]].format(**_listed(one["values"])) for one in problems)


def _listed(values: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    return {name: ", ".join(map(str, one)) if isinstance(one, list) else one for name, one in values.items()}


class ProblemError(ValueError):
    """One problem that keeps a node from doing its part."""

    def __init__(self, code: str, **values: t.Any) -> None:
        """Take a problem's code and values."""
        self.problems = [problem(code, **values)]
        super().__init__(in_words(self.problems))
