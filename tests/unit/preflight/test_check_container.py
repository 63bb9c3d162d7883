from __future__ import annotations

from preflight_cases import path_facts


def test_an_engine_that_is_missing_or_does_not_answer(bench) -> None:
    nodes = bench()
    nodes[1]["engines"]["docker"] = None
    nodes[2]["engines"]["docker"].update(
        version=None, storage=None, image=None, problem="docker info failed: no daemon"
    )
    assert nodes.code("engine", 1) == ("red", "engine_missing", "")
    assert nodes.code("engine", 2) == ("red", "engine_fails", "")
    assert nodes.cell("engine", 2)["values"] == {"engine": "docker", "said": "docker info failed: no daemon"}
    assert nodes.cell("image", 1)["status"] == nodes.cell("image", 2)["status"] == "grey"


def test_auto_takes_the_engine_that_is_there(bench) -> None:
    nodes = bench(engine="auto")
    assert nodes.cell("engine")["values"] == {"engine": "docker", "version": "27.3.1"}
    nodes[1]["engines"] = {"docker": None, "podman": {**nodes[1]["engines"]["docker"], "version": "5.2"}}
    assert nodes.cell("engine")["values"] == {"engine": "podman", "version": "5.2"}
    nodes[1]["engines"] = {"docker": None, "podman": None}
    assert nodes.code("engine") == ("red", "engine_missing", "")


def test_without_a_container_the_training_script_has_to_be_there(bench) -> None:
    nodes = bench(engine="none")
    assert nodes.cell("engine")["status"] == "green"
    assert nodes.cell("image")["status"] == nodes.cell("mounts")["status"] == "grey"
    script = "/workspace/Megatron-LM/examples/llama/train_llama3.sh"
    nodes[1]["paths"][script]["kind"] = "missing"
    assert nodes.code("engine") == ("red", "script_missing", "")
    assert nodes.cell("engine")["values"]["script"] == script


def test_an_image_that_is_not_there_yet(bench) -> None:
    nodes = bench(container_image="localhost/own:1")
    pulled = bench()
    for number in (1, 2):
        nodes[number]["engines"]["docker"]["image"] = pulled[number]["engines"]["docker"]["image"] = None
    assert pulled.code("image") == ("grey", "image_to_fetch", "")
    pulled[1]["engines"]["docker"]["knows_registry"] = False
    assert pulled.code("image") == ("red", "image_name_short", "")
    assert nodes.code("image") == ("red", "image_missing", "")
    nodes.plan["nodes"][0]["image_archive"] = "/srv/own.tar"
    nodes[1]["paths"]["/srv/own.tar"] = path_facts(kind="file")
    assert nodes.code("image") == ("grey", "image_to_load", "")
    nodes[1]["paths"]["/srv/own.tar"] = path_facts(kind="missing")
    assert nodes.code("image") == ("red", "image_archive_missing", "")
