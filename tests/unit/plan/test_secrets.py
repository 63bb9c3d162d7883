from __future__ import annotations

import json

import pytest
from training_configs import DISTRIBUTED, filled, planned

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.secret_names import (
    HIDDEN,
    is_secret_name,
    line_without_secrets,
    without_secrets,
)

TOKEN = "hf_" + "Secret0123456789"


@pytest.mark.parametrize("name", ["HF_TOKEN", "hf_token", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "password", "pwd"])
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["hf_token_file", "HF_TOKEN_PATH", "TOKENIZERS_PARALLELISM", "tokens_per_gpu", "MOE_TOKEN_DISPATCHER", "", "_"],
)
def test_names_of_what_is_no_secret(name: str) -> None:
    assert not is_secret_name(name)


def test_values_are_hidden_by_name_and_by_look_at_any_depth() -> None:
    value = {"HF_TOKEN": "abc", "a": [f"x {TOKEN}", {"password": 1}], "n": 5, "key": None}
    assert without_secrets(value) == {
        "HF_TOKEN": HIDDEN,
        "a": [f"x hf_{HIDDEN}", {"password": HIDDEN}],
        "n": 5,
        "key": None,
    }


def test_a_line_that_may_hold_a_secret_is_not_shown() -> None:
    assert line_without_secrets('"HF_TOKEN": "abc') == HIDDEN
    assert line_without_secrets(f'"note": "{TOKEN}') == f'"note": "hf_{HIDDEN}'
    assert line_without_secrets('"nnodes": 4,,') == '"nnodes": 4,,'


@pytest.mark.parametrize(
    "changes",
    [
        {"config/hf_token_file": TOKEN},
        {"config/hf_token": TOKEN},
        {"config/hf_token": "of-another-look"},
        {"config/secret": {"deep": ["of-another-look"]}},
        {"config/container_config/env_dict": {"HF_TOKEN": TOKEN}},
        {"config/container_config/env_dict": {"WANDB_API_KEY": "of-another-look"}},
        {"config/container_config/env_dict": {"WANDB_API_KEY": "of-another-look\nline"}},
        {"config/container_config/env_dict": [{"WANDB_API_KEY": "of-another-look"}]},
        {"config/container_config": TOKEN},
        {"config/nnodes": TOKEN},
        {"config/nccl_ib_hca_list": f"a,{TOKEN};b"},
    ],
)
def test_no_plan_holds_a_secret(changes: dict[str, object]) -> None:
    plan = planned(filled(DISTRIBUTED, changes))
    assert plan["faults"]
    text = json.dumps(plan)
    assert TOKEN not in text
    assert "of-another-look" not in text


@pytest.mark.parametrize("line", [f'"hf_token": "{TOKEN}",,', '"hf_token": "of-another-look",,', f'"x": "{TOKEN}",,'])
def test_no_plan_of_broken_json_holds_a_secret(line: str) -> None:
    text = json.dumps(planned(f"{{\n{line}\n}}"))
    assert TOKEN not in text
    assert "of-another-look" not in text
