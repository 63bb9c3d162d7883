"""The layers that CONTRIBUTING.md draws are the layers that the linter enforces."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def drawn() -> dict[str, list[str]]:
    (block,) = re.findall(r"```\n(plugins: .*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    parts = (re.fullmatch(r"(\w+): +(.*)", part.strip(), re.DOTALL) for part in block.split("\n\n"))
    return {part[1]: [line.strip() for line in part[2].splitlines()] for part in parts}


def held() -> dict[str, list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = {contract["containers"][0]: contract["layers"] for contract in contracts if contract["type"] == "layers"}
    return {container.rpartition(".")[2]: lines for container, lines in layers.items() if "logs" not in container}


def test_contributing_draws_the_contracts_of_the_linter():
    assert drawn() == held()
