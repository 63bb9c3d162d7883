# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as an OpenMetrics text file, for example for the textfile collector of Prometheus' node_exporter.

Units are OpenMetrics' base units (seconds and ratios). All families are gauges without timestamps, so that readers of
Prometheus' older text format understand the file, too.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator

from prometheus_client.core import CollectorRegistry, GaugeMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from ....module_utils.logs.record import ALL_METRICS
from ...metrics import ROWS, Family

if t.TYPE_CHECKING:
    from .judged_run import JudgedRun

VERDICTS = ("PASS", "FAIL", "INCONCLUSIVE", "ERROR")


def openmetrics(run: JudgedRun) -> str:
    """Return the text. Each sample has the label ``run_id``; a metric has a sample for each node."""
    registry = CollectorRegistry()
    registry.register(_Run(run))
    return str(generate_latest(registry).decode())


class _Run(Collector):
    """A judged run as a collector for Prometheus' client."""

    def __init__(self, run: JudgedRun) -> None:
        self._run = run

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the families that have a sample."""
        return (family for family in self._families() if family.samples)

    def _families(self) -> Iterator[GaugeMetricFamily]:
        run, summary = self._run, self._run.summary
        about = {name: summary[name] for name in ("framework", "model", "gpu", "mode")}
        about |= {"image": run.image or "", "image_digest": run.image_digest or ""}
        verdicts = [({"verdict": verdict}, verdict == summary["verdict"]) for verdict in VERDICTS]
        yield self._family(Family("training_run", "What was run; the value is always 1."), [(about, 1)])
        yield self._family(Family("training_run_verdict", "1 for the verdict of the run, 0 for the others."), verdicts)
        for family, value in (
            (Family("training_run_duration", "How long the run took.", "seconds"), run.seconds),
            (Family("training_run_end_timestamp", "When the run ended, since the epoch.", "seconds"), run.ended),
            (Family("training_run_nodes", "Nodes of the run."), len(summary["nodes"])),
            (ROWS["mfu"].family, summary["mfu"]),
        ):
            yield self._family(family, [({}, value)])
        for metric in ALL_METRICS:
            family = ROWS[metric].family
            nodes = [node for node in summary["nodes"] if metric in node["metrics"]]
            yield self._family(family, [({"node": node["node"]}, node["metrics"][metric]["value"]) for node in nodes])
            limits = family._replace(name=f"{family.name}_threshold", help=f"Limit of {family.name}.")
            for bound in [bound for bound in summary["thresholds"] if bound["metric"] == metric][:1]:
                sides = (("min", bound["least"]), ("max", bound["greatest"]))
                yield self._family(limits, [({"direction": side}, limit) for side, limit in sides])

    def _family(self, family: Family, samples: Iterable[tuple[dict[str, str], float | None]]) -> GaugeMetricFamily:
        gauge = GaugeMetricFamily(family.name, family.help, unit=family.unit)
        for labels, value in samples:
            if value is not None:
                run_id = {"run_id": self._run.summary["run_id"]}
                gauge.add_sample(gauge.name, run_id | labels, value * family.factor)
        return gauge
