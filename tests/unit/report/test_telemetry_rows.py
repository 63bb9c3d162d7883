from __future__ import annotations

import re

import pytest

from ansible_collections.trainops.cluster.plugins.module_utils.node.contracts import Reading
from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.sensors import nvidia_readings
from ansible_collections.trainops.cluster.plugins.plugin_utils.report.telemetry import (
    telemetry_frame,
    telemetry_plots,
    telemetry_rows,
)
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.board import Board


def reading(temperature=None, power=None, clock=None, ecc_uncorrected=None, **others) -> dict:
    known = {"temperature": temperature, "power": power, "clock": clock, "ecc_uncorrected": ecc_uncorrected}
    return {**dict.fromkeys(Reading.__annotations__), **known, **others}


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
            "ecc_corrected": None,
            "memory": None,
            "pace": "1,300 to 2,100 MHz",
        },
        {
            "node": "gpu1",
            "samples": 1,
            "temperature": 51.0,
            "hottest": 1,
            "power": 610.0,
            "clock": 2100.0,
            "ecc_uncorrected": 0.0,
            "ecc_corrected": None,
            "memory": None,
            "pace": "2,100 MHz",
        },
    ]


def test_what_a_sensor_does_not_say_is_not_known_and_not_zero():
    (row,) = telemetry_rows(telemetry_frame({"trn1": [{"time": 1.0, "accelerators": [reading(ecc_uncorrected=2.0)]}]}))
    assert [row[name] for name in ("temperature", "hottest", "power", "clock")] == [None] * 4
    assert row["ecc_uncorrected"] == 0.0


CAP = {"clock_limit": 1980.0, "power_limit": 700.0, "utilization": 100.0}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            [CAP | {"clock": 1500.0, "held_down_by": ["power cap"]}, CAP | {"clock": 1830.0, "held_down_by": []}],
            "1,500 to 1,830 MHz of 1,980, held down by the power cap of 700 W",
        ),
        (
            [
                CAP | {"clock": 1200.0, "held_down_by": ["thermal"]},
                CAP | {"clock": 1100.0, "held_down_by": ["power cap", "thermal"]},
            ],
            "1,100 to 1,200 MHz of 1,980, held down by temperature and the power cap of 700 W",
        ),
        ([CAP | {"clock": 1980.0, "held_down_by": ["power cap"]}], "1,980 MHz of 1,980"),
        # AMD's driver does not say why.
        (
            [CAP | {"clock": 1300.0, "power": 699.0, "power_limit": 700.0}],
            "1,300 MHz of 1,980, held down by the power cap of 700 W",
        ),
        ([CAP | {"clock": 1300.0, "power": 400.0}], "1,300 MHz of 1,980"),
        # Before the first step, and between two.
        (
            [CAP | {"clock": 345.0, "utilization": 0.0, "held_down_by": ["idle"]}, CAP | {"clock": 1700.0}],
            "1,700 MHz of 1,980",
        ),
        ([{"clock": 1700.0}], "1,700 MHz"),
        ([CAP], None),
    ],
    ids=["power", "heat", "not held down", "AMD", "AMD below its cap", "idle", "no limit", "no clock"],
)
def test_the_clocks_are_told_with_what_held_them_down(values, words):
    samples = [{"time": float(place), "accelerators": [reading(**one)]} for place, one in enumerate(values)]
    (row,) = telemetry_rows(telemetry_frame({"gpu1": samples}))
    assert row["pace"] == words


def test_memory_is_the_largest_share_that_was_used():
    used = [reading(memory_used=used, memory_total=100.0) for used in (40.0, 90.0)]
    (row,) = telemetry_rows(telemetry_frame({"gpu1": [{"time": 1.0, "accelerators": used}]}))
    assert row["memory"] == 0.9


def test_samples_of_an_earlier_release_have_what_they_had():
    old = {"temperature": 50.0, "power": 300.0, "clock": 2100.0, "ecc_uncorrected": 0.0}
    (row,) = telemetry_rows(telemetry_frame({"gpu1": [{"time": 1.0, "accelerators": [old]}]}))
    assert (row["temperature"], row["memory"], row["pace"]) == (50.0, None, "2,100 MHz")


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
        rest = ", 1980, 100, 900, 1000, 0, 0, 0, 0x4\n"
        two = f"0, 41, 702.13, 700, 1980{rest}1, 63, 690.00, 700, 1200{rest}"
        board.append_readings("gpu1", second, nvidia_readings(two))
        board.append_readings("gpu2", second, nvidia_readings(f"0, 44, 650.00, 700, 1980{rest}"))
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
