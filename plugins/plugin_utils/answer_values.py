# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of values that a node may answer. A node is not trusted: whatever else it says is an error, and no traceback.

All texts become lines without control characters here, so code that keeps or shows them need not check.
"""

from __future__ import annotations

import typing as t

from pydantic import AfterValidator, Field, ValidationError

from .plain_text import one_line

Line = t.Annotated[str, AfterValidator(one_line)]
Count = t.Annotated[int, Field(ge=0, le=2**53)]
Number = t.Annotated[int, Field(ge=-(2**31), le=2**31)]
# Seconds since the epoch, such that a calendar knows them whatever is added.
Time = t.Annotated[float, Field(ge=0, le=1e10)]
Finite = t.Annotated[float, Field(allow_inf_nan=False)]


def first_wrong(error: ValidationError) -> str:
    """Return where the first error in an answer is, and the error."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = one_line(".".join(map(str, first["loc"])))[:100] or "it"
    return f"{place}: {one_line(first['msg'])}"
