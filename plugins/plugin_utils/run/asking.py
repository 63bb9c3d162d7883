# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking a node of a run for a phase: the request, the program that answers it, and the checked answer."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Callable
from dataclasses import dataclass

from ...module_utils.node.agent import PROGRAM_NAME
from ...module_utils.node.contracts import Identity, PhaseNeeds, Request
from ...module_utils.node.phase import NodeError, request_of
from ...module_utils.node.problems import problem
from ..contracts import NodePlan, Plan
from ..plain_text import one_line
from ..unreachable import told_by_a_command
from .answers import STAGE, A, Ask, Phase, accepted
from .become import become_problem
from .node_errors import NodeEndedError, ended, refused
from .program import answer_in, command, standard_input

# What all that a phase asks of a node's container engine takes at most. Only a stage, which fetches an image, is waited
# for without an end.
_ENGINE_SECONDS = 300.0
_WAITS: tuple[t.Literal["wait_seconds", "grace_seconds", "finish_grace_seconds"], ...] = (
    "wait_seconds",
    "grace_seconds",
    "finish_grace_seconds",
)


class Output(t.NamedTuple):
    """What a command on a node printed, and its exit status."""

    status: int
    stdout: str
    stderr: str


@dataclass
class Asker:
    """Asks one node, through ``send``: a command and its standard input to its `Output`, or `NodeLostError`.

    ``identity`` tells the run from others of its name; ``program`` is the SHA-256 of the program that the node keeps,
    if it does; ``environment`` the variables of all that runs on the node itself; ``lost`` for how many seconds the
    node may not answer.
    """

    plan: Plan
    node: NodePlan
    send: Callable[[str, bytes], Output]
    python: str
    environment: dict[str, str]
    check_mode: bool
    identity: Identity
    program: str | None = None
    lost: float = 0.0
    _allowed: float = math.inf
    _looks: int = 0
    _given_up: NodeEndedError | None = None

    def ask(self, phase: Phase[A], **needs: t.Unpack[PhaseNeeds]) -> A:
        """Return the node's answer; `NodeError` if it refuses or its answer is invalid."""
        self._looks = 0
        if phase is not STAGE:
            self._allowed = self.lost + _ENGINE_SECONDS + sum(needs.get(name, 0.0) for name in _WAITS)
        try:
            return self._asked(phase, needs)
        finally:
            self._allowed = math.inf
            if self._given_up:
                raise self._given_up

    def late(self) -> NodeEndedError | None:
        """Return, once, that the node takes too long to answer; after that it is not asked again.

        It is called once a second and counts its calls, so that the time while this process is suspended is left out.
        """
        self._looks += 1
        if self._given_up or self._looks < self._allowed:
            return None
        self._given_up = ended(problem("connected_without_answer", seconds=self._looks))
        return self._given_up

    def _asked(self, phase: Phase[A], needs: PhaseNeeds) -> A:
        request: Request = {
            **request_of(self.plan, self.node, phase.name, self.identity),
            "check_mode": self.check_mode,
            "environment": self.environment,
            **needs,
        }
        answer = self._answer(request)
        if answer.get("no_program") and self.program:
            self.program = None
            answer = self._answer(request)
        taken = accepted(phase, answer)
        self.program = answer.get("program", self.program)
        return taken

    def _answer(self, request: Request) -> dict[str, t.Any]:
        kept = (f"{self.node['run_folder']}/{PROGRAM_NAME}", self.program) if self.program else None
        output = self.send(command(self.python), standard_input(request, kept))
        answer = answer_in(output.stdout)
        if answer is not None:
            return answer
        said = [one_line(line) for line in told_by_a_command(f"{output.stderr}\n{output.stdout}")[-5:]]
        values = {"python": self.python, "exit_status": output.status}
        raise refused(
            become_problem(output.stderr) or problem("program_not_run", said=" / ".join(said) or "no output", **values)
        )


def refusing(error: NodeError) -> Ask:
    """Return a substitute for a node that cannot be asked: it raises the reason."""

    def ask(*_phase: t.Any, **_needs: t.Any) -> t.Any:
        raise error

    return ask
