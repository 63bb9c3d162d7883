# SPDX-License-Identifier: GPL-3.0-or-later
"""The grammar of the training log of NxDT (neuronx-distributed-training).

Its steps come from the progress bar of PyTorch Lightning, which tqdm draws::

    Epoch 0:   3%|▎         | 3/91 [16:05<7:52:06, 321.89s/it, v_num=2, reduced_train_loss=13.40, throughput=0.1]

Bars are divided by carriage returns, or by nothing. Each step has two or more; the last one has its metrics.
"""

from __future__ import annotations

import math
import re
import typing as t
from collections.abc import Iterator

from ..find import Piece, Printed
from ..grammar import FIRST_RANK, Grammar
from ..pattern import later
from ..record import OTHER_FIELDS
from ..rows import FoundStep
from ..text import line_end
from ..world_size import RANKS

_WORD = b"Epoch "
_BAR = later(rb"Epoch (\d+):[ :]*\d+%\|[^|\r\n]*\|[ ]*(\d+)/(\d+) \[")
# How long the epoch has taken so far.
_ELAPSED = later(rb"(?:(\d{1,6}):)?(\d\d):(\d\d)<")
_RATE = later(rb"[^,\]]*, *(\d+(?:\.\d+)?)(s/it|it/s)(?=[,\]])")

# From NeuronX Distributed's parallel_state.py and PyTorch Lightning's distributed.py, by rank 0 only.
WORLD_SIZE = (
    Printed(b"> initializing world size to ", rb"> initializing world size to " + RANKS),
    Printed(
        b"All distributed processes registered. ", rb"All distributed processes registered\. Starting with " + RANKS
    ),
)

_STEP_SECONDS = "step_seconds"
_NUMBER = later(rb"[-+]?(?:(?i:nan|inf(?:inity)?)|\d+\.?\d*(?:[eE][-+]?\d+)?)")
# Any name but those below. Lightning's own "loss" is NaN in good runs.
_NOT_FINITE = later(
    rb"[ ,](?!(?:loss|reduced_train_loss|gradient_norm|lr|throughput|consumed_samples|global_step)=)"
    rb"\w+=[-+]?(?i:nan|inf(?:inity)?)(?=[,\]])"
)
_NORM_OF_NOTHING = later(rb"[ ,]parameter_norm=(?:-|0(?:\.0*)?(?=[,\]]))")
# A number is complete once the text after it is there. tqdm shows three digits of a large one, such as 2.54e+8: too few
# for counting samples.
_FIELDS = {
    metric: later(rb"[ ,]" + name + rb"=([^\]\r\n]{0,99}?)(?=, |\])")
    for name, metric in (
        (b"reduced_train_loss", "loss"),
        (b"gradient_norm", "grad_norm"),
        (b"lr", "learning_rate"),
        (b"throughput", "sequences_per_sec"),
        (b"consumed_samples", "consumed_samples"),
        (b"global_step", "updates"),
        # NeMo's TimingCallback, the last step's; NeMo 1 and 2 print it in place of the mean.
        (b"train_step_timing in s", _STEP_SECONDS),
    )
}


def parse(piece: Piece, memory: dict[str, t.Any]) -> Iterator[FoundStep]:
    """Yield the values of each progress bar but those for step 0, in their order; see ``Grammar``.

    The step comes from the bar, ``3/91``, because ``global_step`` is rounded to three digits. In a later epoch the
    steps of the epochs before it are added. ``steps_total`` is None: the bar's other number is the length of the epoch,
    and a training mostly ends before that, after trainer.max_steps.

    ``step_time_ms`` is the bar's ``s/it`` or ``it/s``: a mean since the start of the epoch, with the digits that the
    bar shows. Bars of NeMo have ``train_step_timing in s`` instead, the time of one step, so such a bar has no
    ``clock`` to compare with. ``sequences_per_sec`` is ``throughput``: sequences/s of the whole job, a mean over the
    last 10 steps.
    ``loss`` is ``reduced_train_loss``; the bar's ``loss``, a mean by Lightning, is not.
    """
    text, find = piece.text, piece.find
    start = find(_WORD, 0)
    while start >= 0:
        progress = _BAR.match(text, start)
        behind = progress.end() if progress else start + len(_WORD)
        following = find(_WORD, behind)
        if progress and int(progress.group(2)):
            end = line_end(text, behind)
            # The numbers of the steps show that a process began before them.
            memory.pop("new_process", None)
            yield _found(progress, text[behind : following if behind <= following < end else end])
        start = following


def _found(progress: re.Match[bytes], body: bytes) -> FoundStep:
    epoch, step, total = map(int, progress.groups())
    metrics = {}
    for metric, pattern in _FIELDS.items():
        texts = {text for text in pattern.findall(body) if not (metric == "consumed_samples" and b"e+" in text)}
        if texts:
            text = texts.pop()
            metrics[metric] = float(text) if not texts and _NUMBER.fullmatch(text) else math.nan
    if _NOT_FINITE.search(body) or _NORM_OF_NOTHING.search(body):
        metrics[OTHER_FIELDS] = math.inf
    elapsed = _ELAPSED.match(body)
    if elapsed and not epoch:
        hours, minutes, seconds = (int(part or 0) for part in elapsed.groups())
        metrics["clock"] = 3600.0 * hours + 60.0 * minutes + seconds
    rate = _RATE.match(body)
    value = float(rate.group(1)) if rate else 0.0
    step_seconds = metrics.pop(_STEP_SECONDS, None)
    if step_seconds is not None and not rate:
        metrics["step_time_ms"] = 1000.0 * step_seconds
        metrics.pop("clock", None)
    if rate and value:
        metrics["step_time_ms"] = 1000.0 * value if rate.group(2) == b"s/it" else 1000.0 / value
    sequences_per_sec = metrics.pop("sequences_per_sec", None)
    for name in ("consumed_samples", "updates"):
        if not math.isfinite(metrics.get(name, 0.0)):
            metrics[name] = math.inf
    return {
        "step": epoch * total + step,
        "steps_total": None,
        "metrics": metrics,
        "sequences_per_sec": sequences_per_sec,
    }


# training.py, by rank 0: the whole configuration in YAML, with each of these keys on a line of its own.
_CONFIGURATION = {
    b"global_batch_size": b"global_batch_size",
    b"micro_batch_size": b"micro_batch_size",
    b"seq_length": b"sequence_length",
    b"encoder_seq_length": b"sequence_length",
    b"num_layers": b"layers",
    b"hidden_size": b"hidden_size",
    b"tensor_model_parallel_size": b"tensor_parallelism",
    b"pipeline_model_parallel_size": b"pipeline_parallelism",
}

GRAMMAR = Grammar(
    parse,
    WORLD_SIZE,
    first_step=1,
    step_line="Epoch 0: …%|…| N/LENGTH [… (a progress bar)",
    printed_by=FIRST_RANK,
    bars=True,
    each_line=("step_time_ms",),
    settings=(
        Printed(b"states from the checkpoint", rb"states from the checkpoint[^\r\n]*step=(?P<resumed>\d+)"),
        *(
            Printed(b" %b: " % key, rb" %b: (?P<%b>\d{1,12})[ \t]*[\r\n]" % (key, setting))
            for key, setting in _CONFIGURATION.items()
        ),
        # From NeuronX Distributed's parallel_state.py, by rank 0.
        Printed(
            b" parallel with size ",
            rb"> initializing (?:tensor model parallel with size (?P<tensor_parallelism>\d{1,7})"
            rb"|pipeline model parallel with size (?P<pipeline_parallelism>\d{1,7})"
            rb"|data parallel with size (?P<data_parallelism>\d{1,7}))(?=\D)",
        ),
        Printed(b"`Trainer.fit` stopped", rb"`Trainer\.fit` stopped: `max_steps=(?P<iterations>\d{1,9})`"),
        # From Lightning's distributed.py, by each rank.
        Printed(b"MEMBER: ", rb"MEMBER: \d{1,7}/(?P<gpus>\d{1,7})(?=\D)"),
    ),
    # The compiler's wrapper, on each node as it trains, NeMo's log there, and each rank as it joins the job.
    alive=(b"NEURON_CC_WRAPPER", b"Compiler status PASS", b"[NeMo ", b"GLOBAL_RANK: "),
    # From Lightning, by each rank as it joins the job: without one of them there is no step.
    met=(b"GLOBAL_RANK: ",),
    # From Lightning, by rank 0.
    over=(b"`Trainer.fit` stopped",),
    starts=(Printed(b"GLOBAL_RANK: ", rb"GLOBAL_RANK: \d{1,7}(?=, MEMBER: )"),),
)
