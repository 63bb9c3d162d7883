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
from .phase import Answer, NodeError, NodeHeldError, RunGoneError, add_environment

if t.TYPE_CHECKING:
    from .contracts import Request

ANSWER_MARK = "trainops-answer:"
PROGRAM_NAME = "program"


def answer_to(request: Request) -> Answer:
    """Do the phase that a request names, and return its answer; ``failed`` says that there is a ``message`` only."""
    try:
        return dict(phase_of(request["phase"])(request), failed=False)
    except RunGoneError as error:
        return {"failed": True, "gone": True, "message": str(error)}
    except NodeHeldError as error:
        return {"failed": True, "held_by": error.by, "running": error.running, "message": str(error)}
    except (NodeError, ValueError) as error:
        return {"failed": True, "message": str(error)}
    except OSError as error:
        return {"failed": True, "message": ": ".join(str(part) for part in (error.filename, error.strerror) if part)}


def phase_of(name: str) -> t.Callable[[Request], Answer]:
    """Return what does a phase; only its own modules are loaded."""
    return t.cast("t.Callable[[Request], Answer]", getattr(importlib.import_module(f"..phases.{name}", __name__), name))


def main(request: Request, program: bytes | None = None, digest: str | None = None) -> None:
    """Run the requested phase and print its answer behind a marker, so that output of a login shell does not matter.

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
