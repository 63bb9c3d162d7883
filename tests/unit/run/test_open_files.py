from __future__ import annotations

import subprocess
import sys

import pytest

from ansible_collections.trainops.cluster.plugins.plugin_utils.run import open_files

PROGRAM = """
import importlib.util, resource, sys
spec = importlib.util.spec_from_file_location("open_files", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, int(sys.argv[3])))
print(module.allow_open_files(int(sys.argv[2])), resource.getrlimit(resource.RLIMIT_NOFILE)[0], sep="|")
"""


@pytest.mark.parametrize(
    ("nodes", "hard", "said", "soft"),
    [
        (4, 4096, "None", 256),
        (400, 4096, "None", 3328),
        (1024, 4096, "1024 nodes may need 8320 open files on the controller, which allows 4096 (ulimit -Hn)", 4096),
    ],
)
def test_as_many_files_may_be_open_as_the_nodes_take(nodes: int, hard: int, said: str, soft: int) -> None:
    command = [sys.executable, "-c", PROGRAM, open_files.__file__, str(nodes), str(hard)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{said}|{soft}"
