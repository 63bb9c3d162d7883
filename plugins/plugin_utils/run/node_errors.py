# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of a node that it does not report itself; for those that it does see `module_utils.node.phase`."""

from __future__ import annotations

from ...module_utils.node.phase import NodeError


class NodeLostError(NodeError):
    """A node does not answer."""


class NodeEndedError(NodeLostError):
    """A node will not answer any more."""
