from __future__ import annotations

import pytest
import yaml
from judged_runs import judged_run

from ansible_collections.trainops.cluster.plugins.modules import training_report
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.dialects.known import DIALECTS, write_dialects


def test_only_the_named_dialects_are_written_and_only_once(tmp_path):
    assert write_dialects(["junit"], judged_run(), tmp_path) is True
    assert sorted(path.name for path in tmp_path.iterdir()) == ["junit.xml"]
    assert write_dialects(["junit"], judged_run(), tmp_path) is False
    assert write_dialects(["junit"], judged_run("FAIL"), tmp_path) is True


def test_what_is_no_dialect_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="has csv, xml; allowed are junit, openmetrics"):
        write_dialects(["junit", "csv", "xml"], judged_run(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_module_offers_every_dialect():
    assert yaml.safe_load(training_report.DOCUMENTATION)["options"]["dialects"]["choices"] == list(DIALECTS)
