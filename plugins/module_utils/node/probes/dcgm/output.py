# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of ``dcgmi diag -j``: categories of tests, each test with a result for each GPU, or for all of them.

Source: NVIDIA/DCGM, nvvs/include/NvvsJsonStrings.h, and dcgmi/Diag.cpp for the fields that only dcgmi writes. DCGM 3
calls a GPU ``gpu_id`` or ``gpu_ids``, DCGM 4 an ``entity_id`` of an ``entity_group``.
"""

from __future__ import annotations

import json
import typing as t

_FAILED = "Fail"


def failures_in(output: str) -> dict[str, str]:
    """Return the parts that failed, each with its tests and their messages; ValueError for an output without results.

    A part is for example ``GPU 3``, or ``GPUs`` if a test does not say which.
    """
    categories = _categories(json.loads(output[output.find("{") :]))
    if not categories:
        raise ValueError("there are no results in the output")
    found: dict[str, list[str]] = {}
    for category in categories:
        for test in category.get("tests") or ():
            for result in test.get("results") or ():
                if result.get("status") == _FAILED:
                    found.setdefault(_part_of(result), []).append(_sentence(test, result))
    return {part: "; ".join(said) for part, said in found.items()}


def _categories(printed: t.Mapping[str, t.Any]) -> list[t.Any]:
    """Return the categories, whose object was renamed from ``DCGM GPU Diagnostic``."""
    found = [one["test_categories"] for one in printed.values() if isinstance(one, dict) and "test_categories" in one]
    return list(found[0] or ()) if found else []


def _part_of(result: t.Mapping[str, t.Any]) -> str:
    place = result.get("gpu_id", result.get("gpu_ids"))
    if result.get("entity_group") == "GPU":
        place = result.get("entity_id")
    return f"GPU {place}" if str(place).isdigit() else "GPUs"


def _sentence(test: t.Mapping[str, t.Any], result: t.Mapping[str, t.Any]) -> str:
    warnings = result.get("warnings") or ()
    said = [_warning(one) for one in ([warnings] if isinstance(warnings, str) else warnings)]
    return f"{test.get('name')}: {' '.join(said) or 'it failed'}"


def _warning(warning: t.Any) -> str:
    """Return the text of a warning, whose key DCGM 3 writes in the plural."""
    return str(warning.get("warning", warning.get("warnings"))) if isinstance(warning, dict) else str(warning)
