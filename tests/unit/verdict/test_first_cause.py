from __future__ import annotations

from pathlib import Path

import pytest
from training_logs import (
    GLOO_PEER_CLOSED,
    GPU_HANG,
    HEARTBEAT,
    IMPORT_WARNING,
    LOST_PEER,
    NCCL_ERROR,
    OUT_OF_MEMORY,
    PYTHON_ERROR,
    RENDEZVOUS,
    WATCHDOG,
    Node,
    codes,
    elastic,
    judged,
    known_of,
    lines,
)

from ansible_collections.trainops.cluster.plugins.module_utils.logs.failures import find_failures
from ansible_collections.trainops.cluster.plugins.module_utils.logs.find import Piece
from ansible_collections.trainops.cluster.plugins.module_utils.node.problems import in_words, problem
from ansible_collections.trainops.cluster.plugins.plugin_utils.run.status import status_of
from ansible_collections.trainops.cluster.plugins.plugin_utils.verdict.first_cause import first_failure


def first_of(nodes: list[Node], folder: Path, **arguments) -> dict:
    statuses = [status_of(known_of(node, folder, rank)[0]) for rank, node in enumerate(nodes)]
    first = first_failure(statuses, **arguments)
    assert first is not None
    return first


def failed(name: str, log: str, seconds: float, exit_status: int = 1) -> Node:
    return Node(name, log, exit_status=exit_status, seconds=seconds)


def killed(name: str, log: str, seconds: float) -> Node:
    return Node(name, log, status="killed", seconds=seconds)


def stopped(name: str, log: str) -> Node:
    return Node(name, log, status="stopped", seconds=None)


def traceback(exception: str) -> str:
    """Return Python's output for an uncaught exception."""
    return (
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "/workspace/Megatron-LM/megatron/training/training.py", line 900, in train\n'
        f"[rank0]: {exception}\n"
    )


# The event; the nodes, with the culprit last; its class.
TEST_CULPRITS = [
    *(
        (
            f"a node had an error of its own, and the sockets of its peers broke a second before it ended: {exception}",
            [failed("a", traceback(exception), 10), failed("b", traceback(exception), 10.5), failed("c", own, 11.5)],
            failure_class,
        )
        for exception in (
            "ConnectionResetError: [Errno 104] Connection reset by peer",
            "BrokenPipeError: [Errno 32] Broken pipe",
            "torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
            "EOFError",
            "RuntimeError: [1] is setting up NCCL communicator and retrieving ncclUniqueId: Connection reset by peer",
        )
        for own, failure_class in ((PYTHON_ERROR, "python_error"), (OUT_OF_MEMORY, "out_of_memory"))
    ),
    (
        "a node was killed with SIGKILL, and its peers lost the connection before that was noticed",
        [failed("a", LOST_PEER + elastic(1), 10), failed("b", LOST_PEER, 10.5), killed("c", "", 12)],
        "killed",
    ),
    (
        "a process was killed with SIGKILL, which a shell reports as 137, and a peer has a NCCL error",
        [failed("a", NCCL_ERROR, 10), failed("b", "", 12, exit_status=137)],
        "killed",
    ),
    (
        "the kernel killed one rank: torchrun says so",
        [failed("a", GLOO_PEER_CLOSED + elastic(1), 10), failed("b", elastic(-9), 11)],
        "killed",
    ),
    (
        "one node ran out of memory, a peer's NCCL error was written earlier",
        [failed("a", NCCL_ERROR + elastic(1), 10), failed("b", OUT_OF_MEMORY + elastic(1), 40)],
        "out_of_memory",
    ),
    (
        "one node ran out of memory, and torchrun was still ending when we stopped it",
        [failed("a", NCCL_ERROR + elastic(1), 10), stopped("b", OUT_OF_MEMORY)],
        "out_of_memory",
    ),
    (
        "one node ran out of memory, and a peer failed in Python over it",
        [failed("a", PYTHON_ERROR, 10), stopped("b", OUT_OF_MEMORY)],
        "out_of_memory",
    ),
    (
        "one node raised, and torchrun was still ending when we stopped it; the peer's watchdog ended the peer",
        [failed("a", WATCHDOG + elastic(-6), 10, exit_status=134), stopped("b", PYTHON_ERROR)],
        "python_error",
    ),
    (
        "a GPU hung, a peer ran out of memory",
        [failed("a", OUT_OF_MEMORY, 10), failed("b", GPU_HANG + elastic(-6), 20)],
        "gpu_hang",
    ),
    (
        "a traceback goes before nodes that only have an exit status, though these were noticed first",
        [failed("a", "", 10), failed("b", elastic(1), 11), failed("c", PYTHON_ERROR + elastic(1), 12)],
        "python_error",
    ),
    (
        "a node ended with a sentence that no signature knows, and the peers' network errors followed",
        [failed("a", NCCL_ERROR, 11), failed("b", "train.sh: line 12: ODD: unbound variable\n", 10)],
        "settings_refused",
    ),
    (
        "a node's GPUs are not those that the program was built for, and its errors follow from that",
        [
            failed(
                "a",
                "terminate called after throwing an instance of 'c10::Error'\n  what():  invalid device pointer: 0x5\n",
                10,
            ),
            failed("b", "RuntimeError: HIP error: no kernel image is available for execution on the device\n", 11),
        ],
        "wrong_gpu_build",
    ),
    (
        "two raised: the first one",
        [failed("a", PYTHON_ERROR, 12), failed("b", PYTHON_ERROR, 11)],
        "python_error",
    ),
    (
        "a script ended with a bare exit status, and the peers' network errors followed",
        [failed("a", NCCL_ERROR, 11), failed("b", "", 10, exit_status=3)],
        "exit_status",
    ),
    (
        "a rank ended with a bare exit code, which only torchrun tells; the peer lost it and was noticed first",
        [failed("a", LOST_PEER, 10), failed("b", elastic(3), 11)],
        "elastic",
    ),
    (
        "a rank hung: every other node's watchdog says so, that node ended after them without a word",
        [failed("a", WATCHDOG + elastic(-6), 10), failed("b", WATCHDOG + elastic(-6), 10), failed("c", "", 13)],
        "exit_status",
    ),
    (
        "one script ended at once for reasons of its own, the others waited for the node to meet them",
        [failed("a", RENDEZVOUS, 600), failed("b", "train_llama3.sh: not today\n", 1, 2)],
        "exit_status",
    ),
    (
        "all have a network error: the first one",
        [failed("a", NCCL_ERROR, 12), failed("b", NCCL_ERROR, 11)],
        "nccl",
    ),
    (
        "all lost a peer: the first one to end",
        [failed("a", HEARTBEAT, 12), failed("b", HEARTBEAT, 11)],
        "peer_died",
    ),
    (
        "a node went away, and the network errors of its peers were read before it was given up",
        [
            failed("a", NCCL_ERROR, 10),
            Node("b", "", status="unreachable", seconds=70, told={"message": "Connection timed out"}),
        ],
        "unreachable",
    ),
    (
        "the run hung, and the log of one node that we stopped says why",
        [
            Node("a", "", status="stalled", told={"message": "no log of the run has grown for 60 s"}),
            stopped("b", GPU_HANG),
        ],
        "gpu_hang",
    ),
]


@pytest.mark.parametrize(
    ("nodes", "failure_class"), [case[1:] for case in TEST_CULPRITS], ids=[case[0] for case in TEST_CULPRITS]
)
@pytest.mark.parametrize("order", [1, -1], ids=["told last", "told first"])
def test_the_culprit_is_named_whatever_the_order_of_the_nodes(nodes, failure_class, order, tmp_path):
    first = first_of(nodes[::order], tmp_path)
    assert (first["node"], first["class"]) == (nodes[-1].name, failure_class)


def test_the_failures_that_follow_are_echoes_and_stopped_nodes_are_not(tmp_path):
    nodes = [
        failed("a", NCCL_ERROR, 10),
        failed("b", OUT_OF_MEMORY, 11),
        stopped("c", NCCL_ERROR + elastic(-15)),
        failed("d", "", 12),
        Node("e", IMPORT_WARNING, seconds=9),
    ]
    first = first_of(nodes, tmp_path)
    assert [(echo["node"], echo["class"]) for echo in first["echoes"]] == [("a", "nccl"), ("d", "exit_status")]
    assert "DistBackendError" in first["echoes"][0]["message"]


def test_an_echo_says_what_happened_to_the_peer_rather_than_that_a_process_failed(tmp_path):
    log = LOST_PEER + elastic(1) + "ERROR: training (torchrun pretrain_gpt.py) failed with exit code 1\n"
    first = first_of([failed("a", log, 10), killed("b", "", 11)], tmp_path)
    assert [(echo["class"], echo["message"]) for echo in first["echoes"]] == [("peer_died", LOST_PEER.strip())]


HEARTBEATS = "The following tasks are unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:{}\n"


@pytest.mark.parametrize(
    ("rank", "ranks_per_node", "node", "case"),
    [(2, 1, "c", "went_away"), (17, 8, "c", "went_away"), (0, 1, "a", None), (9, 1, "a", None)],
)
def test_the_culprit_is_the_node_whose_rank_went_away_and_not_the_one_that_tells_it(
    rank: int, ranks_per_node: int, node: str, case: str | None, tmp_path
):
    nodes = [failed("a", HEARTBEATS.format(rank), 10), stopped("b", ""), stopped("c", "")]
    first = first_of(nodes, tmp_path, ranks_per_node=ranks_per_node)
    assert (first["node"], first["class"], first.get("case"), first["rank"]) == (node, "peer_died", case, rank)
    assert [echo["node"] for echo in first["echoes"]] == (["a"] if case else [])


def test_a_node_that_ended_well_did_not_go_away_whatever_another_one_tells(tmp_path):
    first = first_of([failed("a", HEARTBEATS.format(1), 10), Node("b", "", exit_status=0)], tmp_path)
    assert (first["node"], first["class"]) == ("a", "peer_died")


REFUSED = "[rank{}]: pretrain_gpt.py: error: unrecognized arguments: --num-layer\n"


def test_an_error_that_all_nodes_have_alike_is_of_the_run(tmp_path):
    alike = [failed("a", REFUSED.format(0), 10), failed("b", REFUSED.format(8), 11), stopped("c", REFUSED.format(17))]
    assert first_of(alike, tmp_path)["origin"] == "run"
    assert first_of(alike, tmp_path, together=False)["origin"] == "node"
    assert first_of(alike[:1], tmp_path)["origin"] == "node"


@pytest.mark.parametrize(
    "other",
    [
        stopped("b", ""),
        failed("b", "", 11),
        failed("b", OUT_OF_MEMORY, 11),
        failed("b", REFUSED.replace("layer", "head").format(8), 11),
    ],
)
def test_an_error_that_another_node_does_not_have_stays_with_its_node(other: Node, tmp_path):
    first = first_of([failed("a", REFUSED.format(0), 10), other], tmp_path)
    assert first["origin"] == "node"


def test_nodes_that_lost_each_other_alike_do_not_make_it_the_run(tmp_path):
    assert first_of([failed("a", LOST_PEER, 10), failed("b", LOST_PEER, 11)], tmp_path)["origin"] == "node"


def test_a_node_that_we_stopped_is_no_culprit_for_texts_that_follow_from_the_stop(tmp_path):
    nodes = [stopped("a", NCCL_ERROR + WATCHDOG + LOST_PEER + elastic(-15)), failed("b", LOST_PEER, 10)]
    assert first_of(nodes, tmp_path)["node"] == "b"


def test_a_node_that_we_stopped_goes_behind_one_that_failed_in_the_same_way(tmp_path):
    nodes = [stopped("a", IMPORT_WARNING), failed("b", PYTHON_ERROR, 10)]
    assert (first_of(nodes, tmp_path)["node"], first_of(nodes, tmp_path)["class"]) == ("b", "python_error")


def test_a_node_that_ended_well_is_no_culprit_whatever_its_log_says(tmp_path):
    nodes = [Node("a", GPU_HANG + lines(range(1, 11)), seconds=5), failed("b", "", 10)]
    first = first_of(nodes, tmp_path, together=False)
    assert (first["node"], first["class"]) == ("b", "exit_status")


def test_jobs_of_their_own_have_no_echoes(tmp_path):
    nodes = [failed("a", PYTHON_ERROR, 10), failed("b", PYTHON_ERROR, 11)]
    assert first_of(nodes, tmp_path, together=False)["echoes"] == []


def test_a_job_that_hangs_by_itself_waits_for_no_other_node(tmp_path):
    nodes = [Node("a", status="stalled", told={"message": "silent"}), failed("b", "", 10, exit_status=0)]
    assert first_of(nodes, tmp_path, together=False)["origin"] == "node"
    assert first_of(nodes, tmp_path)["origin"] == "unknown"


def test_without_a_failed_node_there_is_no_failure(tmp_path):
    nodes = [Node("a", OUT_OF_MEMORY), stopped("b", GPU_HANG), Node("c", status="running", log=GPU_HANG)]
    assert first_failure([status_of(known_of(node, tmp_path)[0]) for node in nodes]) is None
    assert first_failure([]) is None


def test_the_failure_names_node_rank_class_evidence_and_what_to_do(tmp_path):
    first = first_of([Node("a"), failed("b", lines(range(1, 4)) + OUT_OF_MEMORY, 10)], tmp_path)
    assert first["node_rank"] == 1
    assert first["rank"] == 5
    assert first["exit_code"] == 1
    assert first["message"].startswith("[rank5]: torch.OutOfMemoryError: HIP out of memory.")
    assert first["evidence"][-1] == first["message"]
    assert "iteration        3" in first["evidence"][2]
    assert "Lower the micro batch size" in first["remedy"]


def test_evidence_that_is_long_past_stands_alone(tmp_path):
    log = OUT_OF_MEMORY + "".join(f"teardown {number}\n" for number in range(50))
    first = first_of([failed("a", log, 10)], tmp_path)
    assert first["evidence"] == [first["message"]]


def test_evidence_is_found_in_the_last_lines_whatever_its_blanks(tmp_path):
    first = first_of([failed("a", "before\nKeyError:   'tokens'  HIP error:   unknown error\n", 10)], tmp_path)
    assert first["evidence"] == ["before", "KeyError:   'tokens'  HIP error:   unknown error"]


TIMED_OUT = {"message": "Connection timed out", "problems": [problem("timeout", said="Connection timed out")]}
SILENT = {"message": "its log has not grown for 60 s", "problems": [problem("log_silent", seconds=60.0)]}
# The end of a node, the class of its failure, its case and values, and the evidence.
TEST_ENDS = [
    (Node("a", "x\n", exit_status=3), "exit_status", "", {"exit_status": 3}, ["x"]),
    (Node("a", exit_status=139), "exit_status", "signal", {"exit_status": 139, "signal": "SIGSEGV"}, []),
    (Node("a", exit_status=None), "exit_status", "unknown", {}, []),
    (Node("a", "x\n", exit_status=1, told={"oom_killed": True}), "host_memory", "", {}, ["x"]),
    (Node("a", "x\n", status="killed"), "killed", "", {}, ["x"]),
    (Node("a", "x\n", status="killed", told={"booted": True}), "rebooted", "", {}, ["x"]),
    (Node("a", "x\n", status="killed", told={"full_disk": "/log/a"}), "disk_full", "", {"path": "/log/a"}, ["x"]),
    (
        Node("a", "x\n", status="killed", told={"engine_problem": "docker wait failed: no daemon"}),
        "engine_stopped",
        "",
        {"said": "docker wait failed: no daemon"},
        ["x"],
    ),
    (
        Node("a", "x\n", status="killed", told={"container_removed": True}),
        "container_removed",
        "",
        {},
        ["x"],
    ),
    (
        Node("a", lines((1, 2))),
        "exit_status",
        "short",
        {"exit_status": 0, "last_step": 2, "steps_total": 10},
        lines((1, 2)).splitlines(),
    ),
    (Node("a", status="unreachable", told=TIMED_OUT), "unreachable", "timeout", {"said": "Connection timed out"}, []),
    (
        Node("a", status="unreachable", told={"message": "Connection timed out.\n"}),
        "unreachable",
        "said",
        {"said": "Connection timed out"},
        [],
    ),
    (Node("a", status="unreachable"), "unreachable", "", {}, []),
    (
        Node("a", status="bad_answer", told={"message": "its answer is not a JSON object"}),
        "bad_answer",
        "said",
        {"said": "its answer is not a JSON object"},
        [],
    ),
    (Node("a", status="gone", told={"message": "/r is gone"}), "run_folder_gone", "said", {"said": "/r is gone"}, []),
    (
        Node("a", status="stalled", told={**SILENT, "log_problem": "train.log was moved"}),
        "log_moved",
        "",
        {"said": "train.log was moved"},
        [],
    ),
    (Node("a", status="stalled", told=SILENT), "stalled", "", {"said": SILENT["message"]}, []),
]


@pytest.mark.parametrize(("node", "failure_class", "case", "values", "evidence"), TEST_ENDS)
def test_where_the_log_says_nothing_the_end_of_the_training_is_told(
    node, failure_class, case, values, evidence, tmp_path
):
    first = first_of([node], tmp_path)
    assert (first["class"], first["case"], first["values"]) == (failure_class, case, values)
    assert first["evidence"] == evidence
    assert "line" not in first


def test_nodes_that_refuse_to_start_have_the_codes_of_their_problems(tmp_path):
    problems = [problem("port_taken", port=6000, why="Address already in use")]
    told = {"started_at": None, "unfit": True, "message": in_words(problems), "problems": problems}
    refusing = [Node(name, status="not_started", seconds=None, told=told) for name in ("b", "c")]
    ready = Node("a", status="staged", seconds=None, told={"started_at": None})
    first = first_of([ready, *refusing], tmp_path)
    assert (first["node"], first["class"], first["case"]) == ("b", "not_ready", "port_taken")
    assert first["values"]["problems"] == problems
    assert "6000" in first["remedy"]
    assert [(echo["node"], echo["case"]) for echo in first["echoes"]] == [("c", "port_taken")]


def test_a_node_that_an_earlier_version_noted_has_only_its_message(tmp_path):
    told = {"started_at": None, "unfit": True, "message": "rendezvous port 6000 is not free here"}
    nodes = [
        Node("a", status="staged", seconds=None, told={"started_at": None}),
        Node("b", status="not_started", seconds=None, told=told),
    ]
    first = first_of(nodes, tmp_path)
    assert (first["node"], first["class"], first["case"]) == ("b", "not_ready", "said")
    assert first["values"] == {"said": told["message"]}


def test_of_bare_exit_statuses_0_is_no_failure_where_another_node_has_one_that_is(tmp_path):
    first = first_of(
        [failed("a", "", 10, exit_status=0), failed("b", "", 12, exit_status=3)], tmp_path, unfinished={"a"}
    )
    assert (first["node"], first["exit_code"]) == ("b", 3)


def test_a_training_that_ended_before_its_first_step_with_exit_status_0_is_told_as_such(tmp_path):
    first = first_of([Node("a")], tmp_path, unfinished={"a"})
    assert first["message"] == "The training ended with exit status 0 before the last step."


@pytest.mark.parametrize(
    ("log", "failure_class", "rank"),
    [
        ("13_megatron_primus_child_failed.log", "elastic", 6),
        ("43_fail_amd_gpu_hang_elastic.log", "gpu_hang", None),
        ("49_fail_hip_out_of_memory_mi350.log", "out_of_memory", None),
        ("51_fail_jax_heartbeat_peer_died.log", "peer_died", 3),
    ],
)
def test_whole_logs_of_failed_runs(log, failure_class, rank, log_named, tmp_path):
    text = log_named(log).read_text(encoding="utf-8", errors="replace")
    first = first_of([failed("a", text, 10)], tmp_path)
    assert (first["class"], first["rank"]) == (failure_class, rank)


def kernel_says(line: bytes = b"", booted: bool = False, **counters: int) -> dict:
    grown = {f"mlx5_0/1 {name}": growth for name, growth in counters.items()}
    return {"machine_changes": {"kernel_failures": find_failures(Piece(line)), "counters": grown, "booted": booted}}


def test_what_the_kernel_logged_of_a_node_that_failed_is_its_cause(tmp_path):
    nodes = [Node("a", "x\n", exit_status=1, told=kernel_says(b"HW Exception by GPU node-1\n")), failed("b", "x\n", 1)]
    first = first_of(nodes, tmp_path)
    assert (first["node"], first["class"]) == ("a", "gpu_hang")


def test_what_the_kernel_logged_of_a_node_that_ended_well_is_no_failure(tmp_path):
    done = Node("a", lines((1, 10)), told=kernel_says(b"HW Exception by GPU node-1\n"))
    assert first_failure([status_of(known_of(done, tmp_path, 0)[0])]) is None


LINK_DOWN = "b: mlx5_0/1 link_downed grew by 2 during the run"


@pytest.mark.parametrize(
    ("log", "changes", "first_node", "evidence"),
    [
        (NCCL_ERROR, kernel_says(link_downed=2, symbol_error=9), "b", [LINK_DOWN]),
        (NCCL_ERROR, kernel_says(symbol_error=9), "a", []),
        (NCCL_ERROR, kernel_says(booted=True, link_downed=2), "a", []),
        (OUT_OF_MEMORY, kernel_says(link_downed=2), "a", []),
    ],
    ids=["a link went down", "no link did", "a boot", "a cause of its own"],
)
def test_of_failures_of_the_network_the_node_whose_link_went_down_comes_first(
    log, changes, first_node, evidence, tmp_path
):
    nodes = [failed("a", log, 10), Node("b", NCCL_ERROR, exit_status=1, seconds=20, told=changes)]
    first = first_of(nodes, tmp_path)
    assert first["node"] == first_node
    assert [line for line in first["evidence"] if "grew by" in line] == evidence


def test_a_link_that_went_down_on_a_node_that_was_stopped_is_evidence_of_the_first_failure(tmp_path):
    stopped = [Node(f"gpu{place}", status="stopped", told=kernel_says(carrier_changes=2)) for place in (1, 2)]
    first = first_of([failed("gpu0", NCCL_ERROR, 10), *stopped], tmp_path)
    assert first["evidence"][-1] == "gpu[1-2]: mlx5_0/1 carrier_changes grew by 2 during the run"


def test_of_a_run_that_hung_the_rank_that_holds_the_others_up_comes_first(tmp_path):
    def hung(name: str, rank: int, state: str) -> Node:
        seen = {"rank": rank, "state": state, "waits_in": None, "busy": 1.0, "stack": None}
        message = "no log of the run has grown for 60 s"
        return Node(name, status="stalled", told={"message": message, "ranks_seen": [seen]})

    first = first_of([hung("a", 0, "S"), hung("b", 1, "T"), hung("c", 2, "R")], tmp_path)
    assert (first["node"], first["class"]) == ("b", "stalled")
    assert first["message"] == (
        "The training hung: no log of the run has grown for 60 s. Rank 1 on b holds the others up: it is stopped by a "
        "signal (1 of 3 ranks)."
    )
    assert first["evidence"] == ["rank 1: state T, 100% of a processor, no stack"]


def test_what_neuron_says_in_general_follows_from_what_it_said_before(tmp_path: Path) -> None:
    log = (
        "2026-Nov-03 02:07:08.0123 4711:4790 ERROR  TDRV:dmem_alloc_internal      Failed to alloc DEVICE memory: 1073\n"
        "2026-Nov-03 02:07:08.0124 4711:4790 ERROR  NMGR:dlr_kelf_stage           Failed to load subgraph\n"
    )
    assert first_of([failed("trn00", log, 1.0)], tmp_path)["class"] == "out_of_memory"


@pytest.mark.parametrize("status", ["exited", "stalled"])
def test_steps_of_the_future_on_one_node_are_no_failure_of_another(status, tmp_path):
    ahead = lines((1, 2, 3), 10**6) + lines((10**6,), 10**6)
    honest = lines(range(1, 11)) if status == "exited" else lines(range(1, 8))
    summary = judged([Node("liar", ahead, status=status), Node("honest", honest, status=status)], tmp_path)
    assert summary["verdict"] != "PASS"
    assert (summary["first_failure"] or {}).get("node") != "honest" or status == "stalled"
    assert "holds the others up" not in str(summary["first_failure"])
    assert {"other_workload", "liar"} <= {part for code in codes(summary) for part in code}
    assert not [code for code in codes(summary) if code == ("last_step_missing", "honest") and status == "exited"]
