"""The Hugging Face token reaches the training from wherever a user keeps it, and is to be found nowhere else."""

from __future__ import annotations

import json
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_commands import finished
from playbook_bench import BIN, ROOT, Bench
from test_runner_job import Job, answers, wait_until

# All runs here have one name, and their folder for secrets has the same.
pytestmark = pytest.mark.xdist_group("token")

# Nodes with names that no other test has, because a run of the same node elsewhere on this machine would hold it.
TWO: dict[str, dict[str, t.Any]] = {"token0": {}, "token1": {}}
TOKEN = "hf_CanaryInTheMine0123456789abcdefgh"
OF_NODE = "hf_AnotherCanaryOfTheNode9876543210"
SCRIPT = f"""\
[ "$(cat "$HF_TOKEN_PATH")" = "$EXPECTED_TOKEN" ] && echo "the token is the right one"
[ "$(stat -c %a "$HF_TOKEN_PATH")" = 600 ] && echo "nobody else reads it"
cd {ROOT}/roles/training/files/trainer && exec bash examples/llama/train_llama3.sh "$@"
"""


@pytest.fixture
def config(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> dict[str, t.Any]:
    """Return the variables of a run whose script prints whether it got the token."""
    keep_facts(bench, monkeypatch)
    root = bench.megatron(SCRIPT)
    monkeypatch.setenv("EXPECTED_TOKEN", TOKEN)
    return {"training_megatron_root": root, "training_run_id": "token"}


def logs(bench: Bench) -> list[str]:
    return [path.read_text() for path in sorted(bench.runs.glob("*/nodes/*/train.log"))]


def assert_reached_and_left_nowhere(bench: Bench, output: str) -> None:
    found = logs(bench)
    assert len(found) == 2, output
    assert all("the token is the right one" in log and "nobody else reads it" in log for log in found), found
    assert TOKEN not in output
    for folder in (bench.runs, bench.nodes, bench.folder / "facts"):
        for path in folder.rglob("*"):
            assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path
    # Two may remove them: stop, and the process on the node that waits for the end of the training.
    wait_until(lambda: not list(Path("/dev/shm").glob("trainops-token-*")), seconds=5)


def played(bench: Bench, *more: str, **variables: t.Any) -> str:
    """Play a run with Ansible's highest verbosity and a cache of facts, and return the output."""
    config = bench.config(hf_token_file=variables.pop("hf_token_file", None))
    done = bench.play("megatron_multinode.yml", bench.inventory(**TWO), config, "-vvvv", *more, **variables)
    assert done.status == 0, done.output[-4000:]
    return done.output


def keep_facts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ansible keep its facts about hosts in files, and show changes."""

    def environment(of: Bench) -> dict[str, str]:
        own = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(bench.folder / "facts")}
        return {**inherited(of), **own, "ANSIBLE_DIFF_ALWAYS": "1"}

    inherited = Bench.environment
    monkeypatch.setattr(Bench, "environment", environment)


def test_a_vaulted_variable(bench: Bench, config: dict[str, t.Any]) -> None:
    password = bench.folder / "password"
    password.write_text("of the vault")
    command = [str(BIN / "ansible-vault"), "encrypt_string", "--vault-password-file", str(password), TOKEN]
    encrypted = subprocess.run(
        [*command, "--name", "training_hf_token"], capture_output=True, text=True, check=True, cwd=bench.folder
    ).stdout
    vaulted = bench.folder / "vault.yml"
    vaulted.write_text(encrypted)
    assert TOKEN not in encrypted
    output = played(bench, "--vault-password-file", str(password), "-e", f"@{vaulted}", **config)
    assert_reached_and_left_nowhere(bench, output)


@pytest.mark.slow
def test_a_file_of_the_controller_goes_before_that_of_the_config(bench: Bench, config: dict[str, t.Any]) -> None:
    given, of_config = bench.folder / "given", bench.folder / "of_config"
    given.write_text(f"{TOKEN}\n")
    of_config.write_text(OF_NODE)
    output = played(bench, hf_token_file=str(of_config), training_hf_token_file=str(given), **config)
    assert_reached_and_left_nowhere(bench, output)


@pytest.mark.slow
def test_the_file_that_the_config_names(bench: Bench, config: dict[str, t.Any]) -> None:
    of_config = bench.folder / "of_config"
    of_config.write_text(TOKEN)
    assert_reached_and_left_nowhere(bench, played(bench, hf_token_file=str(of_config), **config))


@pytest.mark.slow
def test_a_file_that_is_nowhere_is_reported_once_for_all_nodes(bench: Bench) -> None:
    output = played(bench, hf_token_file="/nowhere/hf_token")
    told = [line for line in output.splitlines() if line.startswith("[WARNING]") and "/nowhere/hf_token" in line]
    assert told == [
        "[WARNING]: token[0-1]: /nowhere/hf_token is missing or empty, both on this node and on the controller"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("injector", ["extra_vars", pytest.param("env", marks=pytest.mark.long)])
def test_a_credential_of_awx(bench: Bench, config: dict[str, t.Any], injector: str) -> None:
    """AWX writes the file of a credential for each job, at another path each time, and its injectors pass the path."""
    job = Job(bench)
    job.verbosity = 4
    written = job.folder / "env/tmp_credential"
    written.write_text(TOKEN)
    kind = yaml.load((ROOT / "awx/credentials.yml").read_text(), _WithUnsafe)["controller_credential_types"][0]
    [(variable, template)] = kind["injectors"]["extra_vars"].items()
    assert template == "{{ tower.filename }}"
    value, environment = str(written), {"EXPECTED_TOKEN": TOKEN}
    if injector == "env":
        value, environment["HF_TOKEN_PATH"] = "{{ lookup('ansible.builtin.env', 'HF_TOKEN_PATH') }}", value
    given = answers(bench, bench.config(), **{**config, variable: value})
    job.play("megatron_multinode.yml", bench.inventory(**TWO), given, **environment)
    assert job.finished.rc == 0, job.stdout[-4000:]
    assert_reached_and_left_nowhere(bench, job.stdout)
    # ansible-runner keeps the environment of the job, with the values that the test expects, in a file named command.
    assert [path for path in job.holds(TOKEN) if not path.endswith("/command")] == []


class _WithUnsafe(yaml.SafeLoader):
    """Reads text that is marked as not a template as plain text."""


_WithUnsafe.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(t.cast("yaml.ScalarNode", node)))


def test_a_token_that_is_not_there_is_told_before_any_node_is_touched(bench: Bench) -> None:
    gone = str(bench.folder / "gone")
    hosts = bench.inventory(**TWO)
    done = bench.play("megatron_multinode.yml", hosts, bench.config(), training_hf_token_file=gone)
    assert done.status != 0
    assert "training_hf_token_file" in done.output
    # Ansible breaks lines wherever a path makes them long.
    assert "No such file or directory" in " ".join(done.output.split())
    assert not bench.nodes.exists()


@pytest.mark.slow
def test_a_token_of_the_config_that_is_no_text_is_named(bench: Bench, config: dict[str, t.Any]) -> None:
    path = bench.folder / "token"
    path.write_bytes(b"hf_\xff")
    of_file = bench.config(hf_token_file=str(path))
    done = bench.play("megatron_multinode.yml", bench.inventory(**TWO), of_file, **config)
    assert done.status != 0
    assert f"{path} cannot be read: it is not UTF-8 text." in " ".join(done.output.split())


PRINTS_IT = """\
export "$@"
echo "login with $PRINTED, HF_TOKEN=$PRINTED"
for step in 1 2 3; do
  echo " iteration $step/ 8 | elapsed time per iteration (ms): 200.0 | lm loss: 4.0E+00 |"
  sleep 0.2
done
echo "RuntimeError: CUDA error: out of memory, as $PRINTED was used" >&2
exit 1
"""


def test_a_token_that_the_training_prints_stays_in_the_log_of_the_node(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_facts(bench, monkeypatch)
    monkeypatch.setenv("PRINTED", TOKEN)
    root = bench.megatron(PRINTS_IT)
    asked = {"training_dialects": ["junit", "openmetrics"], "training_megatron_root": root, "training_run_id": "token"}
    done = bench.play("megatron_multinode.yml", bench.inventory(**TWO), bench.config(), "-vvvv", **asked)
    assert done.summary["first_failure"]["class"] == "out_of_memory", done.output[-4000:]
    assert "as hf_(hidden) was used" in done.summary["first_failure"]["message"]
    assert ["login with hf_(hidden), HF_TOKEN=hf_(hidden)" in log for log in logs(bench)] == [True, True]
    # Without the run's own folder, its logs on the nodes are judged as those of any other run.
    existing = {"training_logs": str(bench.nodes / "token"), "training_output_dir": str(bench.folder / "judged")}
    again = finished(
        ["ansible-playbook", str(ROOT / "playbooks/report.yml"), "-vvvv", "-e", json.dumps(existing)],
        bench.environment(),
    )
    assert "out_of_memory" in again.stdout, again.stdout[-4000:]
    assert TOKEN not in done.output + again.stdout
    for folder in (bench.runs, bench.folder / "judged", bench.folder / "facts"):
        written = [path for path in folder.rglob("*") if path.is_file()]
        assert written
        assert [path for path in written if TOKEN.encode() in path.read_bytes()] == []
