# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_isolate: see the module of that name for its documentation."""

from __future__ import annotations

import contextlib
import os
import time
import typing as t
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ansible import context
from ansible.errors import AnsibleActionFail, AnsibleError

from ..plugin_utils.controller_action import (
    ControllerAction,
    inventory_name,
    needed_packages,
    playbook_command,
    show,
    write_index_of,
)

with needed_packages(__name__):
    from ..module_utils.node.identity import identity_of
    from ..module_utils.node.phase import NodeError
    from ..module_utils.node.probes.known import PROBES
    from ..plugin_utils.node_links import ENVIRONMENT, NodeLink, end_with_the_controller, environment_of, python_of
    from ..plugin_utils.plain_text import plain_text
    from ..plugin_utils.plan.config.words import counted
    from ..plugin_utils.plan.slurm.options import SSH
    from ..plugin_utils.report.files import ISOLATIONS
    from ..plugin_utils.run.answers import Ask
    from ..plugin_utils.run.asking import Asker, refusing
    from ..plugin_utils.run.board import Board
    from ..plugin_utils.run.open_files import allow_open_files
    from ..plugin_utils.run.quarantine import Quarantine
    from ..plugin_utils.run.slurm.cluster import has_pyxis
    from ..plugin_utils.run.slurm.job import SlurmError
    from ..plugin_utils.ssh.kept_connections import KeptConnections

if t.TYPE_CHECKING:
    from ..plugin_utils.contracts import Plan
    from ..plugin_utils.isolate.isolation import Isolation
    from ..plugin_utils.isolate.left_behind import LeftBehind
    from ..plugin_utils.isolate.planned import PlannedTests
    from ..plugin_utils.isolate.slurm.asking import UnderSlurm

_SLOWDOWN = "isolate_rehearsal_slowdown"
_LOST_SECONDS = 120.0


class ActionModule(ControllerAction):
    """Finds the bad node among the hosts of the play."""

    BYPASS_HOST_LOOP = True
    _slurm: UnderSlurm | None = None

    def act(self) -> dict[str, t.Any]:
        """Plan the tests, do them, and write what they found; fail before a node is touched if that is impossible."""
        from ..plugin_utils.isolate.choice import BUILT_IN, Chosen
        from ..plugin_utils.isolate.options import Options, wrong_options
        from ..plugin_utils.isolate.planned import LEAST_NODES, PlanError, planned_in_words
        from ..plugin_utils.isolate.settling import more_in_words, planned_with

        self.refuse_unknown()
        arguments = self.arguments()
        if arguments["stop"]:
            return self._stopped(arguments, list(self.variables["ansible_play_hosts_all"]))
        if arguments["quarantine"]:
            return self._put_into_quarantine(arguments)
        left = self._left_behind(arguments)
        hosts, problems = self._nodes(arguments, left)
        slowdowns = self._slowdowns(hosts) if arguments["rehearsal"] else {}
        options = Options(hosts, slowdowns, arguments)
        problems += wrong_options(options)
        known = [name for name in arguments["probes"] if name in PROBES]
        try:
            tests = planned_with(Chosen(tuple(known)) if known else BUILT_IN, arguments, hosts, len(left.suspects))
        except PlanError as error:
            # Whatever else is wrong may leave too few hosts.
            problems += [str(error)] if len(hosts) >= LEAST_NODES or not problems else []
        try:
            options.training = self._training(arguments["config"])
        except ValueError as error:
            problems.append(str(error).rstrip("."))
        if problems:
            raise AnsibleActionFail("\n".join(f"{problem}." for problem in problems))
        of_slurm = self._slurm.in_words() if self._slurm else []
        for warning in self._slurm.warnings if self._slurm else ():
            self._display.warning(warning)
        lines = [*left.in_words(), *planned_in_words(tests), *more_in_words(arguments, hosts), *of_slurm]
        show("\n".join(["", *(f"{line}." for line in lines), ""]))
        result: dict[str, t.Any] = {"changed": True, "tests": tests}
        return result if self._task.check_mode else result | self._isolated(options, tests, left)

    def _left_behind(self, arguments: dict[str, t.Any]) -> LeftBehind:
        """Return what the run left behind with which this begins; fail where it is none."""
        from ..plugin_utils.isolate.left_behind import LeftBehind, left_behind

        if not arguments["run_id"]:
            return LeftBehind()
        try:
            return left_behind(os.path.abspath(arguments["output_dir"]), arguments["run_id"])
        except ValueError as error:
            raise AnsibleActionFail(f"{error}.") from None

    def _nodes(self, arguments: dict[str, t.Any], left: LeftBehind) -> tuple[list[str], list[str]]:
        """Return the nodes that are tested, hosts of the play or nodes of Slurm, and what is wrong with them."""
        from ..plugin_utils.isolate.left_behind import missing_hosts

        launcher = self._templar.template(self.variables.get("training_launcher")) or SSH
        if launcher != SSH:
            self._slurm, problems = self._under_slurm(arguments, left)
            return list(self._slurm.addresses), problems
        problems = missing_hosts(left, set(self.variables["hostvars"]))
        if arguments["slurm_nodes"]:
            problems.append(
                f"isolate_slurm_nodes has no effect with training_launcher={SSH}. Choose hosts with --limit"
            )
        hosts = self.variables["ansible_play_hosts_all"]
        return [host for host in hosts if not left.run_id or host in left.nodes], problems

    def _under_slurm(self, arguments: dict[str, t.Any], left: LeftBehind) -> tuple[UnderSlurm, list[str]]:
        """Return which nodes of Slurm are tested and how, and what is wrong with that; fail where it says nothing."""
        from ..plugin_utils.isolate.slurm.wanted import under_slurm
        from ..plugin_utils.plan.config.findings import Findings
        from ..plugin_utils.plan.plan import typed_options

        found = Findings()
        settings = typed_options(self._plan_options(), found)
        if found.faults:
            wrong = (f"{fault['key']}: {fault['message']} {fault['remedy']}" for fault in found.faults)
            raise AnsibleActionFail("\n".join(wrong))
        try:
            return under_slurm(settings, left, arguments)
        except NodeError as error:
            raise AnsibleActionFail(f"{error}.") from None

    def _plan_options(self) -> dict[str, t.Any]:
        """Return the variables of a training."""
        from ..plugin_utils.plan.options import PLAN_ARGUMENTS

        options = self.options(PLAN_ARGUMENTS, dict.fromkeys(PLAN_ARGUMENTS.values()))
        if options.get("training_launcher", SSH) != SSH and has_pyxis():
            options["training_slurm_pyxis"] = True
        return options

    def _training(self, config: str | None) -> Plan | None:
        """Return the plan of a training config, on hosts of the inventory; ValueError says what is wrong with it."""
        from ..plugin_utils.isolate.training import training_plan

        if not config:
            return None
        path, text, unreadable = self.file(config)
        hosts = [self.node(host) for host in self.variables["groups"]["all"]]
        if self._slurm:
            return self._slurm.training(
                training_plan(text, path, unreadable, self._plan_options(), hosts, by_slurm=True)
            )
        return training_plan(text, path, unreadable, self._plan_options(), hosts)

    def _isolated(self, options: t.Any, tests: PlannedTests, left: LeftBehind) -> dict[str, t.Any]:
        from ..plugin_utils.isolate.holding import held_nodes
        from ..plugin_utils.isolate.isolation import StoppedError, isolate
        from ..plugin_utils.isolate.outcome import blame_of
        from ..plugin_utils.isolate.planned import PlanError
        from ..plugin_utils.isolate.prober import ProbedNode, Prober
        from ..plugin_utils.isolate.settling import settled, staged_files
        from ..plugin_utils.report.isolation_write import isolation_lines, write_isolation, write_plan

        end_with_the_controller()
        arguments = options.arguments
        name = arguments["name"] or time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        runs = Path(os.path.abspath(arguments["output_dir"]))
        folder = runs / ISOLATIONS / name
        try:
            by_slurm = {"slurm": True} if self._slurm else {}
            write_plan(folder, name, {**options.plan(tests), **by_slurm, "suspicion": left.suspects})
        except FileExistsError:
            raise AnsibleActionFail(f"{folder} exists already. Choose another isolate_name, or omit it.") from None
        except OSError as error:
            raise AnsibleActionFail(f"{error.filename or folder} cannot be written: {error.strerror}.") from None
        nodes = self._slurm.addresses if self._slurm else {host: self._address(host) for host in options.hosts}
        plan, parts = held_nodes(name, nodes, arguments["node_dir"], 60 * arguments["budget"], options.training)
        if too_few := allow_open_files(len(parts)):
            self._display.warning(f"{too_few}.")
        board = Board(folder)
        show(f"To stop it from elsewhere: {playbook_command('stop', runs / name)}")
        try:
            with self._asked(plan, parts, board, arguments["slurm_wait"]) as (asks, askers):
                prober = Prober(
                    nodes={host: ProbedNode(nodes[host], options.slowdown(host)) for host in options.hosts},
                    ask=asks,
                    at_once=context.CLIARGS["forks"],
                    port=arguments["port"],
                    rehearsal=arguments["rehearsal"],
                    bad_links=options.bad_links(),
                    late=lambda: _late(askers),
                    files=staged_files(),
                )
                isolation = isolate(
                    prober,
                    tests,
                    show,
                    lambda prober, nodes: settled(prober, nodes, options, show, len(left.suspects)),
                    before=left.suspects,
                    is_stopped=board.stop_is_requested,
                )
        except StoppedError:
            raise AnsibleActionFail(f"Isolation {name} was stopped, and found nothing.") from None
        except (PlanError, SlurmError) as error:
            # The named probes cannot run on these nodes, or not within the budget; or Slurm gives no nodes.
            raise AnsibleActionFail(f"{error}.") from None
        page = write_isolation(folder, name, isolation, isolation["tests"], rehearsal=arguments["rehearsal"])
        # A rehearsal makes nodes slow itself, and measures none as a training uses it.
        after = [] if arguments["rehearsal"] else self._kept(runs, name, isolation, arguments["quarantine_days"])
        write_index_of(runs)
        show("\n".join(["", *isolation_lines(isolation), *(f"  {line}" for line in after), f"Report: {page}", ""]))
        return {"name": name, "suspects": isolation["suspects"], "hosts": blame_of(isolation), "report": str(page)}

    def _kept(self, runs: Path, name: str, isolation: Isolation, days: float) -> list[str]:
        """Keep what follows from an isolation in a folder of runs, and return what was done as lines."""
        from ..plugin_utils.report.isolation_after import quarantined, remembered

        quarantine = Quarantine(runs / "quarantine.json", inventory_name())
        return [
            *quarantined(quarantine, name, isolation, days),
            *remembered(runs, name, isolation, datetime.now(UTC)),
        ]

    def _put_into_quarantine(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Keep the nodes that an isolation found to be bad out of runs, in the inventory of this call."""
        from ..plugin_utils.isolate.options import wrong_quarantine
        from ..plugin_utils.isolate.outcome import reasons_of
        from ..plugin_utils.report.isolation_after import left_out
        from ..plugin_utils.report.isolation_read import isolation_in

        name, days = arguments["name"], arguments["quarantine_days"]
        runs = Path(os.path.abspath(arguments["output_dir"]))
        try:
            isolation = isolation_in(runs / ISOLATIONS, name)
        except ValueError as error:
            raise AnsibleActionFail(f"{error}. Set isolate_name to the name of an isolation.") from None
        bad = reasons_of(isolation)
        if wrong := wrong_quarantine(name, days, bad, set(self.variables["hostvars"])):
            raise AnsibleActionFail("\n".join(f"{one}." for one in wrong))
        if isolation["rehearsal"]:
            show(f"Isolation {name} was a rehearsal, so nothing has been changed.")
            return {"changed": False, "quarantined": []}
        if not self._task.check_mode:
            try:
                show(f"{left_out(Quarantine(runs / 'quarantine.json', inventory_name()), name, isolation, days)}.")
            except (ValueError, OSError) as error:
                raise AnsibleActionFail(f"{error}.") from None
        return {"changed": True, "quarantined": list(bad)}

    def _stopped(self, arguments: dict[str, t.Any], hosts: list[str]) -> dict[str, t.Any]:
        """Free the nodes that an isolation holds, whoever began it and wherever; fail where some do not answer."""
        from ..plugin_utils.isolate.options import held_by, not_in_play

        name = arguments["name"]
        board = Board(Path(os.path.abspath(arguments["output_dir"])) / ISOLATIONS / name)
        try:
            plan: t.Any = board.plan()
            nodes, folder = held_by(plan)
        except ValueError as error:
            raise AnsibleActionFail(f"{error}. Set isolate_name to the name of an isolation.") from None
        if "slurm" in plan:
            return self._cancelled(name, board, nodes)
        held = [node for node in nodes if node in hosts]
        wrong = not_in_play(name, nodes, hosts)
        if not self._task.check_mode:
            wrong += self._freed(name, held, folder, board)
        if wrong:
            raise AnsibleActionFail("\n".join(f"{one}." for one in wrong))
        if not self._task.check_mode:
            show(f"Isolation {name} is stopped, and {counted(len(held), 'node')} free.")
        return {"changed": True, "stopped": held}

    def _cancelled(self, name: str, board: Board, nodes: list[str]) -> dict[str, t.Any]:
        """End the step of Slurm in which an isolation asks its nodes, or the job that is only for that."""
        from ..plugin_utils.run.slurm.job import SlurmJob

        if not self._task.check_mode:
            board.request_stop()
            job = SlurmJob(board.run_dir)
            try:
                if job.id and not job.is_over():
                    job.cancel()
            except NodeError as error:
                raise AnsibleActionFail(f"{error}.") from None
            show(f"Isolation {name} is stopped{f': Slurm ends {job.name}' if job.id else ''}.")
        return {"changed": True, "stopped": nodes}

    def _freed(self, name: str, held: list[str], folder: str, board: Board) -> list[str]:
        """Free nodes that an isolation holds in a folder, and return why some could not be asked for that."""
        from ..plugin_utils.isolate.holding import held_nodes
        from ..plugin_utils.isolate.prober import ProbedNode, Prober

        # First, so that whoever does the tests takes no node that is freed for a broken one.
        board.request_stop()
        plan, parts = held_nodes(name, dict.fromkeys(held, ""), folder, 0)
        with self._connected(plan, parts, board.nonce()) as (asks, askers):
            nodes = {node: ProbedNode("") for node in held}
            at_once = context.CLIARGS["forks"]
            errors = Prober(nodes=nodes, ask=asks, at_once=at_once, port=0, late=lambda: _late(askers)).let_go()
        return [f"{node}: {error}" for node, error in errors.items()]

    @contextlib.contextmanager
    def _asked(
        self, plan: t.Any, parts: t.Any, board: Board, wait_minutes: float
    ) -> t.Iterator[tuple[dict[str, Ask], dict[str, Asker]]]:
        """Give what asks each node of an isolation that begins, and for each that has a connection its asker."""
        nonce = board.begin_anew()
        if not self._slurm:
            with self._connected(plan, parts, nonce) as asked:
                yield asked
            return
        environment = environment_of(self._templar.template(self.variables.get(ENVIRONMENT)))
        with self._slurm.step(board.run_dir, plan, 60 * wait_minutes, show, board.stop_is_requested) as step:
            yield self._slurm.asks(step, plan, nonce, environment), {}

    @contextlib.contextmanager
    def _connected(self, plan: t.Any, parts: t.Any, nonce: str) -> t.Iterator[tuple[dict[str, Ask], dict[str, Asker]]]:
        """Give what asks each node, and for each that has a connection its asker."""
        self._links: dict[str, NodeLink] = {}
        try:
            yield self._asks(plan, parts, nonce)
        finally:
            for link in self._links.values():
                link.close(for_good=True)

    def _asks(self, plan: t.Any, parts: t.Any, nonce: str) -> tuple[dict[str, Ask], dict[str, Asker]]:
        inventory = self.variables["hostvars"]._inventory
        kept = KeptConnections()
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
                asks[name] = refusing(NodeError(plain_text(str(error))))
        return asks, askers

    def _address(self, host: str) -> str:
        node = self.node(host)
        return "127.0.0.1" if node.local and node.address == host else node.address

    def _slowdowns(self, hosts: list[str]) -> dict[str, t.Any]:
        hostvars = self.variables["hostvars"]
        # Nodes of Slurm need not be hosts.
        known = [host for host in hosts if host in hostvars]
        return {host: self._templar.template(hostvars[host].get(_SLOWDOWN, 1.0)) for host in known}


def _late(askers: Mapping[str, Asker]) -> dict[str, NodeError]:
    """Return the nodes that take too long to answer."""
    return {name: error for name, asker in askers.items() if (error := asker.late())}
