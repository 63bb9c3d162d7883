# SPDX-License-Identifier: GPL-3.0-or-later
"""Filling an Ansible inventory with the hosts of a source."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable

from .inventory.hosts import Host

if t.TYPE_CHECKING:
    from ansible.plugins.inventory import Constructable


def fill(plugin: Constructable, hosts: Iterable[Host], place: str, places: str) -> None:
    """Add hosts in order with their variables, a group for each place in the network, and constructed groups.

    ``place`` and ``places`` are the words for a host's location (``rack``, ``racks``): the group ``racks`` contains the
    groups ``rack_7`` and so on. A host's place is its variable ``training_topology`` too, which makes the rank order.
    """
    inventory = plugin.inventory
    for host in hosts:
        # Directly below all: otherwise the groups that come later would set the host order of the play.
        inventory.add_host(host.name, "all")
        for name, value in host.variables.items():
            inventory.set_variable(host.name, name, value)
        if host.topology:
            inventory.set_variable(host.name, "training_topology", "/".join(host.topology))
            _add_places(plugin, host, place, places)
        _construct(plugin, host.name)


def _add_places(plugin: Constructable, host: Host, place: str, places: str) -> None:
    above = plugin.inventory.add_group(places)
    for name in host.topology:
        named = name if name.startswith(place) else f"{place}_{name}"
        group = plugin.inventory.add_group(plugin._sanitize_group_name(named))
        plugin.inventory.add_child(above, group)
        above = group
    plugin.inventory.add_child(above, host.name)


def _construct(plugin: Constructable, name: str) -> None:
    strict = plugin.get_option("strict")
    variables = plugin.inventory.get_host(name).get_vars()
    plugin._set_composite_vars(plugin.get_option("compose"), variables, name, strict=strict)
    plugin._add_host_to_composed_groups(plugin.get_option("groups"), {}, name, strict=strict)
    plugin._add_host_to_keyed_groups(plugin.get_option("keyed_groups"), {}, name, strict=strict)
