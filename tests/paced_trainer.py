"""The embedded trainer with steps of 0.1 s.

A long run leaves the cores to the programs that follow and stop it, and is not over before that.
"""

from __future__ import annotations

import shutil
from pathlib import Path

TRAINER = Path(__file__).resolve().parents[1] / "roles/training/files/trainer"
LONG = 40
_STEP_ENDS = "        measured = Iteration(\n"
_PAUSE = "        time.sleep(max(0.0, start + 0.1 - time.perf_counter()))\n"


def paced_trainer(folder: Path) -> Path:
    """Return the path of a copy of the trainer, in a folder. Its steps take 0.1 s each, or their real time if more."""
    trainer = folder / "paced_trainer"
    if not trainer.exists():
        shutil.copytree(TRAINER, trainer, ignore=shutil.ignore_patterns("__pycache__"))
        program = trainer / "tiny_lm/pretrain.py"
        head, step_ends, rest = program.read_text().partition(_STEP_ENDS)
        assert step_ends
        program.write_text(head + _PAUSE + step_ends + rest)
    return trainer
