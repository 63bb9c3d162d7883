# SPDX-License-Identifier: GPL-3.0-or-later
"""The training config of examples/maxtext for GKE, filled in and changed."""

from __future__ import annotations

import typing as t

from maxtext_configs import filled

BRANCH = "model_params/multi_node/llama2-70b/v5p"
PATH = "model_params.multi_node.llama2-70b.v5p"
ON_GKE = {"training_platform": "gke", "training_gpus_per_node": "4"}


def on_gke(changes: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
    """Return the config with all that is to be filled in, and changes by the path of their keys."""
    own = {
        "config/gke/cluster": "mine",
        "config/gke/project": "lab",
        "config/gke/zone": "us-east5-a",
        "config/container_image": "gcr.io/lab/maxtext:0.2.5",
        f"{BRANCH}/base_output_directory": "gs://lab/maxtext",
        f"{BRANCH}/result_dict": {"tflops_per_sec_per_gpu": "300"},
    }
    return filled("gke_v5p_llama2_70b", {**own, **(changes or {})})
