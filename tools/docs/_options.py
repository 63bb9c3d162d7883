# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a plan as Ansible documents them, made of the models: for a role and its defaults, and for modules."""

from __future__ import annotations

import re
import textwrap
import typing as t

import yaml

from ansible_collections.trainops.cluster.plugins.module_utils.logs.grammars.known import GRAMMARS
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.field_types import PathOrNothing
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.config.kinds import OneOf
from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.options import (
    CONFIG_ARGUMENTS,
    PLAN_ARGUMENTS,
    PlanOptions,
)

if t.TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    Options = dict[str, dict[str, t.Any]]

WRITTEN = "# Written by tools/write_docs.py from the models in plugins/plugin_utils/plan. Change those, then run it."
_TYPES = {str: "str", int: "int", bool: "bool", list: "list", dict: "dict"}
_PATH = t.get_args(PathOrNothing)[1]
_AS_IN = re.compile(r"(?m)^(?P<indent> +)(?P<name>\w+): # as in (?P<module>\w+)\n(?:(?P=indent) .*\n)*")
_FRAGMENT = """\
# SPDX-License-Identifier: GPL-3.0-or-later
{written}
\"\"\"The options of a plan, for the modules that have them.\"\"\"

from __future__ import annotations


class ModuleDocFragment:
    \"\"\"Options of a run, and options for reading a training config.\"\"\"

    DOCUMENTATION = r\"\"\"
{run}\"\"\"

    CONFIG = r\"\"\"
{config}\"\"\"
"""


def option(field: FieldInfo) -> dict[str, t.Any]:
    """Return the documentation of a field."""
    kind, annotation = next(iter(field.metadata), None), field.annotation
    plain = next((part for part in t.get_args(annotation) if part in _TYPES), annotation)
    container = t.get_origin(annotation)
    documented: dict[str, t.Any] = {"description": field.description}
    documented["type"] = "path" if kind == _PATH else _TYPES[container if container in _TYPES else plain]
    if container is list:
        documented["elements"] = _TYPES[plain]
    if isinstance(kind, OneOf):
        documented["choices"] = list(kind.names)
    return {**documented, "default": field.get_default(call_default_factory=True)}


def with_plan_options(specs: str) -> str:
    """Return the text of a role's argument_specs with a plan's options at its end, after the line for them."""
    head, line, _options = specs.partition(f"{WRITTEN}\n")
    if not line:
        raise ValueError(f"argument_specs.yml lacks the line {WRITTEN!r}")
    options = {name: option(field) for name, field in PlanOptions.model_fields.items()}
    return head + line + textwrap.indent(as_yaml(options), " " * 6)


def with_frameworks(module: str) -> str:
    """Return the text of a module with all grammars as the choices of its option ``framework``."""
    choices = "".join(f"      - {name}\n" for name in sorted(GRAMMARS))
    return re.sub(r"(\n  framework:\n(?:    .*\n)*    choices:\n)(      - \w+\n)+", rf"\g<1>{choices}", module)


def with_module_options(specs: str, modules: t.Mapping[str, str]) -> str:
    """Return the text of a role's argument_specs with each option that is marked ``# as in MODULE`` as it is there.

    ``modules`` are the texts of modules by name. The option of the role has the name of the role in front.
    """

    def written(marked: re.Match[str]) -> str:
        role, _, name = marked["name"].partition("_")
        documented = yaml.safe_load(modules[marked["module"]].split('DOCUMENTATION = r"""')[1].split('"""')[0])
        about = yaml.safe_load(re.sub(r"\bO\((\w+)\)", rf"O({role}_\1)", as_yaml(documented["options"][name])))
        head, body = as_yaml({marked["name"]: about}, width=100).split("\n", 1)
        return textwrap.indent(f"{head} # as in {marked['module']}\n{body}", marked["indent"])

    return _AS_IN.sub(written, specs)


def options_in(specs: str) -> Options:
    """Return the options of all entry points of a role."""
    entries = yaml.safe_load(specs)["argument_specs"].values()
    return {name: about for entry in entries for name, about in entry["options"].items()}


def defaults(role: str, options: Options) -> str:
    """Return the defaults of a role."""
    lines = [
        as_yaml({name: about["default"]}).rstrip()
        + ("" if name.startswith(f"{role}_") else " # noqa: var-naming[no-role-prefix]")
        for name, about in options.items()
    ]
    return "\n".join(["---", "# Written by tools/write_docs.py from meta/argument_specs.yml.", *lines, ""])


def fragment() -> str:
    """Return the documentation that modules share."""
    documented = {
        name: {argument: option(PlanOptions.model_fields[variable]) for variable, argument in arguments.items()}
        for name, arguments in (
            ("config", CONFIG_ARGUMENTS),
            ("run", {name: PLAN_ARGUMENTS[name] for name in PLAN_ARGUMENTS if name not in CONFIG_ARGUMENTS}),
        )
    }
    texts = {name: as_yaml({"options": options}, width=90) for name, options in documented.items()}
    return _FRAGMENT.format(written=WRITTEN, **texts)


class _Indented(yaml.SafeDumper):
    """Lists are indented, as in all of our files."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, _data: t.Any) -> bool:
        return True


def as_yaml(data: dict[str, t.Any], width: int = 120) -> str:
    """Return data as our files have it."""
    return yaml.dump(data, Dumper=_Indented, sort_keys=False, width=width, allow_unicode=True)
