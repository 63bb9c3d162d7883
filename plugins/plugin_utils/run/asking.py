# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking a node of a run for a phase: the request, the program that answers it, and the answer as far as it is ours."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from dataclasses import dataclass

from ...module_utils.node.agent import PROGRAM_NAME
from ...module_utils.node.phase import NodeError, request_of
from ..contracts import NodePlan, Plan
from .answers import A, Phase, accepted
from .become import become_problem
from .plain_text import one_line
from .program import answer_in, command, standard_input


class Output(t.NamedTuple):
    """What a command on a node printed, and its exit status."""

    status: int
    stdout: str
    stderr: str


@dataclass
class Asker:
    """Asks one node, through ``send``: a command and its standard input to its `Output`, or `NodeLostError`.

    ``program`` is the SHA-256 of the program that the node keeps, if it does; ``environment`` the variables of all that
    runs on the node itself.
    """

    plan: Plan
    node: NodePlan
    send: Callable[[str, bytes], Output]
    python: str
    environment: dict[str, str]
    check_mode: bool
    program: str | None = None

    def ask(self, phase: Phase[A], **needs: t.Any) -> A:
        """Return the node's answer; `NodeError` where it refuses, and where it does not answer as one of ours."""
        request = {
            **request_of(self.plan, self.node, phase.name),
            "check_mode": self.check_mode,
            "environment": self.environment,
            **needs,
        }
        answer = self._answer(phase.name, request)
        if answer.get("no_program") and self.program:
            self.program = None
            answer = self._answer(phase.name, request)
        taken = accepted(phase, answer)
        self.program = answer.get("program", self.program)
        return taken

    def _answer(self, phase: str, request: dict[str, t.Any]) -> dict[str, t.Any]:
        kept = (f"{self.node['run_folder']}/{PROGRAM_NAME}", self.program) if self.program else None
        output = self.send(command(self.python), standard_input(request, kept))
        answer = answer_in(output.stdout)
        if answer is not None:
            return answer
        said = [one_line(line) for line in (output.stderr or output.stdout).strip().splitlines()[-5:]]
        raise NodeError(
            become_problem(output.stderr)
            or f"{self.python} did not run the program of phase {phase} (exit status {output.status}): "
            f"{' / '.join(said) or 'no output'}. Python 3.8 or newer is needed there; ansible_python_interpreter "
            "names it"
        )
