from __future__ import annotations

import re

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.telemetry import nvidia_readings
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.telemetry import (
    telemetry_frame,
    telemetry_plots,
    telemetry_rows,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board


def reading(temperature=None, power=None, clock=None, ecc_uncorrected=None) -> dict:
    return {"temperature": temperature, "power": power, "clock": clock, "ecc_uncorrected": ecc_uncorrected}


def test_a_row_for_each_node_the_hottest_first():
    cool = [{"time": 10.0, "accelerators": [reading(50.0, 300.0, 2100.0, 0.0), reading(51.0, 310.0, 2100.0, 0.0)]}]
    hot = [
        {"time": 10.0, "accelerators": [reading(60.0, 700.0, 2100.0, 4.0), reading(70.0, 600.0, 1900.0, 0.0)]},
        {"time": 25.0, "accelerators": [reading(65.0, 500.0, 1500.0, 5.0), reading(95.0, 600.0, 1300.0, 2.0)]},
    ]
    rows = telemetry_rows(telemetry_frame({"gpu1": cool, "gpu2": hot}))
    assert rows == [
        {
            "node": "gpu2",
            "samples": 2,
            "temperature": 95.0,
            "hottest": 1,
            "power": 1200.0,
            "clock": 1700.0,
            "ecc_uncorrected": 3.0,
        },
        {
            "node": "gpu1",
            "samples": 1,
            "temperature": 51.0,
            "hottest": 1,
            "power": 610.0,
            "clock": 2100.0,
            "ecc_uncorrected": 0.0,
        },
    ]


def test_what_a_sensor_does_not_say_is_not_known_and_not_zero():
    (row,) = telemetry_rows(telemetry_frame({"trn1": [{"time": 1.0, "accelerators": [reading(ecc_uncorrected=2.0)]}]}))
    assert [row[name] for name in ("temperature", "hottest", "power", "clock")] == [None] * 4
    assert row["ecc_uncorrected"] == 0.0


def test_nodes_without_sensors_have_no_rows():
    assert telemetry_rows(telemetry_frame({"cpu1": []})) == []


def samples(*seconds: float, **values) -> list[dict]:
    return [{"time": second, "accelerators": [reading(**values)]} for second in seconds]


def lines(chart: str) -> dict[str, int]:
    """Return in how many pieces the line of each node is."""
    return {name: path.count("M") for name, path in re.findall(r'data-name="([^"]+)" d="([^"]+)"', chart)}


def test_what_nvidia_smi_said_during_a_run_becomes_a_plot_with_a_line_for_each_node(tmp_path):
    board = Board(tmp_path)
    for second in (0.0, 15.0, 31.0):
        board.append_readings("gpu1", second, nvidia_readings("0, 41, 702.13, 1980, 0\n1, 63, 690.00, 1200, [N/A]\n"))
        board.append_readings("gpu2", second, nvidia_readings("0, 44, 650.00, 1980, 0\n"))
    plots, looks = telemetry_plots(telemetry_frame({node: board.samples(node) for node in ("gpu1", "gpu2")}))
    assert [look.node for look in looks] == ["gpu1", "gpu2"]
    assert [title.split()[0] for title, _chart in plots] == ["Temperature", "Power", "Clock"]
    for _title, chart in plots:
        assert lines(chart) == {"gpu1": 1, "gpu2": 1}
    ends = [chart.split('data-ends="')[1].split('"')[0].split() for _title, chart in plots]
    assert [[float(end) for end in each][:2] for each in ends] == [[0.0, 1.0]] * 3
    # The hottest of a node, all of its power, and its slowest clock.
    assert [float(ends[0][3]) > 63, float(ends[1][3]) > 1392, float(ends[2][2]) < 1200] == [True] * 3


def test_errors_are_counted_from_the_first_sample_and_plotted_where_there_are_any():
    counted = [
        *samples(0, 15, temperature=50.0, ecc_uncorrected=7.0),
        *samples(30, temperature=50.0, ecc_uncorrected=9.0),
    ]
    sound = samples(0, 15, 30, temperature=51.0, ecc_uncorrected=7.0)
    titles = [title for title, _chart in telemetry_plots(telemetry_frame({"gpu1": counted, "gpu2": sound}))[0]]
    assert [title.split()[0] for title in titles] == ["Temperature", "Uncorrectable"]
    titles = [title for title, _chart in telemetry_plots(telemetry_frame({"gpu2": sound}))[0]]
    assert [title.split()[0] for title in titles] == ["Temperature"]


@pytest.mark.parametrize(("seconds", "pieces"), [((0, 15, 30, 300, 315, 330), 2), ((0, 15, 35, 50), 1), ((7,), 1)])
def test_a_line_does_not_go_on_where_a_node_was_not_asked_for_long(seconds, pieces):
    ((_title, chart),), _looks = telemetry_plots(telemetry_frame({"gpu1": samples(*seconds, temperature=50.0)}))
    assert lines(chart) == {"gpu1": pieces}
