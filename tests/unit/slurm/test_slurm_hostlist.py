from __future__ import annotations

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.slurm.hostlist import expand_hostlist

# Each as `scontrol show hostnames` of Slurm 22.05 expands it.
HOSTLISTS = {
    "gpu1": ["gpu1"],
    "gpu[01-03,7],login1": ["gpu01", "gpu02", "gpu03", "gpu7", "login1"],
    "gpu[3,1]": ["gpu3", "gpu1"],
    "r[1-2]n[8-10]": ["r1n8", "r1n9", "r1n10", "r2n8", "r2n9", "r2n10"],
    "ib-a[1-2],b": ["ib-a1", "ib-a2", "b"],
    "gpu[098-101]": ["gpu098", "gpu099", "gpu100", "gpu101"],
}


@pytest.mark.parametrize(("text", "names"), HOSTLISTS.items())
def test_a_hostlist_becomes_names_in_its_order(text: str, names: list[str]) -> None:
    assert expand_hostlist(text) == names


@pytest.mark.parametrize("text", ["", "gpu[1-2", "gpu]1[", "gpu[a-b]", "gpu[5-2]", "gpu[]", "a,,b", "gpu[0-999999999]"])
def test_what_is_no_hostlist_is_refused_with_what_is_wrong(text: str) -> None:
    with pytest.raises(ValueError, match=r"hostlist|range"):
        expand_hostlist(text)


def test_a_hostlist_that_stands_for_too_many_hosts_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="more than 100,000 hosts"):
        expand_hostlist("r[1-9999]s[1-9999]n[1-9999]")
