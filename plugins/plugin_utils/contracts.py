# SPDX-License-Identifier: GPL-3.0-or-later
"""What passes between the rooms: plain data that is JSON, with the fields that each room may count on.

Times are seconds since the epoch on the controller's clock; units of metrics are in `module_utils.logs.record`.
"""

from __future__ import annotations

import typing as t

from ..module_utils.logs.signature import Failure
from ..module_utils.node.contracts import (
    Hardware,
    KeptRuns,
    MachineChanges,
    Node,
    RankSeen,
    Reading,
    Recorded,
    Traffic,
)
from ..module_utils.node.problems import Problem

Verdict = t.Literal["PASS", "FAIL", "ERROR", "INCONCLUSIVE"]


class Call(t.TypedDict):
    """How a user plays our playbooks on these nodes.

    ``playbooks`` is their folder, ``inventory`` is `` -i`` with its value, and ``output_dir`` is
    `` -e training_output_dir=`` with its value. The last two may be empty.
    """

    playbooks: str
    inventory: str
    output_dir: str


class Finding(t.TypedDict):
    """One error in the user's input: its place, the value found there, why it is wrong, and what would be right."""

    key: str
    value: t.Any
    message: str
    remedy: str


class Bound(t.TypedDict):
    """The limit that a metric is compared with; see `plan.job.bounds`."""

    metric: str
    kind: str
    value: float
    statistic: t.NotRequired[str]
    tolerance_pct: t.NotRequired[float]
    reference: t.NotRequired[float | str]
    optional: t.NotRequired[bool]


class OptionalParameters(t.TypedDict, total=False):
    """What only some frameworks, or some jobs, have among their parameters."""

    context_parallelism: int | None
    expert_parallelism: int | None
    fsdp: bool
    recompute: bool
    mock_data: bool
    dataset_type: str
    model_size: str
    model_name: str
    model_source: str
    task: str
    device: str
    lnc: int | None
    compiler_flags: str
    script_generation: str
    tokenizer: str
    nic_type: str | None
    # Every how many steps the trainer prints one.
    steps_per_line: int


class Parameters(OptionalParameters):
    """The sizes of a run as its framework gives them; None is not known."""

    nnodes: int
    gpus_per_node: int
    precision: str
    global_batch_size: float | None
    micro_batch_size: float | None
    sequence_length: int | None
    tensor_parallelism: int | None
    pipeline_parallelism: int | None
    data_parallelism: int | None
    iterations: int | None


class Workload(t.TypedDict):
    """What one job computes; see `plan.job.workload`."""

    precision: str
    global_batch_size: float | None
    micro_batch_size: float | None
    sequence_length: int | None
    tokens_per_step: int | None
    gpus: int
    parameters: int | None
    layers: int | None
    hidden_size: int | None
    feed_forward_size: t.NotRequired[int | None]
    model_flops_per_token: float | None
    model_flops_reason: str | None
    peak_tflops_per_gpu: float | None
    peak_reason: str | None
    formula: str


class NodePlan(Node):
    """The command of one node, and the files staged in its run folder, as text by path."""

    files: dict[str, str]


class GkeLaunch(t.TypedDict):
    """The command that starts a workload on GKE, and the workload's name."""

    workload: str
    argv: list[str]


class FoundFindings(t.TypedDict):
    """The errors found, and sentences about assumptions."""

    faults: list[Finding]
    warnings: list[Finding]
    notes: list[str]


class SlurmJob(t.TypedDict):
    """A job to submit to Slurm: whether its nodes are checked first, and its options by sbatch's names.

    ``allocation``: the machine that runs Ansible runs the script inside the job of this number, or, if empty, inside
    its own SLURM_JOB_ID.
    """

    script: str
    preflight: bool
    sbatch: dict[str, str]
    allocation: t.NotRequired[str]


class Choice(t.TypedDict):
    """The name of the choice, and the reason for it as a sentence."""

    name: str
    why: str


class Chosen(t.TypedDict):
    """The format of a training config, its trainer, and the grammar of its log lines."""

    format: Choice
    trainer: Choice
    log_grammar: Choice


class OptionalPlan(t.TypedDict, total=False):
    """Fields that only some plans have."""

    overrides: dict[str, t.Any]
    gke: GkeLaunch
    slurm: SlurmJob
    on_interrupt: t.Literal["stop"]
    log_grammar: str
    chosen: Chosen
    max_skipped: int
    target_loss: float
    checkpoints: str
    retry: Retry
    abort_on_nan: bool
    keep: KeptRuns
    # False if a node may lack the plan's accelerator.
    require_gpu: bool
    logs: LogsFound
    not_known: list[Lack]


class Plan(FoundFindings, OptionalPlan):
    """The plan of a run; see `plan.plan.make_plan`. One with faults has no nodes."""

    schema_version: int
    framework: str
    mode: str
    model: str
    gpu: str
    run_id: str
    config_file: str
    container_engine: str | None
    rehearsal: bool
    record_only: bool
    parameters: Parameters
    first_step: int
    tokens_per_step_per_gpu: float | None
    tokens_per_sequence_per_gpu: float | None
    workload: Workload | None
    expected: list[Bound]
    nodes: list[NodePlan]


class LogsFound(t.TypedDict):
    """The places of the logs of a run that nobody followed."""

    folder: str


class LeftOut(t.TypedDict):
    """A node that a run failed of, how, and the spare that took its place in the next one; None for none."""

    node: str
    reason: str
    spare: str | None


class Retry(t.TypedDict):
    """Which run a plan tries again and how often that was done; ``checkpoints`` is where it may go on from."""

    attempt: int
    first: str
    before: str
    nodes: int
    nodes_of_first: int
    left_out: list[LeftOut]
    checkpoints: str | None


class Lack(t.TypedDict):
    """A gap in the record of a run that nobody followed, which rules out a PASS; same fields as `Reason`."""

    code: str
    case: t.NotRequired[str]
    values: t.NotRequired[dict[str, t.Any]]
    message: str


class PlannedCell(t.TypedDict):
    """A cell of a sweep with its plan; its values are by the keys of the config that they take the place of."""

    name: str
    values: dict[str, t.Any]
    plan: Plan


class SweepCell(t.TypedDict, total=False):
    """A cell of a sweep and its run, with the result once it is judged.

    ``verdict`` is the run's verdict or NOT RUN; ``reason`` is None for a PASS. ``missed`` lists what kept the run from
    a PASS, in a few words each.
    """

    name: t.Required[str]
    values: t.Required[dict[str, t.Any]]
    run_id: t.Required[str]
    verdict: str
    reason: str | None
    missed: list[str]
    metrics: dict[str, float | None]
    mfu: float | None


class SweepFile(t.TypedDict):
    """The cells of a sweep; once it is judged the best of them, and how many have each verdict.

    The cells are runs or, in a ``rehearsal``, rehearsals.
    """

    sweep_id: str
    config_file: str
    rehearsal: t.NotRequired[bool]
    cells: list[SweepCell]
    best: t.NotRequired[str | None]
    counts: t.NotRequired[dict[str, int]]


class PreflightRow(t.TypedDict):
    """What a check found out about a node; see `preflight.cells`."""

    node: str
    check: str
    status: str
    code: str
    case: str
    values: dict[str, t.Any]
    found: str
    reason: str
    command: str


class Preflight(t.TypedDict):
    """What all checks found out, and values for keys that a config leaves open; see `preflight.checks.preflight`."""

    rows: list[PreflightRow]
    proposals: dict[str, str | int]


class Sample(t.TypedDict):
    """The readings of all accelerators of a node at one time."""

    time: float
    accelerators: list[Reading]


class Outage(t.TypedDict):
    """When a node that came back stopped to answer, and for how many seconds it did not."""

    since: float
    seconds: float


class Process(t.TypedDict):
    """When the training ran on a node, and how it ended; without ``exit_status`` it was killed, or nobody knows.

    ``ran_seconds`` are by the node's monotonic clock, ``clock_seconds`` by its wall clock, which may have been set. The
    node may have ``booted`` meanwhile. ``full_disk`` is a path without room. ``ended_by`` is an end by Slurm.
    """

    started_at: float | None
    ended_at: float | None
    ran_seconds: float | None
    clock_seconds: float | None
    exit_status: int | None
    oom_killed: bool
    booted: bool
    engine_problem: str | None
    container_removed: bool
    full_disk: str | None
    ended_by: EndedBy | None


class Following(t.TypedDict):
    """How the controller followed a node.

    A run is ``interrupted`` if another command stopped it, ``taken_up`` if an earlier one started it, and ``finished``
    once its log is here and nothing is left to ask. It is ``followed`` if a command followed it until it failed, as
    opposed to one that was killed or left it running. ``silent_since`` is when a node was heard last (seconds since the
    epoch) that does not answer now, else None. ``program`` is the SHA-256 of the program that the node keeps.
    """

    interrupted: bool
    taken_up: bool
    finished: bool
    followed: bool
    silent_since: float | None
    outages: list[Outage]
    program: str | None


class Steps(t.TypedDict):
    """The steps in a node's log; ``metrics`` belong to the last one.

    The log announces ``steps_total``, and its lines are ``interval`` steps apart. A process began to train ``starts``
    times, the last one after the last step if it ``began_anew``. ``conflicts`` counts steps that were printed twice
    with different values.
    """

    first_step: int | None
    last_step: int | None
    last_step_at: float | None
    steps_total: int | None
    interval: int | None
    metrics: dict[str, float]
    starts: int
    conflicts: int
    began_anew: bool


class NodeLog(t.TypedDict):
    """A node's log: its file, the run that wrote it, and the failures in it.

    ``unread`` is how many of its ``bytes`` are still to be read, in a run that is followed. ``problem`` says why a part
    is missing. Later steps follow the failures in ``survived``; ``failures_at_end`` and ``unusual_at_end`` come after
    the last step. ``failures_at_end`` is None if nobody looked for them.
    """

    bytes: int
    unread: int
    file: str | None
    run_id: str | None
    problem: str | None
    last_lines: list[str]
    said_end: bool
    failures: list[Failure]
    survived: list[Failure]
    failures_at_end: list[Failure] | None
    unusual_at_end: list[Failure]


class Trainer(t.TypedDict):
    """A trainer's own words in the log: its settings and arguments, ranks, networks, and signs that it trains."""

    settings: dict[str, list[float]]
    arguments: dict[str, list[str]]
    world_size: int | None
    transports: list[str]
    ranks: list[str]
    signs: list[str]


class Machine(t.TypedDict):
    """A node's hardware, the image that it started, the changes on it, and the traffic of its RDMA ports.

    ``traffic_step`` is the last step in its log at the time; None if there was none.
    """

    hardware: Hardware | None
    image_id: str | None
    changes: MachineChanges | None
    traffic: dict[str, Traffic]
    traffic_step: int | None


class Hang(t.TypedDict):
    """The traces of a hang: each rank's state, its dump of the flight recorder, and the report of NCCL's RAS."""

    ranks: list[RankSeen]
    recorded: list[Recorded]
    ras: list[str]


class Status(t.TypedDict):
    """What is known of a node of a run; see `run.status`, which makes it."""

    node: str
    node_rank: int | None
    status: str
    message: str
    problems: list[Problem]
    unfit: bool
    process: Process
    following: Following
    steps: Steps
    log: NodeLog
    trainer: Trainer
    machine: Machine
    hang: Hang


class JudgedBound(Bound, total=False):
    """A bound with the measured value; see `verdict.thresholds.judge_bounds`."""

    least: float | None
    greatest: float | None
    measured: float | None
    node: str | None
    interval: Interval | None
    samples: int
    first_step: int | None
    last_step: int | None
    missing: list[str]
    met: bool | None
    within_noise: bool
    unit: str


class Margin(t.TypedDict):
    """The distance of a value from its threshold, as a ``share`` of the threshold, and whether it is ``met``."""

    share: float
    side: t.Literal["above", "below"]
    met: bool


class Interval(t.TypedDict):
    """The interval of a value with a confidence of 95 %, in its unit."""

    low: float
    high: float


class Statistics(t.TypedDict):
    """Statistics of a metric over counted steps, in its unit; see `verdict.statistics.describe`."""

    value: float
    statistic: str
    median: float
    mean: float
    p05: float
    p95: float
    stdev: float | None
    interval: Interval | None
    mean_interval: Interval | None
    samples: int
    first_step: int
    last_step: int
    value_node: t.NotRequired[str]


class MetricOfRun(t.TypedDict, total=False):
    """The statistics of a metric over all nodes, with its bound; ``value`` is None if nobody measured it.

    See `verdict.thresholds.with_thresholds`.
    """

    unit: str
    value: t.Required[float | None]
    value_node: str
    statistic: str
    median: float
    mean: float
    p05: float
    p95: float
    stdev: float | None
    interval: Interval | None
    mean_interval: Interval | None
    samples: t.Required[int]
    first_step: int
    last_step: int
    threshold: t.Required[float | None]
    direction: t.Required[str | None]
    met: t.Required[bool | None]


class WarmUpSteps(t.TypedDict):
    """The first steps that do not count; see `verdict.warm_up.WarmUp`."""

    steps: int
    reason: str
    detected: bool
    steady: bool
    apart: float


class LeftOutSteps(t.TypedDict):
    """Why steps do not count: how many, on the node with most of them, and on how many nodes."""

    reason: str
    steps: int
    nodes: int


class Straggler(t.TypedDict):
    """A node that is slower than the others, always or now and then; see `verdict.stragglers.stragglers_of`.

    ``value`` is its median step time, ``mean`` and ``p95`` are of the same steps (ms).
    """

    node: str
    value: float
    mean: float
    p95: float
    deviations: float | None
    slower: float
    slow_steps: float
    slower_then: float | None


class Stragglers(t.TypedDict):
    """Which nodes are slower than the others, and the cost of that; see `verdict.stragglers.stragglers_of`."""

    metric: str
    deviations: float
    nodes_compared: int
    median: float | None
    nodes: list[Straggler]
    step_time_cost: float | None
    throughput_cost: float | None
    case: str
    values: dict[str, t.Any]
    message: str


class Pause(t.TypedDict):
    """Seconds between two step lines beyond the time of the steps, and the step of the first line."""

    seconds: float
    after_step: int


class StepLevel(t.TypedDict):
    """About how long (ms) so many of the steps take."""

    step_time_ms: float
    steps: int


class TimeSpent(t.TypedDict):
    """The step times of a node's counted steps, in ms.

    ``median`` and ``mean`` are as the trainer counts them, ``wall_clock`` is the span of the time stamps over the steps
    in it, None without time stamps. ``drift`` is how much slower the last fifth is than those before, as a fraction.
    ``pause`` is the longest one, None without time stamps. ``levels`` are both levels of the step times, if there are
    two; see `verdict.intervals`.
    """

    median: float
    mean: float
    wall_clock: float | None
    drift: float
    pause: Pause | None
    levels: list[StepLevel]


class LossClimb(t.TypedDict):
    """How a loss climbs in its last steps; see `verdict.loss_trend`."""

    losses: int
    end: float
    before: float


class LossTrend(t.TypedDict):
    """How the loss of a node ends; see `verdict.loss_trend`."""

    direction: str
    change: float | None
    interval: Interval | None
    against: str | None
    end: float | None
    lowest: float | None
    samples: int
    first_step: int | None
    last_step: int | None
    first_loss: float | None
    last_loss: float | None
    climb: LossClimb | None


class Utilization(t.TypedDict):
    """How much of the accelerators' peak a run used, or why that is not known; see `verdict.statistics`."""

    mfu: float | None
    mfu_basis: str | None
    mfu_reason: str | None


LedgerRow = t.Literal[
    "exit status",
    "log",
    "sign of life",
    "steps",
    "gaps",
    "last line",
    "failures",
    "numbers",
    "skipped",
    "loss",
    "workload",
    "network",
    "time",
]


class LedgerEntry(t.TypedDict):
    """What is known of one row of a node: the verdict that it argues for, and the evidence in words.

    An entry with a ``code`` is a reason against a pass, see `Reason`. An entry without one proves the row, and its
    ``case`` and ``values`` belong to `text.catalogue.PROOFS`.
    """

    verdict: Verdict
    evidence: str
    code: t.NotRequired[str]
    case: t.NotRequired[str]
    values: t.NotRequired[dict[str, t.Any]]


class LedgerOfNode(t.TypedDict):
    """The ledger of a node: an entry in each row. A PASS takes PASS in each row of each node."""

    node: str
    node_rank: int | None
    rows: dict[LedgerRow, LedgerEntry]


class Quantity(t.TypedDict):
    """A measured value, its unit, and where it is known by how much it may be off (half of its interval).

    ``digits`` is how many significant digits to show of a value without an uncertainty, if more than usual.
    """

    value: float
    unit: str
    uncertainty: t.NotRequired[float]
    digits: t.NotRequired[int]


class Reason(t.TypedDict):
    """What argues for a verdict, or a note that argues for none: then it has no ``verdict``.

    ``case`` selects one of its code's sentences, if there are several, and ``values`` fill the sentence; see
    `text.catalogue`. ``row`` is its row in the ledger, if it has one.
    """

    code: str
    case: t.NotRequired[str]
    values: t.NotRequired[dict[str, t.Any]]
    message: str
    row: t.NotRequired[LedgerRow]
    verdict: t.NotRequired[Verdict]
    node: t.NotRequired[str]
    evidence: t.NotRequired[dict[str, t.Any]]


class EndedBy(Failure, total=False):
    """How a node ended, in the shape of a failure in its log: ``line`` is the sentence of its case and values."""

    case: str
    values: dict[str, t.Any]


# "class" is a keyword of Python.
Echo = t.TypedDict(
    "Echo",
    {
        "node": str,
        "class": str,
        "message": str,
        "line": "t.NotRequired[str]",
        "case": "t.NotRequired[str]",
        "values": "t.NotRequired[dict[str, t.Any]]",
    },
)
Echo.__doc__ = """What a node failed of: the ``line`` of a log that shows it, or a case and values of `text.failures`.

A hang that a watchdog ended has both. ``message`` is the sentence of the case, or else the line. Summaries of earlier
versions have the message alone.
"""


# The cause of a failure: a node, an unknown one in a hang, or the run, if all of its nodes failed alike.
Origin = t.Literal["node", "unknown", "run"]


class FirstFailure(Echo):  # pylint: disable=inherit-non-class
    """Why a run failed, and on which node; see `verdict.first_cause.first_failure`.

    ``named`` is missing in summaries of earlier versions.
    """

    node_rank: int | None
    origin: Origin
    evidence: list[str]
    rank: int | None
    named: dict[str, str]
    remedy: str
    exit_code: int | None
    echoes: list[Echo]


class NodeSummary(Utilization):
    """What a node of a run came to."""

    node: str
    node_rank: int | None
    state: str
    exit_code: int | None
    attempts: int | None
    last_step: int | None
    steps_total: int | None
    samples: int
    world_size: int | None
    transports: list[str]
    time_spent: TimeSpent | None
    loss_trend: LossTrend | None
    metrics: dict[str, Statistics]


class Regression(t.TypedDict):
    """A metric that is proven to be worse than in earlier runs of the same kind.

    ``code`` is "regression", ``case`` how the metric changed, see `text.comparison`. ``value`` and ``before`` are in
    the metric's unit, ``percent`` is the change, ``runs`` how many earlier runs were compared, and ``low`` and ``high``
    are the bounds within which one more run would have been nothing new.
    """

    code: str
    case: str
    metric: str
    value: float
    before: float
    percent: float | None
    runs: int
    low: float
    high: float
    message: str


Why: t.TypeAlias = t.Literal["slow", "slow_node", "hang", "network"]


class Proposal(t.TypedDict):
    """A command that can find a cause the run did not show, and why.

    The run was slow, one of its nodes was slow, the run hung, or its network failed.
    """

    why: Why
    command: str


class Summary(Utilization):
    """What a run came to; docs/summary_fields.md describes each field."""

    schema_version: int
    run_id: str
    framework: str
    mode: str
    model: str
    gpu: str
    rehearsal: bool
    retry: Retry | None
    interrupted: t.NotRequired[bool]
    verdict: Verdict
    reasons: list[Reason]
    notes: list[Reason]
    ledger: list[LedgerOfNode]
    thresholds_judged: bool
    started_at: str | None
    ended_at: str | None
    warmup_steps: int
    warm_up: WarmUpSteps
    left_out: list[LeftOutSteps]
    first_failure: FirstFailure | None
    workload: Workload | None
    thresholds: list[JudgedBound]
    interval_method: str
    stragglers: Stragglers
    regression: Regression | None
    isolate: t.NotRequired[Proposal | None]
    metrics: dict[str, MetricOfRun]
    nodes: list[NodeSummary]
