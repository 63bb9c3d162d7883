# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be wrong with a node while it is asked; the text of each says it for people."""

from __future__ import annotations


class NodeError(Exception):
    """A node did not do what it was asked."""


class RunGoneError(NodeError):
    """A node answers that what it kept of the run is gone."""


class NodeHeldError(NodeError):
    """Another run holds a node."""


class NodeLostError(NodeError):
    """A node does not answer."""
