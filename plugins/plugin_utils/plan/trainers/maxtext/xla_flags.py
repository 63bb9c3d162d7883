# SPDX-License-Identifier: GPL-3.0-or-later
"""XLA flags: the variable that each belongs in, and the values it accepts.

TPU flags go into LIBTPU_INIT_ARGS, all others into XLA_FLAGS; XLA aborts on a flag it does not know. Types and
variables come from the table in src/maxtext/configs/README.md of MaxText; which values XLA accepts, and which JAX knows
a flag, was tested with jaxlib 0.4.35 and 0.10.2.
"""

from __future__ import annotations

import enum
import re
import shlex
import typing as t
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ....text.words import key_path, nearest, shown
from ...config.findings import Findings
from ...formats.cvs1.maxtext.xla_flag_sets import FLAG_SETS

XLA, LIBTPU = "XLA_FLAGS", "LIBTPU_INIT_ARGS"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Kind(enum.Enum):
    """What a flag's value is, in words."""

    BOOLEAN = "true or false"
    TRISTATE = "true, false or kAuto"
    INTEGER = "a whole number of 0 or more"
    LEVEL = "a whole number from 0 to 5"
    PATH = "a path"
    COMMANDS = "a list of command buffer commands separated by commas, or an empty string for none"
    PASSES = "a list of pass names separated by commas, without spaces"


class Flag(t.NamedTuple):
    """A flag: its kind, its variable, and its unit, if any."""

    kind: Kind
    variable: str = XLA
    unit: str = ""


_TPU_TRISTATE, _BYTES = Flag(Kind.TRISTATE, LIBTPU), Flag(Kind.INTEGER, unit="bytes")
_SECONDS = Flag(Kind.INTEGER, unit="s")
# The value in a script, and whether the script is for GPUs, determine the type of most flags.
FLAGS = {
    name: Flag(Kind.INTEGER if value.isdigit() else Kind.BOOLEAN, XLA if script.startswith("gpu/") else LIBTPU)
    for script, flags in FLAG_SETS.items()
    for name, value in flags.items()
    if name != "TPU_MEGACORE"
} | {
    "xla_tpu_enable_async_collective_fusion_fuse_all_gather": _TPU_TRISTATE,
    "xla_enable_async_all_gather": _TPU_TRISTATE,
    "xla_enable_async_collective_permute": _TPU_TRISTATE,
    "xla_tpu_scoped_vmem_limit_kib": Flag(Kind.INTEGER, LIBTPU, unit="KiB"),
    "xla_dump_to": Flag(Kind.PATH),
    "xla_disable_hlo_passes": Flag(Kind.PASSES),
    "xla_gpu_enable_cublaslt": Flag(Kind.BOOLEAN),
    "xla_gpu_enable_command_buffer": Flag(Kind.COMMANDS),
    "xla_gpu_all_reduce_combine_threshold_bytes": _BYTES,
    "xla_gpu_all_gather_combine_threshold_bytes": _BYTES,
    "xla_gpu_reduce_scatter_combine_threshold_bytes": _BYTES,
    "xla_gpu_autotune_level": Flag(Kind.LEVEL),
    "xla_gpu_graph_level": Flag(Kind.INTEGER),
    "xla_gpu_memory_limit_slop_factor": Flag(Kind.INTEGER, unit="percent"),
    "xla_gpu_executable_warn_stuck_timeout": _SECONDS,
    "xla_gpu_executable_terminate_timeout": _SECONDS,
    "xla_gpu_first_collective_call_warn_stuck_timeout_seconds": _SECONDS,
    "xla_gpu_first_collective_call_terminate_timeout_seconds": _SECONDS,
}
# Flags that only one of the two JAX knows that were tried: True for 0.4.35, False for 0.10.2.
_ONLY_IN_JAX_0_4 = {
    "xla_gpu_graph_level": True,
    "xla_gpu_first_collective_call_warn_stuck_timeout_seconds": False,
    "xla_gpu_first_collective_call_terminate_timeout_seconds": False,
}
_COMMANDS = (
    *("FUSION", "CUBLAS", "CUBLASLT", "CUDNN", "COLLECTIVES", "CONDITIONAL", "CONDITIONALS", "WHILE", "CUSTOM_CALL"),
    *("DYNAMIC_SLICE", "DYNAMIC_SLICE_FUSION"),
)
_FORMS = {
    Kind.INTEGER: "[0-9]{1,19}",
    Kind.LEVEL: "[0-5]",
    Kind.PASSES: "[A-Za-z0-9_-]+(,[A-Za-z0-9_-]+)*",
    Kind.PATH: ".+",
}
_TRISTATE_WORDS = {"true": "true", "false": "false", "kauto": "kAuto"}
_WORDS = {"true": "true", "1": "true", "false": "false", "0": "false"}


@dataclass(frozen=True)
class Given:
    """A flag in a training config: ``value`` is None for a flag without one, ``path`` is its key path."""

    name: str
    value: t.Any
    path: str


def given_in(flags: t.Any, path: str) -> list[Given]:
    """Return the flags of an object, each a name with a value."""
    if not isinstance(flags, dict):
        return []
    return [Given(name, value, key_path(path, name)) for name, value in flags.items()]


def given_in_text(text: str, path: str, findings: Findings) -> list[Given]:
    """Return the flags in a string such as XLA_FLAGS, and report words that are not flags.

    The bare word TPU_MEGACORE=…, which MaxText's scripts put among the TPU flags, counts as a flag.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        findings.fault(path, text, "A quote is not closed.", "Close it.")
        return []
    given = []
    for word in words:
        name, assigned, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") and name != "TPU_MEGACORE":
            findings.fault(
                path,
                text,
                f"{shown(word)} is not a flag: XLA would read it as a file, or drop it.",
                "Start each flag with --, and quote values that contain spaces.",
            )
        else:
            given.append(Given(name, value if assigned else None, path))
    return given


def checked(given: Iterable[Given], variable: str, findings: Findings) -> dict[str, str]:
    """Return the flags of one variable by name, and report wrong and duplicate ones."""
    flags: dict[str, str] = {}
    places: dict[str, str] = {}
    for flag in given:
        if flag.name in places:
            findings.fault(
                flag.path,
                flag.value,
                f"{flag.name} is also set in {places[flag.name]}: XLA would take the last one.",
                "Keep one of them.",
            )
            continue
        places[flag.name] = flag.path
        value = _checked_value(flag, variable, findings)
        if value is not None:
            flags[flag.name] = value
    return flags


def _checked_value(flag: Given, variable: str, findings: Findings) -> str | None:
    if not _NAME.fullmatch(flag.name):
        findings.fault(flag.path, flag.value, f"{shown(flag.name)} is not a flag name.", "Give it without --.")
        return None
    known, belongs = FLAGS.get(flag.name), variable_of(flag.name)
    if belongs and belongs != variable:
        reason = "XLA aborts on it there" if variable == XLA else "only TPU flags go there"
        findings.fault(
            flag.path,
            flag.value,
            f"{flag.name} does not belong in {variable}: {reason}.",
            f"It belongs in {belongs}" + (", on TPUs only." if belongs == LIBTPU else ", or the object xla_flags."),
        )
        return None
    if known is None:
        if flag.name != "TPU_MEGACORE":
            _warn_of_unknown(flag, findings)
        return _text_of(flag.value)
    value = _read(known.kind, flag.value)
    if value is None:
        unit = f" ({known.unit})" if known.unit else ""
        message = f"{flag.name} is {shown(flag.value)}, which is not {known.kind.value}{unit}."
        findings.fault(flag.path, flag.value, message, f"Give {known.kind.value}{unit}.")
    return value


def variable_of(name: str) -> str | None:
    """Return the variable that a flag belongs in, or None if neither the flag nor its name tells."""
    if name in FLAGS:
        return FLAGS[name].variable
    if name.startswith("xla_tpu_") or name == "TPU_MEGACORE":
        return LIBTPU
    return XLA if name.startswith("xla_gpu_") else None


def _warn_of_unknown(flag: Given, findings: Findings) -> None:
    near = nearest(flag.name, FLAGS)
    hint = f"Did you mean {near}? " if near else ""
    findings.warn(
        flag.path,
        flag.value,
        f"{flag.name} is not among the {len(FLAGS)} flags known from MaxText's scripts and CVS. XLA has many more, "
        "and aborts only on one it does not have.",
        f"{hint}It is passed on as is; check that the image's XLA has it.",
    )


def _text_of(value: t.Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value).strip()


def _read(kind: Kind, value: t.Any) -> str | None:
    """Return a value as XLA reads it, or None if XLA would reject it. XLA itself accepts an int that is too small."""
    if isinstance(value, dict | list):
        return None
    text = _text_of(value)
    if kind is Kind.BOOLEAN:
        return "true" if value is None else _WORDS.get(text.casefold())
    if kind is Kind.TRISTATE:
        return _TRISTATE_WORDS.get(text.casefold())
    if kind is Kind.COMMANDS:
        text = text.strip("'\"")
        return text if not text or set(text.split(",")) <= set(_COMMANDS) else None
    return text if re.fullmatch(_FORMS[kind], text) else None


def left_out(flags: Mapping[str, str], jax_0_4: bool | None) -> list[str]:
    """Return the flags that the image's JAX does not know; ``jax_0_4`` is whether it is 0.4.35, if known."""
    if jax_0_4 is None:
        return []
    return [name for name in flags if name in _ONLY_IN_JAX_0_4 and _ONLY_IN_JAX_0_4[name] is not jax_0_4]


def as_text(flags: Mapping[str, str]) -> str:
    """Return flags in the format of XLA_FLAGS and LIBTPU_INIT_ARGS."""
    return " ".join(_as_word(name, value) for name, value in flags.items())


def _as_word(name: str, value: str) -> str:
    dashes = "" if name == "TPU_MEGACORE" else "--"
    return f"{dashes}{name}={shlex.quote(value) if not value or ' ' in value else value}"
