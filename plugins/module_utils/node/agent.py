# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry of the program that is sent to a node: a request on the way in, one line of JSON on the way out."""

from __future__ import annotations

import json
import sys
import typing as t

from .environment import add_environment
from .phases import PHASES, PhaseError

ANSWER_MARK = "trainops-answer:"


def main(request: dict[str, t.Any]) -> None:
    """Do the phase that the request names and print its answer behind a mark, whatever a login shell prints besides."""
    add_environment(request["environment"])
    try:
        answer = dict(PHASES[request["phase"]](request), failed=False)
    except (PhaseError, ValueError) as error:
        answer = {"failed": True, "message": str(error)}
    except OSError as error:
        answer = {"failed": True, "message": f"{error.filename}: {error.strerror}"}
    sys.stdout.write(f"\n{ANSWER_MARK}{json.dumps(answer)}\n")
    sys.stdout.flush()
