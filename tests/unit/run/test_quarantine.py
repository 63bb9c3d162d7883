"""The list of hosts that are kept out of runs: who may write it, two that write at once, and its possible content."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from not_run import need_root

from ansible_collections.trainops.cluster.plugins.plugin_utils.run.quarantine import Fault, Found, Held, Quarantine


def test_each_inventory_has_its_own_hosts_until_they_are_released(tmp_path: Path) -> None:
    path = tmp_path / "runs/quarantine.json"
    here, there = Quarantine(path, "/here/hosts"), Quarantine(path, "/there/hosts")
    assert here.hosts() == {}
    assert here.release(["a"]) == []
    assert not path.exists()
    ecc: Fault = {"code": "gpu_ecc", "case": "", "values": {"logged": "Xid 63"}, "message": "gpu_ecc: Xid 63"}
    here.add({"a": "gpu_ecc: Xid 63", "b": "unreachable: no answer"}, "night-1", {"a": ecc})
    there.add({"a": "killed: SIGKILL"}, "night-2")
    assert (here.hosts()["a"].reason, here.hosts()["a"].run_id) == ("gpu_ecc: Xid 63", "night-1")
    assert (here.hosts()["a"].findings, here.hosts()["b"].findings) == ([ecc], [])
    assert here.release(["a", "c"]) == ["a"]
    assert (list(here.hosts()), list(there.hosts())) == (["b"], ["a"])
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(path.parent) == ["quarantine.json"]


def test_what_an_isolation_found_ends_by_itself_and_only_an_isolation_releases_it(tmp_path: Path) -> None:
    found = Quarantine(tmp_path / "q.json", "hosts")
    found.add({"b": "gpu_ecc: Xid 63"}, "night-1")
    slow = {
        name: Found(
            [{"code": "slow", "case": "", "values": {"slower_by": 0.3}, "message": f"{name} is 30 % slower"}], ("cpu",)
        )
        for name in "ab"
    }
    found.add_found(slow, "sweep-1", 7)
    held = found.hosts()
    assert (held["a"].isolation, held["a"].run_id) == ("sweep-1", "")
    assert held["a"].until > held["a"].since
    assert (held["a"].reason, held["a"].findings) == ("a is 30 % slower", slow["a"].findings)
    assert "sweep-1" in held["a"].in_words()
    # An entry made by a failed run does not expire.
    assert (held["b"].run_id, held["b"].until) == ("night-1", "")
    assert found.release(["a", "b"]) == ["b"]
    assert found.release_found(["a", "b"], ["memory", "tcp"]) == []
    assert found.release_found(["a", "b"], ["memory", "cpu"]) == ["a"]
    found.add_found(slow, "sweep-2", -1)
    assert found.hosts() == {}


def test_a_list_that_an_earlier_version_wrote_is_read(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    entry = {"since": "2026-11-21T08:17:57+00:00", "run_id": "", "reason": "a is 30 % slower", "isolation": "sweep-1"}
    path.write_text(json.dumps({"hosts": {"a": {**entry, "probes": ["cpu"]}}}))
    path.chmod(0o644)
    held = Quarantine(path, "hosts").hosts()["a"]
    assert (held.reason, held.probes, held.findings) == ("a is 30 % slower", ("cpu",), [])


def test_a_day_that_was_written_by_hand_is_one_of_utc_and_what_is_no_time_does_not_end() -> None:
    now = datetime(2026, 2, 1, 12, tzinfo=UTC)
    for until, has_ended in (("2026-02-01", True), ("2026-02-02", False), ("soon", False), ("", False)):
        assert Held("2026-01-01", "", "slow", "sweep-1", until).has_ended(now) is has_ended


def test_two_controllers_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    def add(number: int) -> None:
        Quarantine(tmp_path / "q.json", "hosts").add({f"gpu{number}": "x"}, "r")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert len(Quarantine(tmp_path / "q.json", "hosts").hosts()) == 40


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_list_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "q.json"
    path.write_text("{}")
    path.chmod(mode)
    with pytest.raises(ValueError, match="Users other than you and root can write "):
        Quarantine(path, "hosts").hosts()


def test_a_list_of_another_user_and_one_behind_a_link_are_refused(tmp_path: Path) -> None:
    need_root("only root can give a file to another user")
    path, link = tmp_path / "q.json", tmp_path / "link.json"
    path.write_text("{}")
    link.symlink_to(path)
    with pytest.raises(ValueError, match=r"link\.json cannot be read: Too many levels of symbolic links"):
        Quarantine(link, "hosts").hosts()
    os.chown(path, 65534, 65534)
    with pytest.raises(ValueError, match="Users other than you and root can write"):
        Quarantine(path, "hosts").hosts()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"hosts": []}', '{"hosts": {"a": {}}}', '{"h": {"a": {"since": 1}}}'])
def test_what_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "q.json"
    path.write_text(text)
    path.chmod(0o644)
    with pytest.raises(ValueError, match="is not a list of quarantined hosts"):
        Quarantine(path, "hosts").hosts()
