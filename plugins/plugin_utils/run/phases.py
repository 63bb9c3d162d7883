# SPDX-License-Identifier: GPL-3.0-or-later
"""The phases of a run on all of its nodes at once, with each node's result on the board.

Between two phases lies a barrier: a phase begins when the one before it is done on every node. A node that fails is a
problem of the run, and keeps no other node from being asked.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...module_utils.node.contracts import PhaseNeeds
from ...module_utils.node.identity import ADOPTS
from ...module_utils.node.phase import NodeError, NodeHeldError
from ..contracts import Plan, Status
from ..text.nodes import folded, folded_messages
from ..text.problems import cause_of
from .answers import COLLECT, FOLLOW, STAGE, STOP, Ask, BadAnswerError, Collected, Finished, Followed, Staged, Stopped
from .board import Board
from .collect import collect_dump, collect_log
from .follow import Follower, Patience
from .news import News
from .node_errors import NOTHING, NodeLostError, said_by
from .on_each import Done, on_each
from .status import UNENDED, has_failed

# A part of a log takes some 25 MB while it is unpacked and written: so few are collected at once.
_COLLECTING = threading.Semaphore(8)
_NAMED = 8
# How long a run waits, in seconds, while no node passes from one of the other runs to another.
_TIE_SECONDS = 60.0
_TIE_POLL_SECONDS = 0.5
# The limit is for all ranks of a run; with 8,192 of them most dumps stay on their nodes.
_MOST_BYTES_OF_DUMPS = 512 << 20
# Of a training that nobody has followed to its end.
_UNFINISHED = ("not_started", *UNENDED)


@dataclass
class Outcome:
    """The results of a phase on all nodes: ``problems`` are sentences with the node, ``errors`` the same by node.

    A problem that belongs to no node has no error.
    """

    changed: bool = False
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    errors: Mapping[str, NodeError] = field(default_factory=dict)


@dataclass
class Phases:
    """A run's phases. ``ask`` of a node takes a phase and its needs; ``at_once`` nodes are asked at the same time.

    ``late`` returns the nodes that take longer to answer than they may, each once.
    """

    plan: Plan
    board: Board
    ask: Mapping[str, Ask]
    at_once: int
    late: Callable[[], Mapping[str, NodeError]] = dict
    _dumped: int = 0

    def stage(self, needs: Callable[[str], PhaseNeeds]) -> Outcome:
        """Put everything in place on every node, and report everything that is missing on any."""

        def stage(node: str) -> Staged:
            try:
                answer = self.ask[node](STAGE, **needs(node))
            except NodeLostError as error:
                self.board.update(node, status="unreachable", **said_by(error))
                raise
            except NodeError as error:
                self.board.update(node, unfit=not isinstance(error, NodeHeldError), **said_by(error))
                raise
            known = {name: answer[name] for name in ("status", "image_id", "hardware", "program") if name in answer}
            # What an earlier try was refused for, or ended with, is over.
            taken_up = answer["status"] != "staged"
            self.board.update(node, unfit=False, finished=False, followed=False, taken_up=taken_up, **NOTHING, **known)
            return answer

        answers, errors = on_each(list(self.ask), stage, self.at_once)
        holders, deadline = _holders(errors), time.monotonic() + _TIE_SECONDS
        while answers and self._wins_ties(errors) and time.monotonic() < deadline:
            time.sleep(_TIE_POLL_SECONDS)
            late, errors = on_each(list(errors), stage, self.at_once)
            answers |= late
            if _holders(errors) != holders:
                # Many runs that began at once release their nodes one after the other.
                holders, deadline = _holders(errors), time.monotonic() + _TIE_SECONDS
        outcome = _outcome(answers, errors)
        if not errors and self.board.nonce() == ADOPTS:
            outcome.problems += self._adopt({node: answer.get("nonce", "") for node, answer in answers.items()})
        return outcome

    def _adopt(self, nonces: Mapping[str, str]) -> list[str]:
        """Take up the run that is on all nodes; return the problem if nodes have different ones."""
        found: dict[str, list[str]] = {}
        for node, nonce in nonces.items():
            found.setdefault(nonce, []).append(node)
        if len(found) > 1:
            held = "; ".join(folded(nodes) for nodes in found.values())
            return [f"The nodes have different runs of the name {self.plan['run_id']}: {held}"]
        self.board.adopt(*found)
        return []

    def _wins_ties(self, errors: Mapping[str, NodeError]) -> bool:
        """Return whether all missing nodes belong to runs that staged at the same time and will yield.

        The run whose run_id sorts first asks again; the others release their nodes.
        """
        return bool(errors) and all(
            isinstance(error, NodeHeldError) and not error.running and min(error.by) > self.plan["run_id"]
            for error in errors.values()
        )

    def look(self, needs: Callable[[str], PhaseNeeds]) -> Outcome:
        """Report what `stage` would, in check mode: nothing is noted."""
        return _outcome(*on_each(list(self.ask), lambda node: self.ask[node](STAGE, **needs(node)), self.at_once))

    def train(self, patience: Patience, grace_seconds: float) -> Outcome:
        """Start every rank, and follow all of them until there is nothing more to wait for.

        A failed training is not a problem here: the board records it. A node whose training ends well is finished at
        once, so `finish` need not ask it again.
        """
        images: dict[str, list[str]] = {}
        for node in self.ask:
            images.setdefault(self.board.status(node)["machine"]["image_id"] or "none", []).append(node)
        if len(images) > 1:
            differing = "; ".join(f"{folded(nodes)} has {image}" for image, nodes in images.items())
            return Outcome(problems=[f"The nodes have different images: {differing}. Pin the image by its digest"])
        self.board.forget_stop()
        together = News() if self.plan["mode"] == "multi_node" else None

        started: set[str] = set()

        def follower(node: str) -> Follower:
            def ask(needs: PhaseNeeds) -> Followed:
                needs["finish_grace_seconds"] = grace_seconds
                answer = self.ask[node](FOLLOW, **needs)
                if answer["changed"]:
                    started.add(node)
                # Whatever else a node says, only one that has ended well need not be stopped.
                finished = answer.get("finished")
                if finished and (answer["status"], answer["exit_status"]) == ("exited", 0):
                    self._note_finished(node, finished)
                return answer

            return Follower(ask, self.board, self.plan, node, patience, together or News())

        followers = {node: follower(node) for node in self.ask}

        def late() -> Iterator[Done[Status]]:
            for node, error in self.late().items():
                yield node, followers[node].give_up(error), None
            for node, follower in followers.items():
                given_up = follower.look()
                if given_up:
                    yield node, given_up, None

        # Whoever is followed waits on its node: that is one thread each, however few may be asked at once.
        statuses, errors = on_each(list(self.ask), lambda node: followers[node].follow(), len(self.ask), late)
        for node, status in statuses.items():
            if status["status"] in UNENDED and not status["following"]["interrupted"]:
                self.board.update(node, followed=True)
        for node in started:
            # Another command that follows the run has found it running.
            self.board.update(node, taken_up=False)
        return Outcome(changed=bool(started), problems=_problems(errors), errors=errors)

    def _note_finished(self, node: str, finished: Finished) -> None:
        """Keep the answer of a node that has stopped the rest of a training and sent its whole log."""

        def part(offset: int) -> Collected:
            if offset:
                raise BadAnswerError("the log that it finished with is incomplete")
            return finished["log"]

        with _COLLECTING:
            collect_log(part, self.board.log_path(node))
        self.board.update(node, finished=True, **_of_the_machine(finished))

    def finish(self, grace_seconds: float) -> Outcome:
        """End all processes that still run on any node, and copy the log of every node that answers."""
        began = time.time()
        # If a node of a run is known to have failed, the others' ends follow from that.
        together = self.plan["mode"] == "multi_node"
        hears = not (together and any(has_failed(self.board.status(node)) for node in self.ask))

        def finish(node: str) -> dict[str, t.Any]:
            if self.board.has_finished(node):
                return {"changed": False}
            try:
                stopped = self._stop(node, grace_seconds, began if hears else None)
            except NodeLostError:
                raise
            except NodeError:
                self._collect(node, None)
                raise
            not_kept = self._collect(node, stopped.get("log"))
            return {"changed": stopped["changed"], "warnings": [*stopped.get("warnings", []), *not_kept]}

        def late() -> Iterator[Done[dict[str, t.Any]]]:
            for node, error in self.late().items():
                self._note_lost(node, error)
                yield node, None, error

        return _outcome(*on_each(list(self.ask), finish, self.at_once, late))

    def _note_lost(self, node: str, error: NodeError) -> None:
        known = self.board.status(node)
        if known["status"] in _UNFINISHED:
            self.board.update(node, status="unreachable", ended_at=time.time())
            if not known["message"]:
                self.board.update(node, **said_by(error))

    def _collect(self, node: str, first: Collected | None) -> list[str]:
        """Copy the log of a node, whose first part may have arrived, and return a warning about bytes not kept."""

        def part(offset: int) -> Collected:
            return first if first and offset == 0 else self.ask[node](COLLECT, offset=offset)

        with _COLLECTING:
            size, left_out = collect_log(part, self.board.log_path(node))
            self._collect_dumps(node)
        return [f"{left_out:,} of the {size:,} bytes of its log are not kept"] if left_out else []

    def _collect_dumps(self, node: str) -> None:
        """Copy the flight-recorder dumps of a node's ranks; nodes that train by themselves share rank numbers."""
        recorded = self.board.status(node)["hang"]["recorded"] if self.plan["mode"] == "multi_node" else []
        for rank in {one["rank"] for one in recorded}:

            def part(offset: int, rank: int = rank) -> Collected:
                return self.ask[node](COLLECT, offset=offset, dump_of_rank=rank)

            left = _MOST_BYTES_OF_DUMPS - self._dumped
            # The verdict needs only the values that the node read from the dump; the file itself is for people.
            with contextlib.suppress(NodeError):
                self._dumped += collect_dump(part, self.board.dump_path(rank), left)

    def _end_of(self, node: str) -> Status:
        """Read a stopped training's log to its end, put its values on the board, and return how it ended."""

        def ask(needs: PhaseNeeds) -> Followed:
            return self.ask[node](FOLLOW, **needs)

        patience = Patience(interval=0, lost=0, stall=math.inf)
        return Follower(ask, self.board, self.plan, node, patience, News(), has_ended=True).follow()

    def _stop(self, node: str, grace_seconds: float, began: float | None) -> Stopped:
        known = self.board.status(node)
        before = known["status"]
        try:
            answer = self.ask[node](STOP, grace_seconds=grace_seconds, with_log=True)
        except NodeLostError as error:
            self._note_lost(node, error)
            raise
        except NodeError as error:
            if before in _UNFINISHED and not known["message"]:
                self.board.update(node, **said_by(error))
            raise
        changes = _of_the_machine(answer)
        if before in UNENDED:
            ended, ended_at = answer["status"], time.time()
            # A rank whose peer failed or was stopped first ends with its own error, which is a consequence of the stop,
            # too.
            follows = known["following"]["interrupted"] or began is None
            ended_itself = ended in ("exited", "killed")
            nobody_followed = not known["following"]["followed"]
            if (ended_itself and not follows) or (nobody_followed and ended != "not_started"):
                heard = self._end_of(node)
                ended_at = heard["process"]["ended_at"] or ended_at
                if ended_itself and began and not follows:
                    follows = self.plan["mode"] == "multi_node" and has_failed(heard) and ended_at > began
            if nobody_followed and ended == "stopped" and began:
                changes["interrupted"] = True
            changes |= {"status": "stopped" if follows else ended, "ended_at": ended_at}
        if changes:
            self.board.update(node, **changes)
        return answer


def _of_the_machine(answer: Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {name: answer[name] for name in ("machine_changes", "traffic") if answer.get(name)}


def _removed(answers: Mapping[str, Mapping[str, t.Any]]) -> list[str]:
    """Return the removed old run folders, one sentence for all nodes with the same folders."""
    nodes: dict[tuple[str, ...], list[str]] = {}
    for node, answer in answers.items():
        if answer.get("removed"):
            nodes.setdefault(tuple(sorted(answer["removed"])), []).append(node)
    return [f"{_few(of)}: old run folders removed (training_keep_runs): {_few(runs)}" for runs, of in nodes.items()]


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _holders(errors: Mapping[str, NodeError]) -> dict[str, list[str]]:
    """Return by node, of those that could not be staged, the runs on it."""
    return {node: sorted(error.by) for node, error in errors.items() if isinstance(error, NodeHeldError)}


def _outcome(answers: Mapping[str, Mapping[str, t.Any]], errors: Mapping[str, NodeError]) -> Outcome:
    return Outcome(
        changed=any(answer["changed"] for answer in answers.values()),
        warnings=[
            *folded_messages(
                (node, f"{node}: {text}") for node, answer in answers.items() for text in answer.get("warnings", [])
            ),
            *_removed(answers),
        ],
        problems=_problems(errors),
        errors=errors,
    )


def _problems(errors: Mapping[str, NodeError]) -> list[str]:
    causes = {node: cause_of(error.problems) for node, error in errors.items()}
    return folded_messages(((node, f"{node}: {error}") for node, error in errors.items()), causes)
