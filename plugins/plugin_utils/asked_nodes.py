# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of a plan, each asked over the connection of its host, by one task that keeps all connections."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping

from ansible.errors import AnsibleError

from ..module_utils.node.identity import identity_of
from ..module_utils.node.phase import NodeError
from .contracts import NodePlan, Plan
from .controller_action import ControllerAction
from .node_links import ENVIRONMENT, NodeLink, environment_of, python_of
from .plain_text import plain_text
from .run.answers import Ask
from .run.asking import Asker, refusing
from .ssh.kept_connections import KeptConnections

# The longest that a node under test may be away.
LOST_SECONDS = 120.0


class AskedNodes:
    """A plan's nodes and their connections in a task; ``asks`` has the function that asks each node, by its name.

    If a host's variables are wrong, its node is never asked; every request raises `NodeError` with the reason.
    """

    def __init__(
        self,
        action: ControllerAction,
        plan: Plan,
        parts: Iterable[NodePlan],
        nonce: str,
        lost: float,
        programs: Mapping[str, str | None] | None = None,
    ) -> None:
        """Make the connections of the task of an ``action`` to nodes, which may be away for ``lost`` seconds.

        ``programs`` are those that nodes keep, see `Asker`.
        """
        self.asks: dict[str, Ask] = {}
        self._links: dict[str, NodeLink] = {}
        self._askers: dict[str, Asker] = {}
        inventory = action.variables["hostvars"]._inventory
        kept = KeptConnections()
        for part in parts:
            name = part["node"]
            try:
                link = self._links[name] = NodeLink(action, inventory.get_host(name), kept)
                asker = self._askers[name] = Asker(
                    plan,
                    part,
                    link.send,
                    python_of(link),
                    environment_of(link.variable(ENVIRONMENT)),
                    action._task.check_mode,
                    identity_of(plan, part, nonce),
                    (programs or {}).get(name),
                    lost,
                )
                self.asks[name] = asker.ask
            except (AnsibleError, ValueError) as error:
                self.asks[name] = refusing(NodeError(plain_text(str(error))))

    def late(self) -> dict[str, NodeError]:
        """Return the nodes that take too long to answer; called once a second."""
        return {name: error for name, asker in self._askers.items() if (error := asker.late())}

    def variable(self, node: str, name: str) -> t.Any:
        """Return a variable of the host of a node, or None."""
        link = self._links.get(node)
        return link.variable(name) if link else None

    def close(self, is_last: Callable[[str], bool] = lambda _node: True) -> None:
        """Close all connections, for good if a node will not be asked again."""
        for name, link in self._links.items():
            link.close(for_good=is_last(name))
