# SPDX-License-Identifier: GPL-3.0-or-later
"""One judged run, the input of every dialect."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ...contracts import Plan, Status, Summary


@dataclass(frozen=True)
class JudgedRun:
    """A judged run: its summary and plan, as in their files, and the nodes' statuses, in rank order."""

    summary: Summary
    plan: Plan
    statuses: list[Status]

    @property
    def measured(self) -> dict[str, float]:
        """Return the values of the metrics that have one."""
        metrics = self.summary["metrics"].items()
        return {metric: value for metric, found in metrics if (value := found["value"]) is not None}

    @property
    def parameters(self) -> Mapping[str, t.Any]:
        """Return the sizes of the run; logs without a training config have few."""
        return self.plan["parameters"]

    @property
    def image(self) -> str | None:
        """Return the image's name in the plan."""
        return next((node["image"] for node in self.plan["nodes"] if node.get("image")), None)

    @property
    def image_digest(self) -> str | None:
        """Return the digest of the image that the nodes started."""
        return next((image for status in self.statuses if (image := status["machine"]["image_id"])), None)

    @property
    def seconds(self) -> float | None:
        """Return how long the run took, in seconds, or None if unknown."""
        return None if self.started is None or self.ended is None else self.ended - self.started

    @property
    def started(self) -> float | None:
        """Return when the run began, in seconds since the epoch, or None if unknown."""
        return _instant(self.summary["started_at"])

    @property
    def ended(self) -> float | None:
        """Return when the run ended, in seconds since the epoch, or None if unknown."""
        return _instant(self.summary["ended_at"])


def _instant(text: str | None) -> float | None:
    return datetime.fromisoformat(text).timestamp() if text else None
