"""The values of a step line besides its metrics."""

from __future__ import annotations

from ansible_collections.trainops.cluster.plugins.module_utils.logs.record import EVIDENCE


def of_metrics(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if name not in EVIDENCE}


def of_evidence(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if name in EVIDENCE}
