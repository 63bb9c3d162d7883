"""Logs of trainers of other years, with more fields in another order, are judged like today's."""

from __future__ import annotations

import pytest
from logged_runs import SILENT

from ansible_collections.trainops.cluster.plugins.plugin_utils.report import write
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.files import find_runs
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.open import read_runs, write_run
from ansible_collections.trainops.cluster.plugins.plugin_utils.run_from_logs.plan import Known

LINES = {
    "megatron of 2021": (
        " iteration {step:8d}/{total:8d} | consumed samples: {samples:12d} |"
        " elapsed time per iteration (ms): {ms:.1f} |"
        " learning rate: 1.000E-04 | global batch size:   128 | lm loss: {loss:.6E} | loss scale: 1.0 |"
        " grad norm: 1.000 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    ),
    "megatron of 2027": (
        "[2027-01-02 03:04:05.123456] iteration {step}/{total} | loss scale: 1.0 | lm loss: {loss:.6E} | router"
        " entropy: 1.2E-01 | rank of the last expert: 7/64 | elapsed time per iteration (ms): {ms:.1f} (avg 101.2) |"
        " throughput per GPU (TFLOP/s/GPU): 400.0 | global batch size: 128 | grad norm: 1.000 | consumed tokens: 12 |"
        " consumed samples: {samples} | learning rate: 1.0E-4 | number of nan iterations: 0 |"
        " number of skipped iterations: 0 | data loader (ms): 1.5 |\n"
    ),
    "maxtext of 2023": "completed step: {at}, seconds: {seconds:.3f}, TFLOP/s: 120.5, loss: {loss:.3f}\n",
    "maxtext of 2027": (
        "2027-01-02 03:04:05.123 | INFO | maxtext:log:181 - completed step: {at}, goodput: 0.98, loss: {loss:.3f},"
        " mtp_loss: 0.1, Tokens/s/device: 800.1, seconds: {seconds:.3f}, MFU: 45.1%, TFLOP/s/device: 120.5\n"
    ),
    "nxdt of 2027": (
        "Epoch 0: {percent:3d}%|███▍      | {step}/{total} [00:{step:02d}<00:30, 0.98it/s, v_num=2, mfu=0.41,"
        " gradient_norm=1.00, consumed_samples={samples}.0, reduced_train_loss={loss:.2f}, throughput=10.2, lr=1e-4]\r"
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_the_log_of_another_year_passes(tmp_path, monkeypatch, name):
    monkeypatch.setattr(write, "_write_files", lambda *_run: True)
    total = 12
    lines = [
        LINES[name].format(
            step=step,
            at=step - 1,
            total=total,
            samples=step * 128,
            percent=100 * step // total,
            ms=100 + step % 3,
            seconds=2.5 + step % 3 / 100,
            loss=9 - step / 10,
        )
        for step in range(1, total + 1)
    ]
    framework = name.partition(" ")[0]
    folder = tmp_path / "logs"
    folder.mkdir()
    end = "\n`Trainer.fit` stopped: `max_steps=12` reached.\n" if framework == "nxdt" else ""
    (folder / "node1.log").write_text("".join(lines) + end)
    if framework == "megatron":
        (folder / "node0.log").write_text(SILENT.replace("2026", "2027") if "2027" in name else SILENT)
    (run,) = find_runs([str(folder)])
    known = Known("", "", {"training_record_only": True}, len(run.files), 0, None, total)
    (read,) = read_runs(run, tmp_path / "out", None, None, known)
    write_run(read, 0)
    summary = write.write_report(read.run_dir, 2)[0]
    assert [(reason["code"], reason["message"]) for reason in summary["reasons"] if reason["verdict"] != "PASS"] == []
    assert (summary["verdict"], summary["framework"]) == ("PASS", framework)
