# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of the locks of a node, which is also what keeps apart the clusters that one machine stands for."""

from __future__ import annotations

import os

# Not below a run's folder: two runs on a node need not log to the same place.
DEFAULT_LOCK_FOLDER = "/tmp/trainops-locks"
# For a machine that stands for the nodes of several clusters, as one that runs tests side by side does.
LOCK_FOLDER_VARIABLE = "TRAINOPS_LOCK_FOLDER"
LOCK_FOLDER = os.environ.get(LOCK_FOLDER_VARIABLE, DEFAULT_LOCK_FOLDER)
