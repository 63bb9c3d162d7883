from __future__ import annotations

import typing as t

import pytest
from training_configs import DISTRIBUTED, filled, planned


def fetching(dataset: str, data_dir: str = "/home/{user-id}/data/", **options: t.Any) -> dict[str, t.Any]:
    """Return the plan of a run that fetches a dataset."""
    changes = {
        "config/mock_data": "False",
        "config/dataset_source": {"dataset": dataset, "data_dir": data_dir},
    }
    plan: dict[str, t.Any] = planned(filled(DISTRIBUTED, changes), **options)
    assert (plan["faults"], plan["warnings"]) == ([], [])
    return plan


@pytest.mark.parametrize("name", ["wiki", "bookcorpus"])
def test_what_the_script_of_megatron_fetches_is_where_it_leaves_it(name: str) -> None:
    for node in fetching(name)["nodes"]:
        assert node["dataset"] == {
            "name": name,
            "folder": "/home/amd/data/",
            "prefix": "/home/amd/data/data_text_document",
            "script": "examples/llama/prepare_dataset.sh",
            "tokenizer": "NousResearch/Meta-Llama-3-8B",
            "urls": [],
        }


def test_deepseeks_files_are_the_five_of_the_guide() -> None:
    dataset = fetching("DeepSeek")["nodes"][0]["dataset"]
    assert dataset["prefix"] == "/home/amd/data/mmap_deepseekv2_datasets_text_document"
    assert (dataset["name"], dataset["script"]) == ("deepseek", "")
    folder = (
        "https://atp-modelzoo-wlcb-pai.oss-cn-wulanchabu.aliyuncs.com/release/models/pai-megatron-patch/"
        "deepseek-datasets/"
    )
    assert all(url.startswith(folder) for url in dataset["urls"])
    assert [url[len(folder) :] for url in dataset["urls"]] == [
        "SlimPajama.json",
        "alpaca_zh-train.json",
        "alpaca_zh-valid.json",
        "mmap_deepseekv2_datasets_text_document.bin",
        "mmap_deepseekv2_datasets_text_document.idx",
    ]


def test_the_training_reads_what_was_fetched() -> None:
    for node in fetching("wiki")["nodes"]:
        read = {"MOCK_DATA": "0", "DATA_PATH": node["dataset"]["prefix"], "DATA_DIR": node["dataset"]["folder"]}
        assert {name: node["env"][name] for name in read} == read
        assert {f"{name}={value}" for name, value in read.items()} <= set(node["argv"])


def test_without_a_dataset_to_fetch_the_training_keeps_its_own_folder_of_data() -> None:
    node = planned(filled(DISTRIBUTED))["nodes"][0]
    assert "dataset" not in node
    assert "DATA_DIR" not in node["env"]


def test_a_rehearsal_fetches_no_dataset() -> None:
    assert all("dataset" not in node for node in fetching("wiki", training_rehearsal=True)["nodes"])
