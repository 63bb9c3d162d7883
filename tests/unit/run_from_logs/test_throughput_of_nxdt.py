# SPDX-License-Identifier: GPL-3.0-or-later
"""The throughput of NxDT's bars against the samples and seconds that they show, without a config."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.report import write
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.files import find_runs
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.open import read_runs, write_run
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.plan import Known

SECONDS, BATCH, USUAL = 25.0, 256, 256 / 25.0


def bars(throughput: list[float], resumed: int = 0) -> str:
    """Return the bars of steps of 25 s, of a training that had consumed the samples of this many steps."""
    steps = len(throughput)
    text = "> initializing world size to 32\n"
    for step, rate in enumerate(throughput, 1):
        passed = int(step * SECONDS)
        text += (
            f"Epoch 0:  {step * 100 // steps:2d}%|▎         | {step}/{steps}"
            f" [{passed // 60:02d}:{passed % 60:02d}<10:00, {SECONDS:.2f}s/it, v_num=2,"
            f" reduced_train_loss={9 - step / 8:.2f}, lr=1.5e-4, parameter_norm=4321.0,"
            f" global_step={step - 1}.000, consumed_samples={(resumed + step) * BATCH:.1f}, throughput={rate:.2f},"
            f" gradient_norm=1.{step:02d}]\r"
        )
    return f"{text}\n`Trainer.fit` stopped: `max_steps={steps}` reached.\n"


@pytest.mark.parametrize(
    ("throughput", "resumed", "told"),
    [
        ([USUAL] * 30, 0, []),
        ([2 * USUAL] * 30, 0, ["rates_disagree"]),
        ([USUAL / 2] * 30, 0, ["rates_disagree"]),
        # A mean of the last 10 steps; the first took 200 s.
        ([BATCH * step / (200 + SECONDS * (step - 1)) for step in range(1, 13)], 0, []),
        # The three digits of the samples do not show their growth.
        ([2 * USUAL] * 30, 9000, []),
    ],
    ids=["right", "doubled", "half", "a short run that compiles", "resumed late"],
)
def test_the_throughput_is_that_of_the_samples_and_the_elapsed_time(
    throughput: list[float], resumed: int, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "_write_files", lambda *_run: True)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/node0.log").write_text(bars(throughput, resumed), encoding="utf-8")
    (run,) = find_runs([str(tmp_path / "logs")])
    (read,) = read_runs(run, tmp_path / "out", "nxdt", None, Known("", "", {"training_record_only": True}, 1, 0))
    write_run(read, 0)
    summary = write.write_report(read.run_dir)[0]
    assert [reason["code"] for reason in summary["reasons"] if reason["code"] == "rates_disagree"] == told
