# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter to_dataframe."""

from __future__ import annotations

DOCUMENTATION = r"""
name: to_dataframe
short_description: Records of a training as a pandas DataFrame
version_added: 1.0.0
author:
  - The trainops.cluster maintainers (@trainops)
description:
  - Puts records into a DataFrame with one row for each step and one column for each metric.
  - An Ansible variable cannot contain a DataFrame, so end the expression with a method that returns text
    or numbers, for example C(to_csv()).
requirements:
  - pandas
options:
  _input:
    description: The records returned by P(trainops.cluster.training_metrics#filter).
    type: list
    elements: dict
    required: true
seealso:
  - plugin: trainops.cluster.training_metrics
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Write the steps of a log as CSV
  ansible.builtin.copy:
    dest: steps.csv
    mode: "0644"
    content: "{{ ('train.log' | trainops.cluster.training_metrics | trainops.cluster.to_dataframe).to_csv() }}"
  delegate_to: localhost
"""

RETURN = r"""
_value:
  description: The DataFrame, whose index is attempt and step.
  type: raw
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.controller_action import late_imports, plain

if t.TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


def to_dataframe(records: t.Any) -> pd.DataFrame:
    """Return records as one row per attempt and step, with a column per metric; NaN where a step has no value."""
    with late_imports():
        import pandas as pd
    try:
        rows = [(row["attempt"], row["step"], row["metric"], float(row["value"])) for row in plain(records)]
    except (KeyError, TypeError, ValueError):
        message = "records must have attempt, step, metric and value, as returned by trainops.cluster.training_metrics"
        raise AnsibleFilterError(message) from None
    last = {(attempt, step, metric): value for attempt, step, metric, value in rows}
    index = pd.MultiIndex.from_tuples(last, names=["attempt", "step", "metric"])
    return pd.Series(list(last.values()), index, dtype=float).unstack("metric") if last else pd.DataFrame()


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., t.Any]]:
        """Return the filter by its name."""
        return {"to_dataframe": to_dataframe}
