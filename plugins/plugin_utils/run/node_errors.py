# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be wrong with a node, beside what it says itself (`module_utils.node.phase`)."""

from __future__ import annotations

from ...module_utils.node.phase import NodeError


class NodeLostError(NodeError):
    """A node does not answer."""


class NodeEndedError(NodeLostError):
    """A node will not answer any more."""
