"""What a run says while it trains is there for who reads it through a pipe, as with tee, nohup or a CI server."""

from __future__ import annotations

from playbook_bench import Bench


def test_steps_are_shown_through_a_pipe_while_the_run_trains(bench: Bench) -> None:
    config, inventory = bench.config(training_iterations="100000"), bench.inventory(node0={}, node1={})
    run = bench.start_as_user("megatron_multinode.yml", inventory, config, training_run_id="long")
    shown = next(line for line in run.stdout if "/100000" in line)
    assert " ms  " in shown
    assert bench.trainings()
    bench.play("stop.yml", inventory, config, training_run_id="long")
    output, _ = run.communicate(timeout=60)
    assert "PLAY RECAP" in output
    assert bench.trainings() == []
