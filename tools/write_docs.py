#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the files generated from the plan's models and from tables; with --check it only lists those that are stale.

Pages are templates in tools/docs, each with a module there that returns the parts to fill in.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import jinja2

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "collections"))

from docs._json import as_json
from docs._probes import with_probes
from docs._surveys import surveys

from ansible_collections.trainops.cluster.plugins.plugin_utils.plan.schema import schema, schema_names
from docs import (
    _bridge,
    _checks,
    _machine_facts,
    _maxtext,
    _megatron,
    _metrics,
    _node_settings,
    _nxdt,
    _options,
    _primus,
    _speed,
    _torchtitan,
    _what_ran,
)

PAGES = {
    "megatron_config": _megatron,
    "maxtext_config": _maxtext,
    "maxtext_keys": _maxtext,
    "nxdt_config": _nxdt,
    "primus_config": _primus,
    "megatron_bridge_config": _bridge,
    "torchtitan_config": _torchtitan,
    "checks": _checks,
    "metrics": _metrics,
    "machine_facts": _machine_facts,
    "node_settings": _node_settings,
    "what_ran": _what_ran,
    "speed": _speed,
}
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("docs")),
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,  # Markdown
)


def documents() -> dict[Path, str]:
    """Return the content that every document must have, by its path."""
    pages = {
        ROOT / f"docs/{name}.md": _TEMPLATES.get_template(f"{name}.md.j2").render(module.values())
        for name, module in PAGES.items()
    }
    schemas = {ROOT / f"docs/schemas/{name}.schema.json": as_json(schema(name)) + "\n" for name in schema_names()}
    readme = ROOT / "README.md"
    return pages | schemas | _option_files() | {readme: _what_ran.with_table(readme.read_text("utf-8"))}


def _option_files() -> dict[Path, str]:
    """Return the files that document the options of a plan, and files made from such documentation."""
    modules = {path: path.read_text("utf-8") for path in sorted((ROOT / "plugins/modules").glob("*.py"))}
    metrics, isolate = (ROOT / f"plugins/modules/training_{name}.py" for name in ("metrics", "isolate"))
    modules |= {metrics: _options.with_frameworks(modules[metrics]), isolate: with_probes(modules[isolate])}
    texts = {path.stem: text for path, text in modules.items()}
    specs = {
        path: _options.with_module_options(path.read_text("utf-8"), texts)
        for path in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml"))
    }
    training = ROOT / "roles/training/meta/argument_specs.yml"
    specs[training] = _options.with_plan_options(specs[training])
    options = {path.parents[1]: _options.options_in(text) for path, text in specs.items()}
    asked = {name: option for of_role in options.values() for name, option in of_role.items()}
    return {
        **specs,
        **modules,
        ROOT / "plugins/doc_fragments/plan_options.py": _options.fragment(),
        **{role / "defaults/main.yml": _options.defaults(role.name, found) for role, found in options.items()},
        ROOT / "awx/surveys.yml": surveys(asked),
    }


def main() -> int:
    """Write or check the documents; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and exit with 1 where something is stale")
    check = parser.parse_args().check
    wanted = documents()
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        name = path.relative_to(ROOT)
        if check:
            print(f"{name} is stale; run python tools/write_docs.py", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], "utf-8")
            print(f"{name} written")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
