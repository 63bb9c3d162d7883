#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes which keys MaxText has, each with its type, its default and the versions that know it.

    pip download --no-deps --python-version 3.12 --dest wheels maxtext==0.1.0    # and 0.2.0, 0.2.2, 0.2.5
    python tools/write_maxtext_keys.py wheels/maxtext-*.whl

Names, types and defaults are read out of base.yml and, from 0.2.0 on, of configs/types.py in each wheel; nothing of
MaxText is imported. MaxText's own descriptions stay with MaxText.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import typing as t
import zipfile
from pathlib import Path

import yaml

TARGET = Path(__file__).resolve().parents[1] / "plugins/plugin_utils/plan/formats/cvs1/maxtext/keys.json"

# ROCm/maxtext of spring 2025, which the images up to rocm/jax-training:maxtext-v25.5 have, is in no package index.
# It is MaxText 0.1.0 without these keys, and with two that came back in 0.2.0.
ROCM = "rocm-25.5"
_NOT_IN_ROCM = {
    *("save_checkpoint_on_completion", "enable_orbax_v1", "checkpoint_conversion_fn", "source_checkpoint_layout"),
    *("constant_bound_config", "use_qwix_quantization", "quantization_calibration_method", "mlp_activations_limit"),
    *("mtp_num_layers", "mtp_loss_scaling_factor", "mtp_eval_target_module", "use_custom_sort_vjp"),
    *("use_ring_of_experts", "norm_topk_prob", "expert_shard_attention_option", "moe_fsdp_use_two_stage_all_gather"),
    *("mlp_bias", "model_fsdp_ag_once", "attention_bias", "attention_sink", "enable_multi_tier_checkpointing"),
    *("multi_tier_checkpointing_backup_interval_minutes", "train_image_column", "eval_image_column"),
    *("dump_hlo_local_module_name", "rope_linear_scaling_factor", "rope_interleave", "rope_truncate"),
    *("rope_attention_scaling", "pagedattn_head_dim_alignment", "image_placeholder", "posemb_type_for_vit"),
    *("tile_size_for_vit", "conv_stride_for_vit", "subslice_shape", "enable_nnx"),
}
_ONLY_IN_ROCM = {"use_replicator_service": False, "replicator_backup_interval_minutes": 0}

_SIMPLE: dict[str, dict[str, t.Any]] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "PositiveInt": {"type": "integer", "minimum": 1},
    "NonNegativeInt": {"type": "integer", "minimum": 0},
    "float": {"type": "number"},
    "NonNegativeFloat": {"type": "number", "minimum": 0},
    "str": {"type": "text"},
    "PathStr": {"type": "text"},
    "list": {"type": "list"},
    "dict": {"type": "object"},
}
_NAMES = {bool: "boolean", int: "integer", float: "number", str: "text", list: "list", dict: "object"}
# Values longer than this are no help in a table.
_LONGEST_DEFAULT = 60
Key = dict[str, t.Any]


def keys_of(wheel: Path) -> dict[str, Key]:
    """Return the keys of one MaxText, each with ``type`` and, as far as known, its bounds and default."""
    with zipfile.ZipFile(wheel) as archive:
        base = _member(archive, "configs/base.yml")
        defaults: dict[str, t.Any] = yaml.safe_load(base or "")
        types = _member(archive, "configs/types.py")
        common = _member(archive, "common/common_types.py") or ""
    if types is None:
        typed = {name: {"type": _NAMES.get(type(value), "any")} for name, value in defaults.items()}
    else:
        typed = _typed_keys(ast.parse(types), ast.parse(common))
    unread = sorted(set(defaults) - set(typed))
    if unread:
        raise ValueError(f"{wheel.name}: no type was found for {', '.join(unread)}")
    for name, value in defaults.items():
        if value not in (None, "None") and len(json.dumps(value)) <= _LONGEST_DEFAULT:
            typed[name]["default"] = value
            if isinstance(value, str) and typed[name]["type"] == "list":
                typed[name]["type"] = "any"
    return typed


def _member(archive: zipfile.ZipFile, path: str) -> str | None:
    name = next((name for name in archive.namelist() if re.fullmatch(rf"maxtext/{path}", name, re.IGNORECASE)), None)
    return archive.read(name).decode() if name else None


def _typed_keys(types: ast.Module, common: ast.Module) -> dict[str, Key]:
    """Return the fields of the classes that make up MaxTextConfig, except those that MaxText derives itself."""
    classes = {node.name: node for module in (common, types) for node in module.body if isinstance(node, ast.ClassDef)}
    aliases = {
        node.targets[0].id: node.value
        for node in types.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    config = classes["MaxTextConfig"]
    parts = [classes[base.id] for base in config.bases if isinstance(base, ast.Name) and base.id != "DerivedValues"]
    return {
        statement.target.id: _type(statement.annotation, classes, aliases)
        for part in (*parts, config)
        for statement in part.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }


def _type(annotation: ast.expr, classes: t.Mapping[str, ast.ClassDef], aliases: t.Mapping[str, ast.expr]) -> Key:
    text = ast.unparse(annotation)
    if isinstance(annotation, ast.BinOp):
        key = _union([annotation.left, annotation.right], classes, aliases)
    elif isinstance(annotation, ast.Subscript):
        key = _subscripted(ast.unparse(annotation.value), annotation.slice, classes, aliases)
    elif text in aliases and text not in _SIMPLE:
        key = _type(aliases[text], classes, aliases)
    elif text in classes:
        key = _of_class(classes[text])
    else:
        key = _SIMPLE.get(text, {"type": "any"})
    return dict(key)


def _subscripted(
    outer: str, inner: ast.expr, classes: t.Mapping[str, ast.ClassDef], aliases: t.Mapping[str, ast.expr]
) -> Key:
    if outer == "Literal":
        words = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        return {"type": "text", "choices": [ast.literal_eval(word) for word in words]}
    if outer == "Optional":
        return {**_type(inner, classes, aliases), "optional": True}
    return {"type": "list", "items": _type(inner, classes, aliases)["type"]} if outer == "list" else {"type": "object"}


def _union(parts: list[ast.expr], classes: t.Mapping[str, ast.ClassDef], aliases: t.Mapping[str, ast.expr]) -> Key:
    none = [part for part in parts if isinstance(part, ast.Constant) and part.value is None]
    read = [_type(part, classes, aliases) for part in parts if part not in none]
    if {part["type"] for part in read} == {"integer", "number"}:
        read = [{"type": "number"}]
    optional = {"optional": True} if none or any(part.get("optional") for part in read) else {}
    return {**(read[0] if len(read) == 1 else {"type": "any"}), **optional}


def _of_class(node: ast.ClassDef) -> Key:
    bases = {ast.unparse(base) for base in node.bases}
    if not any(base.rpartition(".")[2] in ("Enum", "IntEnum") for base in bases):
        return {"type": "object"}
    values = [ast.literal_eval(statement.value) for statement in node.body if isinstance(statement, ast.Assign)]
    return {"type": "text", "choices": values} if isinstance(values[0], str) else {"type": "integer"}


def merged(versions: t.Mapping[str, dict[str, Key]]) -> dict[str, Key]:
    """Return all keys, each as its newest version has it, with ``since`` and, for one that is gone, ``until``.

    The possible values of a key include all that any version knows.
    """
    keys: dict[str, Key] = {}
    for version, known in versions.items():
        for name, key in known.items():
            earlier = keys.get(name, {"since": version})
            choices = dict.fromkeys([*earlier.get("choices", []), *key.get("choices", [])]) if "choices" in key else []
            more = {"choices": list(choices)} if choices else {}
            keys[name] = {**key, **more, "since": earlier["since"], "until": version}
    newest = list(versions)[-1]
    return {
        name: {field: value for field, value in key.items() if (field, value) != ("until", newest)}
        for name, key in sorted(keys.items())
    }


def main() -> int:
    """Write the keys of all given wheels; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path, help="wheels of maxtext, the oldest first")
    wheels = parser.parse_args().wheels
    versions = {wheel.name.split("-")[1]: keys_of(wheel) for wheel in wheels}
    oldest = next(iter(versions.values()))
    rocm = {name: key for name, key in oldest.items() if name not in _NOT_IN_ROCM}
    rocm |= {name: {"type": _NAMES[type(value)], "default": value} for name, value in _ONLY_IN_ROCM.items()}
    lines = [
        f"{json.dumps(name)}: {json.dumps(key, ensure_ascii=False)}"
        for name, key in merged({ROCM: rocm, **versions}).items()
    ]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{len(lines)} keys written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
