"""Lets pytest import the trainer's package as ``trainer.tiny_lm``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "roles/training/files"))
