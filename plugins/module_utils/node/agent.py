# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry of the program that is sent to a node: a request on the way in, one line of JSON on the way out."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import typing as t

from .files import write_bytes
from .own_folders import UntrustedError, has_run_folder
from .phase import Answer, NodeError, add_environment
from .problems import Problem, ProblemError, file_problem

if t.TYPE_CHECKING:
    from .contracts import Request

ANSWER_MARK = "trainops-answer:"
PROGRAM_NAME = "program"


def answer_to(request: Request) -> Answer:
    """Do the phase that a request names, and return its answer; one that ``failed`` has a message and ``problems``."""
    try:
        return dict(phase_of(request["phase"])(request), failed=False)
    except NodeError as error:
        return {**_refused(str(error), error.problems), **error.kind}
    except ProblemError as error:
        return _refused(str(error), error.problems)
    except ValueError as error:
        return _refused(str(error))
    except OSError as error:
        problems = [file_problem(error, "file_error")] if error.filename and error.strerror else []
        return _refused(": ".join(str(part) for part in (error.filename, error.strerror) if part), problems)


def _refused(message: str, problems: t.Sequence[Problem] = ()) -> Answer:
    return {"failed": True, "message": message, "problems": list(problems)}


def phase_of(name: str) -> t.Callable[[Request], Answer]:
    """Return the function that does a phase; only its own modules are loaded."""
    return t.cast("t.Callable[[Request], Answer]", getattr(importlib.import_module(f"..phases.{name}", __name__), name))


def main(request: Request, program: bytes | None = None, digest: str | None = None) -> None:
    """Run the requested phase and print its answer after a marker, so that a login shell's output does not matter.

    ``program`` is this program as it came along, which is kept in the run's folder; ``program`` of the answer says its
    SHA-256, which is ``digest``, so that later phases need not send it.
    """
    add_environment(request["environment"])
    answer = answer_to(request)
    if program and not request["check_mode"]:
        with contextlib.suppress(OSError, UntrustedError):
            if has_run_folder(request["node"]["run_folder"]):
                write_bytes(os.path.join(request["node"]["run_folder"], PROGRAM_NAME), program, 0o600)
                answer["program"] = digest
    sys.stdout.write(f"\n{ANSWER_MARK}{json.dumps(answer)}\n")
    sys.stdout.flush()
