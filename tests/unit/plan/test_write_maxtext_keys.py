"""The tool that reads MaxText's keys out of its packages, on packages made for the test."""

from __future__ import annotations

import importlib.util
import typing as t
import zipfile
from pathlib import Path

import pytest
from training_configs import ROOT

SPEC = importlib.util.spec_from_file_location("write_maxtext_keys", ROOT / "tools/write_maxtext_keys.py")
assert SPEC
assert SPEC.loader
tool = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tool)

TYPES = """
Kind = Literal["a", "b"]
class Colour(str, Enum):
  RED = "red"
  NONE = ""
class Level(enum.IntEnum):
  LOW = 0
class Nested(BaseModel):
  inner: int = 1
class Some(BaseModel):
  flag: bool = Field(True)
  count: PositiveInt = 1
  rate: NonNegativeFloat = 0.1
  both: int | float = 1
  maybe: None | int = None
  other: Optional[str] = None
  words: list[str] = []
  kind: Kind = "a"
  colour: Colour = Colour.RED
  level: Level = 0
  nested: Nested = Field(default_factory=Nested)
  rules: CustomRule = None
class DerivedValues(BaseModel):
  computed: int = 0
class MaxTextConfig(Some, DerivedValues):
  own: dict[str, Any] = {}
"""
BASE = "flag: true\ncount: 3\nmaybe: None\nwords: ''\n"


def wheel(folder: Path, version: str, **members: str) -> Path:
    path = folder / f"maxtext-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/").replace("_yml", ".yml").replace("_py", ".py"), text)
    return path


def test_types_and_defaults_are_read_without_importing_anything(tmp_path: Path) -> None:
    keys = tool.keys_of(wheel(tmp_path, "0.2.0", maxtext__configs__base_yml=BASE, maxtext__configs__types_py=TYPES))
    assert keys == {
        "flag": {"type": "boolean", "default": True},
        "count": {"type": "integer", "minimum": 1, "default": 3},
        "rate": {"type": "number", "minimum": 0},
        "both": {"type": "number"},
        "maybe": {"type": "integer", "optional": True},
        "other": {"type": "text", "optional": True},
        "words": {"type": "any", "items": "text", "default": ""},
        "kind": {"type": "text", "choices": ["a", "b"]},
        "colour": {"type": "text", "choices": ["red", ""]},
        "level": {"type": "integer"},
        "nested": {"type": "object"},
        "rules": {"type": "any"},
        "own": {"type": "object"},
    }


def test_a_package_without_types_has_those_of_its_defaults(tmp_path: Path) -> None:
    base = "a: 1\nb: 1.5\nc: x\nd: true\ne: [1]\n"
    keys = tool.keys_of(wheel(tmp_path, "0.1.0", MaxText__configs__base_yml=base))
    assert {name: key["type"] for name, key in keys.items()} == {
        "a": "integer",
        "b": "number",
        "c": "text",
        "d": "boolean",
        "e": "list",
    }


def test_a_key_without_a_type_is_not_overlooked(tmp_path: Path) -> None:
    path = wheel(tmp_path, "0.2.0", maxtext__configs__base_yml="new: 1\n", maxtext__configs__types_py=TYPES)
    with pytest.raises(ValueError, match="no type was found for new"):
        tool.keys_of(path)


def test_versions_are_told_and_values_of_all_versions_kept() -> None:
    versions: dict[str, dict[str, t.Any]] = {
        "1": {"a": {"type": "text", "choices": ["x"]}, "gone": {"type": "integer"}},
        "2": {"a": {"type": "text", "choices": ["y"]}, "new": {"type": "integer"}},
    }
    assert tool.merged(versions) == {
        "a": {"type": "text", "choices": ["x", "y"], "since": "1"},
        "gone": {"type": "integer", "since": "1", "until": "1"},
        "new": {"type": "integer", "since": "2"},
    }
