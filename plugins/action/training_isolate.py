# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_isolate: see the module of that name for its documentation."""

from __future__ import annotations

import os
import time
import typing as t
from collections.abc import Mapping
from pathlib import Path

from ansible import context
from ansible.errors import AnsibleActionFail, AnsibleError

from ..plugin_utils.controller_action import ControllerAction, needed_packages, show

with needed_packages(__name__):
    from ..module_utils.node.identity import identity_of
    from ..module_utils.node.phase import NodeError
    from ..module_utils.node.probes.known import PROBES
    from ..plugin_utils.node_links import ENVIRONMENT, NodeLink, end_with_the_controller, environment_of, python_of
    from ..plugin_utils.plain_text import plain_text
    from ..plugin_utils.run.answers import Ask
    from ..plugin_utils.run.asking import Asker
    from ..plugin_utils.run.open_files import allow_open_files
    from ..plugin_utils.ssh.kept_connections import KeptConnections

if t.TYPE_CHECKING:
    from ..plugin_utils.contracts import Plan
    from ..plugin_utils.isolate.planned import PlannedTests

_SLOWDOWN = "isolate_rehearsal_slowdown"
_LOST_SECONDS = 120.0


class ActionModule(ControllerAction):
    """Finds the bad node among the hosts of the play."""

    BYPASS_HOST_LOOP = True

    def act(self) -> dict[str, t.Any]:
        """Plan the tests, do them, and write what they found; fail before a node is touched if that is impossible."""
        from ..plugin_utils.isolate.choice import BUILT_IN, Chosen
        from ..plugin_utils.isolate.options import Options, wrong_options
        from ..plugin_utils.isolate.planned import planned_in_words
        from ..plugin_utils.isolate.settling import more_in_words, planned_with

        self.refuse_unknown()
        arguments = self.arguments()
        hosts = list(self.variables["ansible_play_hosts_all"])
        slowdowns = self._slowdowns(hosts) if arguments["rehearsal"] else {}
        options = Options(hosts, slowdowns, arguments)
        problems = wrong_options(options)
        known = [name for name in arguments["probes"] if name in PROBES]
        try:
            tests = planned_with(Chosen(tuple(known)) if known else BUILT_IN, arguments, hosts)
        except ValueError as error:
            problems.append(str(error))
        try:
            options.training = self._training(arguments["config"])
        except ValueError as error:
            problems.append(str(error).rstrip("."))
        if problems:
            raise AnsibleActionFail("\n".join(f"{problem}." for problem in problems))
        lines = [*planned_in_words(tests), *more_in_words(arguments)]
        show("\n".join(["", *(f"{line}." for line in lines), ""]))
        result: dict[str, t.Any] = {"changed": True, "tests": tests}
        return result if self._task.check_mode else result | self._isolated(options, tests)

    def _training(self, config: str | None) -> Plan | None:
        """Return the plan of a training config, on hosts of the inventory; ValueError says what is wrong with it."""
        from ..plugin_utils.isolate.training import training_plan
        from ..plugin_utils.plan.options import PLAN_ARGUMENTS

        if not config:
            return None
        options = self.options(PLAN_ARGUMENTS, dict.fromkeys(PLAN_ARGUMENTS.values()))
        path, text, unreadable = self.file(config)
        hosts = [self.node(host) for host in self.variables["groups"]["all"]]
        return training_plan(text, path, unreadable, options, hosts)

    def _isolated(self, options: t.Any, tests: PlannedTests) -> dict[str, t.Any]:
        from ..plugin_utils.isolate.holding import held_nodes
        from ..plugin_utils.isolate.isolation import isolate
        from ..plugin_utils.isolate.outcome import blame_of
        from ..plugin_utils.isolate.prober import ProbedNode, Prober
        from ..plugin_utils.isolate.settling import settled, staged_files
        from ..plugin_utils.report.isolation_write import isolation_lines, write_isolation, write_plan

        end_with_the_controller()
        arguments = options.arguments
        name = arguments["name"] or time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        folder = Path(os.path.abspath(arguments["output_dir"])) / "isolation" / name
        try:
            write_plan(folder, name, options.plan(tests))
        except FileExistsError:
            raise AnsibleActionFail(f"{folder} exists already. Choose another isolate_name, or omit it.") from None
        except OSError as error:
            raise AnsibleActionFail(f"{error.filename or folder} cannot be written: {error.strerror}.") from None
        nodes = {host: self._address(host) for host in options.hosts}
        plan, parts = held_nodes(name, nodes, arguments["node_dir"], 60 * arguments["budget"], options.training)
        if too_few := allow_open_files(len(parts)):
            self._display.warning(f"{too_few}.")
        self._links: dict[str, NodeLink] = {}
        try:
            asks, late = self._asks(plan, parts)
            prober = Prober(
                nodes={host: ProbedNode(nodes[host], options.slowdown(host)) for host in options.hosts},
                ask=asks,
                at_once=context.CLIARGS["forks"],
                port=arguments["port"],
                rehearsal=arguments["rehearsal"],
                bad_links=options.bad_links(),
                late=late,
                files=staged_files(),
            )
            isolation = isolate(prober, tests, show, lambda prober, nodes: settled(prober, nodes, options, show))
        except ValueError as error:
            # With what the nodes have, the budget does not allow what was named.
            raise AnsibleActionFail(f"{error}.") from None
        finally:
            for link in self._links.values():
                link.close(for_good=True)
        page = write_isolation(folder, name, isolation, isolation["tests"], rehearsal=arguments["rehearsal"])
        show("\n".join(["", *isolation_lines(isolation), f"Report: {page}", ""]))
        return {"suspects": isolation["suspects"], "hosts": blame_of(isolation), "report": str(page)}

    def _asks(self, plan: t.Any, parts: t.Any) -> tuple[dict[str, Ask], t.Callable[[], Mapping[str, NodeError]]]:
        """Return what asks each node, and what names the nodes that take too long to answer."""
        inventory = self.variables["hostvars"]._inventory
        kept, nonce = KeptConnections(), os.urandom(16).hex()
        askers: dict[str, Asker] = {}
        asks: dict[str, Ask] = {}
        for part in parts:
            name = part["node"]
            try:
                link = self._links[name] = NodeLink(self, inventory.get_host(name), kept)
                askers[name] = Asker(
                    plan,
                    part,
                    link.send,
                    python_of(link),
                    environment_of(link.variable(ENVIRONMENT)),
                    False,
                    identity_of(plan, part, nonce),
                    lost=_LOST_SECONDS,
                )
                asks[name] = askers[name].ask
            except (AnsibleError, ValueError) as error:
                asks[name] = _refusing(NodeError(plain_text(str(error))))
        return asks, lambda: {name: error for name, asker in askers.items() if (error := asker.late())}

    def _address(self, host: str) -> str:
        node = self.node(host)
        return "127.0.0.1" if node.local and node.address == host else node.address

    def _slowdowns(self, hosts: list[str]) -> dict[str, t.Any]:
        hostvars = self.variables["hostvars"]
        return {host: self._templar.template(hostvars[host].get(_SLOWDOWN, 1.0)) for host in hosts}


def _refusing(error: NodeError) -> Ask:
    def ask(*_phase: t.Any, **_needs: t.Any) -> t.Any:
        raise error

    return ask
