# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be wrong with a node while it is asked; the text of each says it for people."""

from __future__ import annotations


class NodeError(Exception):
    """A node did not do what it was asked."""


class NodeLostError(NodeError):
    """A node does not answer."""
