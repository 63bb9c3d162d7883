# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of trainops.cluster.training_isolate: see the module of that name for its documentation."""

from __future__ import annotations

import contextlib
import os
import time
import typing as t
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from ansible import context
from ansible.errors import AnsibleActionFail

from ..plugin_utils.controller_action import (
    ControllerAction,
    inventory_name,
    needed_packages,
    playbook_command,
    show,
    write_index_of,
)

with needed_packages(__name__):
    from ..module_utils.node.phase import NodeError
    from ..module_utils.node.probes.known import PROBES
    from ..plugin_utils.asked_nodes import LOST_SECONDS, AskedNodes
    from ..plugin_utils.node_links import ENVIRONMENT, end_with_the_controller, environment_of
    from ..plugin_utils.plan.job.options import SSH
    from ..plugin_utils.report.files import ISOLATIONS
    from ..plugin_utils.run.answers import Ask
    from ..plugin_utils.run.board import Board
    from ..plugin_utils.run.open_files import allow_open_files
    from ..plugin_utils.run.quarantine import Quarantine
    from ..plugin_utils.slurm.commands import SlurmError

if t.TYPE_CHECKING:
    from ..plugin_utils.contracts import Plan, Reason
    from ..plugin_utils.isolate.isolation import Isolation
    from ..plugin_utils.isolate.left_behind import LeftBehind
    from ..plugin_utils.isolate.planned import PlannedTests
    from ..plugin_utils.slurm.isolation import UnderSlurm

    Asks: t.TypeAlias = Mapping[str, Ask]
    Late: t.TypeAlias = Callable[[], Mapping[str, NodeError]]

_SLOWDOWN = "isolate_rehearsal_slowdown"


class ActionModule(ControllerAction):
    """Finds the bad node among the hosts of the play."""

    BYPASS_HOST_LOOP = True
    _slurm: UnderSlurm | None = None

    def act(self) -> dict[str, t.Any]:
        """Plan and run the tests, and write their findings; fail before touching a node if that is impossible."""
        from ..plugin_utils.isolate.choice import BUILT_IN, Chosen
        from ..plugin_utils.isolate.options import Options, wrong_options
        from ..plugin_utils.isolate.planned import LEAST_NODES, PlanError, planned_in_words
        from ..plugin_utils.isolate.settling import more_in_words, planned_with

        self.refuse_unknown()
        arguments = self.arguments()
        left = self._left_behind(arguments)
        hosts, problems = self._nodes(arguments, left)
        slowdowns = self._slowdowns(hosts) if arguments["rehearsal"] else {}
        options = Options(hosts, slowdowns, arguments)
        problems += wrong_options(options)
        known = [name for name in arguments["probes"] if name in PROBES]
        try:
            tests = planned_with(Chosen(tuple(known)) if known else BUILT_IN, arguments, hosts, len(left.suspects))
        except PlanError as error:
            # Other errors may leave too few hosts.
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
        """Return what the run to start from left behind; fail if there is no such run."""
        from ..plugin_utils.isolate.left_behind import LeftBehind, left_behind

        if not arguments["run_id"]:
            return LeftBehind()
        try:
            return left_behind(os.path.abspath(arguments["output_dir"]), arguments["run_id"])
        except ValueError as error:
            raise AnsibleActionFail(f"{error}.") from None

    def _nodes(self, arguments: dict[str, t.Any], left: LeftBehind) -> tuple[list[str], list[str]]:
        """Return the nodes to test (hosts of the play, or Slurm nodes) and every fault found with them."""
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
        """Return which Slurm nodes are tested and how, and every fault with that; fail if Slurm does not answer."""
        from ..plugin_utils.plan.config.findings import Findings
        from ..plugin_utils.plan.plan import typed_options
        from ..plugin_utils.slurm.isolation import under_slurm

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
        from ..plugin_utils.slurm.plan_run import with_pyxis

        return with_pyxis(self.options(PLAN_ARGUMENTS, dict.fromkeys(PLAN_ARGUMENTS.values())))

    def _training(self, config: str | None) -> Plan | None:
        """Return the plan of a training config, on hosts of the inventory; ValueError gives the fault."""
        from ..plugin_utils.isolate.training import training_plan
        from ..plugin_utils.slurm.plan_run import plan_run

        if not config:
            return None
        path, text, unreadable = self.file(config)
        hosts = [self.node(host) for host in self.variables["groups"]["all"]]
        plan = training_plan(text, path, unreadable, self._plan_options(), hosts, plan_run)
        return self._slurm.training(plan) if self._slurm else plan

    def _isolated(self, options: t.Any, tests: PlannedTests, left: LeftBehind) -> dict[str, t.Any]:
        from ..plugin_utils.isolate.holding import MOST_SECONDS_MORE, held_nodes
        from ..plugin_utils.isolate.isolation import StoppedError, isolate
        from ..plugin_utils.isolate.outcome import blame_of
        from ..plugin_utils.isolate.planned import PlanError
        from ..plugin_utils.isolate.prober import ProbedNode, Prober
        from ..plugin_utils.isolate.settling import settled, staged_files
        from ..plugin_utils.isolate.training import product_of
        from ..plugin_utils.report.isolation_write import isolation_lines, write_isolation, write_plan

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
        seconds = 60 * arguments["budget"]
        plan, parts = held_nodes(name, nodes, arguments["node_dir"], seconds, options.training)
        if too_few := allow_open_files(len(parts)):
            self._display.warning(f"{too_few}.")
        board = Board(folder)
        stop = playbook_command("stop", runs / name)
        show(f"To stop it from elsewhere: {stop}")
        # Under Slurm the nodes are free once the step has ended with this process.
        until = time.strftime("%H:%M UTC", time.gmtime(time.time() + seconds + MOST_SECONDS_MORE + 60))
        freed = "" if self._slurm else f" Its nodes stay reserved until {until} at the latest.\n  Free them now: {stop}"
        end_with_the_controller(lambda: f"\nIsolation {name} ended before its tests did.{freed}\n")
        try:
            with self._asked(plan, parts, board, arguments["slurm_wait"]) as (asks, late):
                prober = Prober(
                    nodes={
                        host: ProbedNode(nodes[host], options.slowdown(host), self._gpus(host))
                        for host in options.hosts
                    },
                    ask=asks,
                    at_once=context.CLIARGS["forks"],
                    port=arguments["port"],
                    rehearsal=arguments["rehearsal"],
                    bad_links=options.bad_links(),
                    late=late,
                    files=staged_files(),
                    product=product_of(options.training),
                )
                isolation = isolate(
                    prober,
                    tests,
                    show,
                    lambda prober, nodes: settled(prober, nodes, options, show, len(left.suspects)),
                    before=left.suspects,
                    is_stopped=board.stop_is_requested,
                    least=arguments["least_effect"] / 100,
                    places=self._places(options.hosts),
                )
        except StoppedError:
            raise AnsibleActionFail(f"Isolation {name} was stopped, and found nothing.") from None
        except (PlanError, SlurmError) as error:
            # The named probes cannot run on these nodes, or not within the budget; or Slurm gives no nodes.
            raise AnsibleActionFail(f"{error}.") from None
        steps = [] if arguments["rehearsal"] else self._next_steps(runs, name, isolation)
        page = write_isolation(folder, name, isolation, isolation["tests"], steps, rehearsal=arguments["rehearsal"])
        # A rehearsal makes nodes slow itself, and measures none as a training uses it.
        after = [] if arguments["rehearsal"] else self._kept(runs, name, isolation, arguments["quarantine_days"])
        write_index_of(runs)
        show(
            "\n".join(["", *isolation_lines(isolation, steps), *(f"  {line}" for line in after), f"Report: {page}", ""])
        )
        return {"name": name, "suspects": isolation["suspects"], "hosts": blame_of(isolation), "report": str(page)}

    def _next_steps(self, runs: Path, name: str, isolation: Isolation) -> list[Reason]:
        """Return what to do about suspects, with the commands for this inventory, or for Slurm."""
        from ..plugin_utils.isolate.outcome import failing_nodes, next_steps
        from ..plugin_utils.text.nodes import folded

        drain = f"scontrol update NodeName={folded(failing_nodes(isolation))} State=DRAIN Reason={name}"
        variables = "isolate_name={run} isolate_quarantine_days=7"
        leave_out = drain if self._slurm else playbook_command("quarantine", runs / name, variables)
        return next_steps(isolation, leave_out, playbook_command("isolate", runs / name, ""))

    def _kept(self, runs: Path, name: str, isolation: Isolation, days: float) -> list[str]:
        """Record the consequences of an isolation in a folder of runs, and return one line for each."""
        from ..plugin_utils.report.isolation_after import remember_measurements, update_quarantine

        quarantine = Quarantine(runs / "quarantine.json", inventory_name())
        return [
            *update_quarantine(quarantine, name, isolation, days),
            *remember_measurements(runs, name, isolation, datetime.now(UTC)),
        ]

    @contextlib.contextmanager
    def _asked(self, plan: Plan, parts: t.Any, board: Board, wait_minutes: float) -> t.Iterator[tuple[Asks, Late]]:
        """Give the functions that ask each node of a new isolation, and the one that returns the silent nodes."""
        nonce = board.begin_anew()
        if not self._slurm:
            with contextlib.closing(AskedNodes(self, plan, parts, nonce, LOST_SECONDS)) as asked:
                yield asked.asks, asked.late
            return
        environment = environment_of(self._templar.template(self.variables.get(ENVIRONMENT)))
        with self._slurm.step(board.run_dir, plan, 60 * wait_minutes, show, board.stop_is_requested) as step:
            yield self._slurm.asks(step, plan, nonce, environment), dict

    def _address(self, host: str) -> str:
        node = self.node(host)
        return "127.0.0.1" if node.local and node.address == host else node.address

    def _places(self, hosts: list[str]) -> dict[str, str]:
        """Return where nodes are in the network; nodes of Slurm need not be hosts."""
        return {host: self.node(host).topology for host in hosts if host in self.variables["hostvars"]}

    def _gpus(self, host: str) -> int:
        """Return how many GPUs the inventory gives a host; 0 if it says nothing. Nodes of Slurm need not be hosts."""
        gpus = self.node(host).gpus if host in self.variables["hostvars"] else ""
        return int(gpus) if gpus.isdigit() else 0

    def _slowdowns(self, hosts: list[str]) -> dict[str, t.Any]:
        hostvars = self.variables["hostvars"]
        # Nodes of Slurm need not be hosts.
        known = [host for host in hosts if host in hostvars]
        return {host: self._templar.template(hostvars[host].get(_SLOWDOWN, 1.0)) for host in known}
