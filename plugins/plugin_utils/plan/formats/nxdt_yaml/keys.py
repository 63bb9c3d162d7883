# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of an NxDT training config that only NxDT reads, by section path."""

from __future__ import annotations

from ...config.key_tables import read_tables

KEYS = read_tables(__file__)
