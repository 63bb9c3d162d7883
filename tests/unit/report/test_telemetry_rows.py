from __future__ import annotations

from ansible_collections.trainops.cluster.plugins.plugin_utils.report.telemetry import telemetry_frame, telemetry_rows


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
