# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a TorchTitan config that only TorchTitan reads, by table."""

from __future__ import annotations

from ...config.key_tables import read_tables

KEYS = read_tables(__file__)
