# SPDX-License-Identifier: GPL-3.0-or-later
"""The recipes of Megatron Bridge.

``recipes.json`` has the functions of src/megatron/bridge/{recipes,perf_recipes} of NVIDIA-NeMo/Megatron-Bridge from
July 2025 to August 2026 (067f987d).
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

RECIPES: t.Final[list[str]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
