"""The training configs and answers of nodes are shared with the tests of other rooms."""

from __future__ import annotations

import sys
from pathlib import Path

UNIT = Path(__file__).resolve().parents[1]
sys.path += [str(UNIT / room) for room in ("plan", "run")]
