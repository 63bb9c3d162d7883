#!/usr/bin/env python3
# Copyright (c) 2026 The trainops.cluster maintainers
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the documents that are made from the plan's models; with --check it only tells which ones are stale."""

from __future__ import annotations

import argparse
import json
import sys
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.trainops.cluster.plugins.module_utils.logs._record import (  # noqa: E402
    METRICS,
    canonical_metric,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._fields import (  # noqa: E402
    default_of,
    nested_model,
    unit_of,
    variable_of,
    words_of,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._options import PlanOptions  # noqa: E402
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan._schema import schema  # noqa: E402
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._container import (  # noqa: E402
    ContainerConfig,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._expected import (  # noqa: E402
    ExpectedResults,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_config import (  # noqa: E402
    MegatronConfig,
    MegatronModelParameters,
)

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

_PAGE = """\
<!-- Written by tools/write_docs.py from the models in plugins/plugin_utils/plan. Change those, then run it. -->

# Training configs for Megatron-LM

A training config says how to train and what to train. The format is that of AMD's Cluster Validation Suite (CVS), and
its files work unchanged; [examples/megatron](../examples/megatron) holds three to start from.

```json
{{
  "$schema": "../../docs/schemas/megatron.schema.json",
  "config": {{
    "_comment": "how to run",
    "container_image": "rocm/megatron-lm:v25.5_py310",
    "nnodes": "4",
    "training_iterations": "30",
    "log_dir": "/home/{{user-id}}/LOG_DIR"
  }},
  "model_params": {{
    "multi_node": {{
      "llama3_1_8b": {{
        "mi300x": {{
          "tokenizer_model": "NousResearch/Meta-Llama-3-8B",
          "model_size": "8",
          "batch_size": "128",
          "micro_batch_size": "2",
          "sequence_length": "8192",
          "precision": "TE_FP8",
          "result_dict": {{"tokens_per_gpu": "12000"}}
        }}
      }}
    }}
  }}
}}
```

- **Text or number**: `"128"` and `128` mean the same, as do `"True"`, `"1"` and `true`.
- **`<changeme>`** marks what is to be filled in, also as part of a value. It is a fault only in what the run uses.
- **`{{user-id}}`** becomes the user who connects to the node.
- **Keys that begin with `_`** are notes, anywhere in the file.
- **`$schema`** gives an editor completion and checks while you type; leave it out where you need neither.
- **One branch** of `model_params` is used: that of the mode, the model (`training_model`) and the GPU (`training_gpu`).
  What the other branches hold does not matter.
- **Everything that is wrong is told at once**, before any node is touched: the path of the key, what it holds, and
  what would be right. A key that has no effect is a warning.

In the tables *becomes* is the variable that the training script gets, as environment and as `KEY=VALUE` argument.

## `config`: how to run

{config}

## `config.container_config`: what the container sees of the node

{container}

## `model_params.<mode>.<model>.<gpu>`: what to train

`<mode>` is `single_node` (a job of its own on each node) or `multi_node` (one job over all nodes); model and GPU are
called as you like.

{branch}

The sizes have to divide:

- the GPUs of a job by tensor × pipeline parallelism, which gives the data parallelism,
- the global batch size by micro batch size × data parallelism,
- the model's heads and the sequence length by the tensor parallelism, its layers by the pipeline parallelism.

## `result_dict`: what is expected

Each threshold is judged in its own direction. Without any, the run needs `training_record_only=true`.

{results}

## What else a node gets

| variable | value |
|---|---|
| `NODE_RANK` | place of the node in rank order; 0 on every node in single-node mode |
| `LOG_DIR` | `<log_dir>/<run_id>/<node>`, so that no two nodes write the same file |
| `TEE_OUTPUT` | `1`: the script's log comes to its output as well |
| `TRAINOPS_RUN_ID`, `TRAINOPS_NODE` | what the processes of a run are known by; environment only |

`MASTER_ADDR` is `localhost` and `NNODES` is 1 in single-node mode, and the `NCCL_IB_*` and `*_SOCKET_IFNAME` variables
are not set there.

## Variables of a plan

They are given in the inventory, with `-e`, or in a survey; strings will do.

{options}
"""


def documents() -> dict[Path, str]:
    """Return what every document has to hold, by its path."""
    return {
        ROOT / "docs/schemas/megatron.schema.json": json.dumps(schema("megatron"), indent=2, ensure_ascii=False) + "\n",
        ROOT / "docs/megatron_config.md": _PAGE.format(
            config=_table(MegatronConfig, _variable),
            container=_table(ContainerConfig, _variable),
            branch=_table(MegatronModelParameters, _variable),
            results=_table(ExpectedResults, _threshold, "judged as"),
            options=_table(PlanOptions, _variable),
        ),
    }


def _table(model: type[BaseModel], becomes: Callable[[str, FieldInfo], str], title: str = "becomes") -> str:
    """Return a Markdown table of a model's fields, without columns that would be empty."""
    rows = [["key", "type", "unit", "default", title, "meaning"]]
    for name, field in model.model_fields.items():
        default = "**required**" if field.is_required() else _code(default_of(field))
        kind = "object, see below" if nested_model(field) else words_of(field).removeprefix("a ").removeprefix("an ")
        rows.append([_code(name), kind, unit_of(field), default, becomes(name, field), str(field.description)])
    used = [place for place in range(len(rows[0])) if any(row[place] for row in rows[1:])]
    lines = [" | ".join(row[place] for place in used) for row in rows]
    return "\n".join(f"| {line} |" for line in [lines[0], " | ".join("---" for _ in used), *lines[1:]])


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _variable(_name: str, field: FieldInfo) -> str:
    return _code(variable_of(field))


def _threshold(name: str, _field: FieldInfo) -> str:
    metric = str(canonical_metric(name))
    return f"{_code(metric)} {'≥' if METRICS[metric].better == 'higher' else '≤'}"


def main() -> int:
    """Write or check the documents; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and exit with 1 where something is stale")
    check = parser.parse_args().check
    stale = [path for path, text in documents().items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        name = path.relative_to(ROOT)
        if check:
            print(f"{name} is stale; run python tools/write_docs.py", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(documents()[path], "utf-8")
            print(f"{name} written")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
