# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user may say about a run in addition to the training config: the variables that make a plan.

A field is the only part of an option that is written by hand: ``make generated`` makes of it the documentation of
roles and modules, the defaults of roles and the surveys, and the action plugins take it by its name.
"""

from __future__ import annotations

import typing as t

from ..config.field_types import (
    NAME,
    Flag,
    FreeObject,
    Line,
    NaturalInteger,
    PathOrNothing,
    PortOrNothing,
)
from ..config.fields import ConfigSection, key, optional
from ..config.kinds import OneOf, Whole
from ..config.texts import Several, Written

# The platform whose nodes are hosts of the inventory.
ON_HOSTS = "gce"
# It becomes, with a node's name, a part of a file name.
LONGEST_RUN_ID = 128

HostNames = t.Annotated[list[str], Several(NAME, "names of inventory hosts, as a list or with commas", at_least=0)]
RunId = t.Annotated[
    str,
    Written(
        "([A-Za-z0-9][A-Za-z0-9_.-]*)?",
        "a name for folders and containers",
        f"a name of letters, digits and . _ - (not in front), {LONGEST_RUN_ID} characters at most",
        free=True,
        longest=LONGEST_RUN_ID,
    ),
]


class ConfigOptions(ConfigSection):
    """The variables with which a training config is read, for a run as for logs that already exist.

    Values may be strings, as extra variables and surveys give them.
    """

    training_framework: str = key("Framework of the training config; auto finds it out from the file.", default="auto")
    training_mode: t.Annotated[str, OneOf(("auto", "single_node", "multi_node"))] = key(
        "One job over all nodes (multi_node), one on each (single_node), or what the config offers (auto).",
        default="auto",
    )
    training_model: Line = key(
        "Model of the config's model_params; where it has just one, none need be named.", default=""
    )
    training_gpu: Line = key(
        "GPU of the model's branch; MI300X, mi300x and mi300 mean the same. Where it has just one, none need be named.",
        default="",
    )
    training_gpus_per_node: t.Annotated[int, Whole(1, 1024)] = key(
        "GPUs of each node that take part.", default=8, unit="GPUs"
    )
    training_unknown_keys: t.Annotated[str, OneOf(("fault", "warn"))] = key(
        "Whether an unknown key of the config stops the run or is only a warning.", default="fault"
    )
    training_record_only: Flag = key(
        "Judge no thresholds; those of the config need not be filled in then. "
        "A run without any is only recorded as well, with a warning.",
        default=False,
    )
    training_max_skipped: NaturalInteger = key(
        "How many iterations may be skipped after the warm-up, but for those that search a loss scale.",
        default=0,
        unit="iterations",
    )
    training_scale_batch: t.Annotated[str, OneOf(("none", "reference_nodes"))] = key(
        "Take the global batch size as it is (none), or as tuned for the config's number of nodes and "
        "scale it to those at hand (reference_nodes); these may be another number then.",
        default="none",
    )
    training_thresholds: Line = key(
        "File with thresholds, such as a *_threshold.json of AMD CVS, in place of those of the config. "
        "Of its cells the one for the run is taken.",
        default="",
    )
    training_overrides: FreeObject = key(
        "Values in place of the config's, by the paths of their keys: "
        '{"batch_size": 256, "config.training_iterations": 50}. In a CVS config a path begins at a section, or with a '
        "key of config or of the branch; in any other config it begins at the top.",
        default={},
    )
    container_engine: t.Annotated[str, OneOf(("auto", "docker", "podman", "apptainer", "none"))] = key(
        "What holds the training on a node; auto takes the one that is there. apptainer is for jobs of Slurm.",
        default="auto",
    )


class RunOptions(ConfigOptions):
    """The variables of a plan that every framework has."""

    training_platform: str = key(
        "Train on hosts of the inventory, in any cloud or none (gce), or let Google's XPK start a workload "
        "on GKE (gke), as config.gke says.",
        default=ON_HOSTS,
    )
    training_rehearsal: Flag = key(
        "Run the plan with the embedded trainer in place of the real one, for a minute.", default=False
    )
    training_rank_order: HostNames = key(
        "All hosts of the run in rank order, where the inventory's order is not wanted. The first is rank 0.",
        default=[],
    )
    training_exclude: HostNames = key("Hosts that are left out.", default=[])
    training_master_port: PortOrNothing = optional(
        "Port on rank 0 where the nodes meet, in place of the framework's own."
    )
    training_hf_token_file: Line = key(
        "File on the controller with the Hugging Face token, in place of the config's hf_token_file. "
        "A vaulted variable training_hf_token goes before it.",
        default="",
    )
    training_run_id: RunId = key("Name of the run. Without it, time, model and GPU make one.", default="")
    training_spares: Line = key(
        "Group of the inventory whose hosts take no part until another host is in quarantine.", default=""
    )
    training_retries: NaturalInteger = key(
        "How often a job over all nodes is tried again when it failed of a node: with a spare in its "
        "place, or else on fewer nodes. The node is in quarantine from then on. A fault of the config or of the model "
        "is not tried again, nor are the runs of a sweep.",
        default=0,
    )
    training_abort_on_nan: Flag = key(
        "Stop the run on every node as soon as a step says that the loss is NaN or infinite, but for steps "
        "that were skipped. Of nodes that train apart from each other, only that one is followed no further.",
        default=False,
    )
    training_keep_runs: NaturalInteger = key(
        "How many ended runs keep their folders on a node, the last ones; 0 keeps all. Older folders of "
        "the same user are removed when a run is staged, with all that the trainer wrote there, such as checkpoints. "
        "The controller keeps its own records.",
        default=0,
        unit="runs",
    )
    training_keep_days: NaturalInteger = key(
        "With training_keep_runs, no folder goes of a run that ended in so many days.", default=7, unit="days"
    )
    training_on_interrupt: t.Annotated[str, OneOf(("detach", "stop"))] = key(
        "What the first Ctrl-C or SIGTERM does while the run is followed: leave the training to itself "
        "(detach), or stop it on every node and judge it (stop).",
        default="detach",
    )
    container_profile: t.Annotated[str, OneOf(("privileged", "hardened"))] = key(
        "Start containers with all privileges, as AMD's guide does, or with the named devices and no "
        "more capabilities than RDMA and GPUs need.",
        default="privileged",
    )
    training_image_archive: PathOrNothing = key(
        "Image as a file on the nodes, loaded where the image is missing instead of pulled.", default=""
    )
