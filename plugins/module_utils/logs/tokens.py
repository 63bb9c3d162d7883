# SPDX-License-Identifier: GPL-3.0-or-later
"""Hides the tokens in a text, wherever it comes from: each form of a token is a row, with its sample."""

from __future__ import annotations

import re
import typing as t

from .pattern import later

HIDDEN = "(hidden)"


class Form(t.NamedTuple):
    """The form of a token: its first characters, and the pattern of the rest. Its group ``secret`` is hidden.

    ``sample`` is a text with such a token.
    """

    begin: str
    rest: re.Pattern[str]
    sample: str


_WORD, _LONG_WORD = later(r"(?P<secret>[A-Za-z0-9]{16,})"), later(r"(?P<secret>[A-Za-z0-9_-]{20,})")
_VALUE = later(r"[\"']?[ \t]{0,2}[=:][ \t]{0,2}[\"']?(?P<secret>[A-Za-z0-9+/_.=-]{16,})")

FORMS = (
    # https://huggingface.co/docs/hub/security-tokens; the name of a file or package, in lower case, is none.
    Form("hf_", later(r"(?=[a-z]*[A-Z0-9])(?P<secret>[A-Za-z0-9]{16,})"), "hf_Sample0123456789"),
    Form("api_org_", _WORD, "api_org_Sample0123456789"),
    # https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
    *(Form(f"gh{kind}_", _LONG_WORD, f"gh{kind}_Sample01234567890123") for kind in "pour"),
    Form("github_pat_", _LONG_WORD, "github_pat_Sample01234567890123"),
    # Keys of NVIDIA's NGC.
    Form("nvapi-", _LONG_WORD, "nvapi-Sample01234567890123"),
    # Variables of the environment in the output of a program: HF_TOKEN, WANDB_API_KEY, AWS_SECRET_ACCESS_KEY.
    *(Form(name, _VALUE, f"OF{name}='Sample0123456789'") for name in ("_TOKEN", "_API_KEY", "_SECRET_ACCESS_KEY")),
)


def without_tokens(text: str) -> str:
    """Return a text with each token hidden."""
    for form in FORMS:
        parts, kept, place = [], 0, text.find(form.begin)
        while place >= 0:
            end = place + len(form.begin)
            if found := form.rest.match(text, end):
                parts += [text[kept : found.start("secret")], HIDDEN]
                kept = end = found.end("secret")
            place = text.find(form.begin, end)
        text = "".join([*parts, text[kept:]]) if parts else text
    return text
