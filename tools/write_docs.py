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
    key_of,
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
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._maxtext_branch_config import (  # noqa: E402
    MaxTextModelParameters,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._maxtext_config import (  # noqa: E402
    GkeConfig,
    MaxTextConfig,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._maxtext_keys import KEYS  # noqa: E402
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_config import (  # noqa: E402
    MegatronConfig,
    MegatronModelParameters,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_dataset import (  # noqa: E402
    DatasetSource,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_environment import (  # noqa: E402
    DEEPSEEK_NAMES,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_generations import (  # noqa: E402
    DEEPSEEK,
    GENERATIONS,
    LLAMA2,
    LLAMA3,
    READ,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._megatron_script_options import (  # noqa: E402
    ScriptOptions,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._nxdt_config import (  # noqa: E402
    NxdtConfig,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._nxdt_devices import (  # noqa: E402
    INSTANCES,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._nxdt_precision import (  # noqa: E402
    PRECISIONS,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._xla_flag_sets import (  # noqa: E402
    FLAG_SETS,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._xla_flags import FLAGS  # noqa: E402

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._nxdt_devices import Instance
    from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.frameworks._nxdt_precision import Precision

_LONGEST_LINE = 120
_PAGE = """\
<!-- Written by tools/write_docs.py from the models in plugins/plugin_utils/plan. Change those, then run it. -->

# Training configs for Megatron-LM

A training config says how to train and what to train. The format is that of AMD's Cluster Validation Suite (CVS), and
its files work unchanged; [examples/megatron](../examples/megatron) holds four to start from: Llama
3.1 on one node and on several, and DeepSeek-V2-Lite on one.

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

## `config.dataset_source`: a dataset to fetch

{dataset}

With `mock_data` False and no `data_path`, the launch script fetches it before the training, and `DATA_PATH` follows
from it: `<data_dir>/data_text_document`, or `<data_dir>/mmap_deepseekv2_datasets_text_document`. For example:

```json
"mock_data": "False",
"dataset_source": {{"dataset": "bookcorpus", "data_dir": "/home/{{user-id}}/bookcorpus"}}
```

- **Fetched once**: one node holds a lock in `data_dir`, the others wait, and `trainops_dataset` in it says what is
  there for good. This needs a `data_dir` that all nodes share and a mount (`volume_dict`) that brings it into the
  container; else each node fetches its own, and the first to be done waits for the last in the training's rendezvous.
- **A folder holds one dataset**, made with one tokenizer. A run that wants another one fails rather than mix them, as
  does one that finds a dataset there which no run has fetched: that one is trained on with `data_path`.
- **A failure ends the launch** with the exit status of the fetch; what it said is in the node's log. DeepSeek's
  downloads go on where they broke off, `prepare_dataset.sh` starts again.
- **The image matters**: `prepare_dataset.sh` of Megatron-LM for ROCm up to 2024 writes elsewhere, which the launch
  tells. It needs `HF_TOKEN_PATH` (`hf_token_file`) for a tokenizer with restricted access.

## `model_params.<mode>.<model>.<gpu>`: what to train

`<mode>` is `single_node` (a job of its own on each node) or `multi_node` (one job over all nodes); model and GPU are
called as you like.

{branch}

The sizes have to divide:

- the GPUs of a job by tensor × pipeline parallelism, which gives the data parallelism,
- the global batch size by micro batch size × data parallelism,
- the model's heads and the sequence length by the tensor parallelism, its layers by the pipeline parallelism.

### Options of the scripts

They stand in the same branch. Without a key the script's own default holds. Whatever else a script reads can be set
by its variable in `config.container_config.env_dict`.

{script_options}

## Scripts and their generations

| the model's name holds | script | sizes |
|---|---|---|
| `llama3`, `llama-3` | `examples/llama/train_llama3.sh` | 8, 70 |
| `llama2`, `llama-2` | `examples/llama/train_llama2.sh` | 7, 13, 70 |
| `deepseek_v2`, `deepseek-v2` | `examples/deepseek_v2/train_deepseekv2.sh` | 16 (V2-Lite) |

`config.training_scripts` names another script by the tokenizer. What a script reads differs from release to release of
ROCm's images. The image's tag tells the release; where it does not, `training_megatron_release` does, and without both
the newest generation is taken for granted, which the plan notes.

| generation | v25.3 | v25.5 | v26.1 |
|---|---|---|---|
| images | up to 25.3 | 25.4 to 25.12 | 26.1 and later |
| synthetic data, Llama | always | `MOCK_DATA` is 1, or no `DATA_PATH` | no `DATA_PATH` |
| synthetic data, DeepSeek | `MOCK_DATA` is 1 | `MOCK_DATA` is 1 | `MOCK_DATA` is 1 |
| NCCL and HSA variables | overwritten, unless a `KEY=VALUE` argument says otherwise | kept | kept |
| tokenizer of Llama 3 | meta-llama/Llama-3.1-8B | fetched with `HF_TOKEN` where its folder is missing | by its name |
| exit status of a failed training, Llama | 0 | 0 | that of the training |
| exit status of a failed training, DeepSeek | 0 | 0 | 0 |

A plan is right for its generation in each of these: arguments are given beside the environment, `DATA_PATH` is given
exactly where a dataset is trained on, a script that wants `HF_TOKEN` itself gets it from `hf_token_file` when it
starts, and whether a run succeeded is never taken from the exit status alone: the last step has to stand in the log.

An option that the script of the generation does not read is a warning, or a fault where the run would be another one
than was asked for. In this table ✓ marks what a script reads:

{reads}

`train_deepseekv2.sh` has its own names: {deepseek_names}. It trains on **one node of eight GPUs only**, in single-node
mode: addresses, ranks, tensor, pipeline, context (1) and expert parallelism (8) are written in it. It ends after step
50, recomputes what `activation_checkpointing` or `recompute` say (`AC`), and looks for its dataset in `DATA_DIR` from
v26.1 on, before that in a folder of its own, which the plan names.

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

With `profiling` the traces lie in `LOG_DIR`, where TensorBoard finds them. `MASTER_ADDR` is `localhost` and `NNODES` is
1 in single-node mode, and the `NCCL_IB_*` and `*_SOCKET_IFNAME` variables are not set there.

## Variables of a plan

They are given in the inventory, with `-e`, or in a survey; strings will do.

{options}
"""

_NXDT_PAGE = """\
<!-- Written by tools/write_docs.py from the models in plugins/plugin_utils/plan. Change those, then run it. -->

# Training configs for NxDT

A training config for NxDT (NeuronX Distributed Training on AWS Trainium) is the YAML file that NxDT itself reads, with
one section more, [`trainops`](#trainops), which says how to run and which NxDT does not look at.
[examples/nxdt](../examples/nxdt) holds four to start from: pre-training with the Megatron and with the Hugging Face
model, supervised fine-tuning, and direct preference optimization.

    ansible-playbook playbooks/nxdt_multinode.yml -i hosts -e training_config=examples/nxdt/hf_llama3_8b_sft.yaml

**No training was run on Trainium for this.** Neither the hardware nor the packages (`torch-neuronx`,
`neuronx-distributed`) were at hand. What is tested: that the examples compose with Hydra as NxDT composes them, with
the arguments of the plan; that the plan is what NxDT's sources ask for; and the compile pass with stand-ins for
`torchrun` and `neuron_parallel_compile`. How NxDT takes it on a real node is still to be seen.

- **The file is staged as it is**, to the last byte but `{{user-id}}`, which becomes the user who connects to the node.
  So `${{trainer.max_steps}}` and `3e-4` mean what they mean to NxDT. The checks read it with OmegaConf, as NxDT does,
  and with NeMo's resolver `multiply`. Only this one file is staged: a `defaults` list, which composes several, is
  refused.
- **The types are strict**, as NxDT converts nothing: `'3e-4'` in quotes is a text, and refused.
- **`<changeme>`** marks what is to be filled in.
- **Everything that is wrong is told at once**, before any node is touched. A key that has no effect is a warning.
- **A JSON Schema**, [nxdt.schema.json](schemas/nxdt.schema.json), lets an editor complete and check the file while you
  type: the first line of the examples names it for editors with a YAML language server.
- **Keys of a data module of your own** need `training_unknown_keys=warn`.
- **Without thresholds** in `trainops.result_dict` a run needs `training_record_only=true`; so a file of NxDT's own
  examples runs unchanged with that, `container_engine=none` and `training_nxdt_root`.

In the tables *becomes* is the variable or argument that carries the value; all else NxDT reads from the file.

## Top of the file

{top}
{sections}

## What each node runs

```text
torchrun --nproc_per_node <devices> --nnodes <nodes> --node_rank <rank> --master_addr <address> --master_port 41000
  training_orchestrator.py --config-path=<run folder> --config-name=nxdt_config trainer.devices=<devices>
  trainer.num_nodes=<nodes> exp_manager.explicit_log_dir=<folder> hydra.run.dir=<run folder>/hydra
```

NxDT's `train.sh` comes to the same line, but knows several nodes only under Slurm or Open MPI. `training_master_port`
gives another port. With `trainops.compile_first` every node compiles first, `COMPILE=1 neuron_parallel_compile` with
the same line, into its log but without the bars of the ten traced steps; it trains only if that succeeded. torchrun
waits for the other nodes, but not for ever: where compilation takes some nodes much longer than others, let them share
`compiler_cache_url`.

| variable | value |
|---|---|
| `XLA_DISABLE_FUNCTIONALIZATION`, `HYDRA_FULL_ERROR`, `MALLOC_ARENA_MAX` | 0, 1 and 128, as in `train_setup.sh` |
| `FI_PROVIDER`, `FI_EFA_USE_DEVICE_RDMA`, `FI_EFA_FORK_SAFE` | efa, 1 and 1, on several nodes that have EFA |
| `NEURON_LOGICAL_NC_CONFIG` | `trainer.lnc`, on Trn2 |
| `NNODES`, `NODE_RANK` | the nodes of the job, and the node's place among them |
| `TRAINOPS_RUN_ID`, `TRAINOPS_NODE` | what the processes of a run are known by |

`NEURON_CC_FLAGS` is not among them: NxDT appends `compiler_flags` to it in any case, so they would stand there twice.

### Precision

| `precision.type` | `XLA_USE_BF16` | `XLA_DOWNCAST_BF16` | `NEURON_RT_STOCHASTIC_ROUNDING_EN` | compiler flags |
|---|---|---|---|---|
{precisions}
| `manual` | `xla_use_bf16` | `xla_downcast_bf16` | `neuron_rt_stochastic_rounding_en` | |

`mixed_precisionSR`, the spelling of NxDT's documentation and of its own error message, is refused by its code, and so
here. `mixed_precision_SR` is taken, but has neither FP32 master weights nor FP32 accumulation of gradients: a warning.

### Instance types

| `trainops.instance_type` | devices of a node | EFA |
|---|---|---|
{instances}

## What has to fit

- The devices of a job by tensor × pipeline × context parallelism, which gives the data parallelism, and by tensor ×
  pipeline × expert parallelism.
- The global batch size by micro batch size × data parallelism. NxDT itself would cut it off without a word.
- Heads and key/value heads × `kv_replicator` by the tensor parallelism; with `model_source: hf` they stand in
  `config.json` on the nodes, and are not checked.
- Layers by pipeline stages, or one fewer `pipeline_cuts` than stages.
- Context parallelism needs ring attention, no flash attention, and `data.seq_length` equal to `encoder_seq_length`.
- `model_source: megatron` needs `zero1`; dropless experts need swiglu.
- Fine-tuning and alignment need a file of records, `data.seq_length` and a tokenizer; a prompt has to be shorter than
  prompt and response together.
"""


_MAXTEXT_PAGE = """\
<!-- Written by tools/write_docs.py from the models in plugins/plugin_utils/plan. Change those, then run it. -->

# Training configs for JAX MaxText

The format is that of AMD's Cluster Validation Suite (CVS), in both of its shapes: with a key for each variable, and
with the objects `env_vars`, `xla_flags` and `rdma_lib`, also mixed. [examples/maxtext](../examples/maxtext) holds two
files to start from; how values, notes and `<changeme>` are read stands in
[Training configs for Megatron-LM](megatron_config.md).

<!-- tested with ansible-playbook --list-tasks -->
```console
ansible-playbook playbooks/maxtext_multinode.yml -i inventories/mine \\
  -e training_config=examples/maxtext/2_nodes_mi300x_llama_3_1_70b.json
```

Every node runs one process, `python3 <entry point> <run folder>/maxtext.yml`; the YAML is made of the branch and lies
in the run's folder. Which entry point that is, the tag of a ROCm image tells (`maxtext-v25.5`, …); for others, and
without a container, say `training_maxtext_entry_point`.

In the tables *becomes* is the variable, or in lower case the key of MaxText's YAML.

## `config`: how to run

{config}

## `config.container_config`: what the container sees of the node

{container}

Variables of `env_vars` go before those of `env_dict`; those that the plan sets win over both. `JAX_COORDINATOR_PORT`
there is the port where the nodes meet, unless `training_master_port` says another one; without both it is 1234.
`XLA_FLAGS` and `LIBTPU_INIT_ARGS` there are checked and joined with `xla_flags`.

## `model_params.<mode>.<model>.<gpu>`: what to train

The model's name is MaxText's, such as `llama3.1-70b`, unless `model_name` gives it.

{branch}

All other keys of MaxText are known as well, each with its type: [Keys of MaxText](maxtext_keys.md). They become keys of
the YAML under the same name.

- A key that no MaxText has is a fault, with the nearest one that there is. One that the image's MaxText is not known to
  have is a warning: MaxText ends at a key that it does not know. Only images up to `maxtext-v25.5` and from
  `maxtext-v26.4` on tell their MaxText.
- The `ici_` axes have to make up the GPUs of a node, the `dcn_` axes the nodes; one of each may be -1.
- Dimensions that are not those of the model's preset are told: MaxText takes the preset.

## `result_dict`: what is expected

Each threshold is judged in its own direction. Without any, the run needs `training_record_only=true`.

{results}

## Flags of XLA

Flags of TPUs belong in `LIBTPU_INIT_ARGS`, all others in `XLA_FLAGS`. A wrong type, a negative size, a flag that stands
there twice or in the wrong variable is a fault; a flag that is not in this table is a warning, as XLA ends the process
at one that it does not know.

{flags}

`xla_flag_set` takes the flags of one of MaxText's high-performance scripts:

{sets}

## On GKE

`playbooks/maxtext_gke.yml` trains where Google's [XPK](https://github.com/AI-Hypercomputer/xpk) has made a cluster, and
needs no inventory: the plan shows the line `xpk workload create`, and the controller runs it. With `--check` it only
shows it. `xpk` has to be on `PATH`.

<!-- tested with ansible-playbook --list-tasks -->
```console
ansible-playbook playbooks/maxtext_gke.yml -e training_gpus_per_node=4 \\
  -e training_config=examples/maxtext/gke_v5p_llama2_70b.json
```

{gke}

- `nnodes` are the hosts of all slices, `training_gpus_per_node` the chips of a host. The `ici_` axes have to make up a
  slice, the `dcn_` axes the slices.
- Nothing is staged: the keys of MaxText are arguments, `env_vars` and flags are variables of the container, and the
  output goes to `base_output_directory`, a bucket. What describes a host, such as mounts and devices, is not read.
- The playbook ends when GKE has the workload. Its log is judged afterwards with `playbooks/report.yml`.
- The line was held against the option parser of XPK 1.16 and its dry run. **No workload was started on GKE for this.**

`training_platform` is `gke` in that playbook; its default `gce` means hosts of the inventory, in any cloud or none.

## What else a node gets

| variable | value |
|---|---|
| `JAX_COORDINATOR_ADDRESS` | the same as `JAX_COORDINATOR_IP` |
| `NODE_RANK` | place of the node in rank order; 0 on every node in single-node mode |
| `HSA_FORCE_FINE_GRAIN_PCIE`, `HIP_FORCE_DEV_KERNARG` | 1, unless you set them |
| `NVTE_FUSED_ATTN`, `NVTE_ALLOW_NONDETERMINISTIC_ALGO` | 1, unless you set them |
| `NCCL_CROSS_NIC` | 0 in multi-node mode, unless you set it |
| `NCCL_IB_DISABLE` | 1 in single-node mode, unless you set it |
| `NCCL_SHM_DISABLE`, `NCCL_P2P_DISABLE` | 0 in single-node mode, unless you set them |
| `TRAINOPS_RUN_ID`, `TRAINOPS_NODE` | what the processes of a run are known by |

`JAX_DISTRIBUTED_INITIALIZATION_TIMEOUT_SECONDS` and `JAX_DISTRIBUTED_HEARTBEAT_TIMEOUT_SECONDS` are read by neither JAX
nor MaxText. The first one is translated to `jax_distributed_initialization_timeout`; for the second one there is none.
"""


_MAXTEXT_KEYS_PAGE = """\
<!-- Written by tools/write_docs.py from plugins/plugin_utils/plan/frameworks/maxtext_keys.json. -->

# Keys of MaxText

A branch of a [training config for MaxText](maxtext_config.md) may set each of these. Names, types and defaults are read
out of MaxText's packages 0.1.0, 0.2.0, 0.2.2 and 0.2.5 (`tools/write_maxtext_keys.py`); rocm-25.5 is the MaxText of
ROCm's images up to `maxtext-v25.5`. What a key does stands in `base.yml` and `configs/types.py` of MaxText.

A text will do for a number or for true and false, and digits may be grouped: `"500_000"`.

| key | type | default | since | until |
| --- | --- | --- | --- | --- |
{keys}
"""


def documents() -> dict[Path, str]:
    """Return what every document has to hold, by its path."""
    return {
        ROOT / "docs/schemas/megatron.schema.json": _json(schema("megatron")) + "\n",
        ROOT / "docs/megatron_config.md": _PAGE.format(
            config=_table(MegatronConfig, _variable),
            container=_table(ContainerConfig, _variable),
            dataset=_table(DatasetSource, _variable),
            branch=_table(MegatronModelParameters, _variable, but_of=ScriptOptions),
            script_options=_table(ScriptOptions, _variable),
            reads=_reads(),
            deepseek_names=", ".join(f"{_code(own)} for {_code(name)}" for name, own in DEEPSEEK_NAMES.items()),
            results=_table(ExpectedResults, _threshold, "judged as"),
            options=_table(PlanOptions, _variable),
        ),
        ROOT / "docs/nxdt_config.md": _NXDT_PAGE.format(
            top=_table(NxdtConfig, _variable),
            sections="\n".join(_sections(NxdtConfig, "")),
            precisions="\n".join(_precision_row(name, precision) for name, precision in PRECISIONS.items()),
            instances="\n".join(_instance_row(name, instance) for name, instance in INSTANCES.items()),
        ),
        ROOT / "docs/schemas/maxtext.schema.json": _json(schema("maxtext")) + "\n",
        ROOT / "docs/schemas/nxdt.schema.json": _json(schema("nxdt")) + "\n",
        ROOT / "docs/maxtext_keys.md": _MAXTEXT_KEYS_PAGE.format(keys="\n".join(_keys())),
        ROOT / "docs/maxtext_config.md": _MAXTEXT_PAGE.format(
            config=_table(MaxTextConfig, _variable),
            container=_table(ContainerConfig, _variable),
            branch=_table(MaxTextModelParameters, _variable),
            results=_table(ExpectedResults, _threshold, "judged as"),
            gke=_table(GkeConfig, _variable),
            flags=_flags(),
            sets=_flag_sets(),
        ),
    }


def _json(value: t.Any, indent: str = "") -> str:
    """Return a value as JSON, each part of it on one line where that is not too long."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(indent) + len(flat) <= _LONGEST_LINE:
        return flat
    inner = f"{indent}  "
    entries = value.items() if isinstance(value, dict) else ((None, part) for part in value)
    lines = [f"{inner}{'' if key is None else f'{json.dumps(key)}: '}{_json(part, inner)}" for key, part in entries]
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    return opened + "\n" + ",\n".join(lines) + f"\n{indent}{closed}"


def _sections(model: type[BaseModel], path: str) -> Iterator[str]:
    """Yield a heading and a table for every section below a model."""
    for name, field in model.model_fields.items():
        nested, key = nested_model(field), f"{path}{key_of(name, field)}"
        # Older versions of NxDT have the same section in two places; the page has it once.
        if nested and key != "data.alignment_strategy":
            judged = nested is ExpectedResults
            table = _table(nested, _threshold if judged else _variable, "judged as" if judged else "becomes")
            yield f"\n## `{key}`\n\n{field.description}\n\n{table}"
            yield from _sections(nested, f"{key}.")


def _precision_row(name: str, precision: Precision) -> str:
    values = [precision.use_bf16, precision.downcast_bf16, precision.stochastic_rounding or "not set"]
    return f"| `{name}` | {' | '.join(values)} | `{precision.compiler_flags}` |"


def _instance_row(name: str, instance: Instance) -> str:
    sizes = instance.lnc_sizes
    by_lnc = [f"{instance.logical_devices(lnc)}{f' at lnc {lnc}' if len(sizes) > 1 else ''}" for lnc in sizes]
    return f"| `{name}` | {', '.join(by_lnc)} | {'yes' if instance.efa else 'no'} |"


def _reads() -> str:
    """Return a Markdown table of the variables that each script of each generation reads."""
    columns = {
        f"`{script.rpartition('/')[2]}` {generation}": READ[script][generation]
        for script in (LLAMA3, LLAMA2, DEEPSEEK)
        for generation in GENERATIONS
    }
    variables = {name for names in columns.values() for name in names}
    lines = [f"| variable | {' | '.join(columns)} |", f"|---|{':-:|' * len(columns)}"]
    for name in sorted(variables):
        marks = ("✓" if name in names else "" for names in columns.values())
        lines += [f"| `{name}` | {' | '.join(marks)} |"]
    return "\n".join(lines)


def _table(
    model: type[BaseModel],
    becomes: Callable[[str, FieldInfo], str],
    title: str = "becomes",
    but_of: type[BaseModel] | None = None,
) -> str:
    """Return a Markdown table of a model's fields, but of those of another one, without columns that would be empty."""
    rows = [["key", "type", "unit", "default", title, "meaning"]]
    for name, field in model.model_fields.items():
        if but_of and name in but_of.model_fields:
            continue
        key = key_of(name, field)
        default = "**required**" if field.is_required() else _code(default_of(field))
        kind = "object, see below" if nested_model(field) else words_of(field).removeprefix("a ").removeprefix("an ")
        rows.append([_code(key), kind, unit_of(field), default, becomes(name, field), str(field.description)])
    used = [place for place in range(len(rows[0])) if any(row[place] for row in rows[1:])]
    lines = [" | ".join(row[place] for place in used) for row in rows]
    return "\n".join(f"| {line} |" for line in [lines[0], " | ".join("---" for _ in used), *lines[1:]])


def _keys() -> Iterator[str]:
    for name, key in KEYS.items():
        kind = key.kind.words.removeprefix("a ").removeprefix("an ")
        yield f"| {_code(name)} | {kind} | {_code(key.default)} | {key.since} | {key.until} |"


def _flag_sets() -> str:
    rows = ["| script | flags |", "| --- | --- |"]
    for name, flags in FLAG_SETS.items():
        rows.append(f"| {_code(name)} | {', '.join(_code(f'{flag}={value}') for flag, value in flags.items())} |")
    return "\n".join(rows)


def _flags() -> str:
    lines = ["| flag | belongs in | value | unit |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {_code(name)} | {_code(flag.variable)} | {flag.kind.value} | {flag.unit} |" for name, flag in FLAGS.items()
    ]
    return "\n".join(lines)


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
