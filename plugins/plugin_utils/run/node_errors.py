# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be wrong with a node while it is asked; the text of each says it for people."""

from __future__ import annotations


class NodeError(Exception):
    """A node did not do what it was asked."""


class RunGoneError(NodeError):
    """A node answers that what it kept of the run is gone."""


class NodeHeldError(NodeError):
    """Other runs hold a node, ``by`` their run_ids; one that is not ``running`` may still give it up."""

    def __init__(self, message: str, by: list[str], running: bool) -> None:
        """Say who holds the node."""
        super().__init__(message)
        self.by, self.running = by, running


class NodeLostError(NodeError):
    """A node does not answer."""


class NodeEndedError(NodeLostError):
    """A node will not answer any more."""
