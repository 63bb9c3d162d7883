"""Shell scripts that are given for a training config: the fault says what each starts, and what to give instead."""

from __future__ import annotations

import pytest
from training_configs import nodes, only

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.plan import make_plan

SHELL = "#!/bin/bash\nset -e\n"
# The launch line of each comes from the tool's own scripts.
SCRIPTS = {
    "configs/tpu/v5p/128b.sh": ("python3 -m maxtext.trainers.pre_train.$EXECUTABLE base.yml", '"tpu/v5p/128b"'),
    "src/maxtext/configs/tpu/v4/22B.sh": ("python3 -m MaxText.$EXECUTABLE base.yml", '"tpu/v4/22b"'),
    "mine.sh": ("python3 src/MaxText/train.py my.yml run_name=x", "examples/maxtext"),
    "of_module.sh": ("python3 -m MaxText.train my.yml", "examples/maxtext"),
    "train_llama3.sh": ("torchrun $DISTRIBUTED_ARGS pretrain_gpt.py $EXTRA_ARGS", "examples/megatron"),
    "job.sbatch": ("srun bash examples/llama/train_llama2.sh MODEL_SIZE=70", "examples/megatron"),
    "run_train.sh": (
        "torchrun --role rank --tee 3 -m torchtitan.train --job.config_file x.toml",
        "examples/torchtitan",
    ),
    "llama.slurm": ("srun torchrun ./torchtitan/train.py", "examples/torchtitan"),
    "primus.sh": ("runner/primus-cli direct -- train pretrain --config exp.yaml", "examples/primus"),
    "bridge.sh": (
        "./scripts/training/train.sh --nodes 2 --recipe llama3_8b_pretrain_config",
        "examples/megatron_bridge",
    ),
    "train.sh": ("torchrun training_orchestrator.py --config-path=conf", "examples/nxdt"),
    "finetune_llama.sh": ("torchrun finetune_llama.py --model_id x", "Optimum Neuron"),
    "no_ending": ("mpirun ./my_trainer", "examples/"),
}


@pytest.mark.parametrize("asked", ["auto", "maxtext", "megatron"])
@pytest.mark.parametrize("source", SCRIPTS)
def test_a_script_is_named_and_what_to_give_instead(source: str, asked: str) -> None:
    line, said = SCRIPTS[source]
    plan = make_plan(f"{SHELL}{line}\n", source, {"training_framework": asked}, nodes(2), "now")
    fault = only(plan["faults"])
    assert fault["key"] == "training_config"
    assert "script" in fault["message"]
    assert said in f"{fault['message']} {fault['remedy']}"


@pytest.mark.parametrize(
    ("text", "source"),
    [("# bash\nmodel: {}\n", "c.yaml"), ("recipes: [pretrain_gpt.py]\n", "c.yaml"), ('{"config": {}}', "c.json")],
)
def test_other_files_are_no_scripts(text: str, source: str) -> None:
    plan = make_plan(text, source, {}, nodes(2), "now")
    assert not any("script" in fault["message"] for fault in plan["faults"] if fault["key"] == "training_config")
