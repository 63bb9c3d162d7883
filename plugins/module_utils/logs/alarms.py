# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines at the end of a log are worth showing to somebody who asks how a training ended.

They decide nothing. Where a training failed and no signature names the cause, the first of them may.
"""

from __future__ import annotations

from .pattern import later
from .severity import ERROR, INFO, severity_of

_WORDS = later(
    rb"(?i)error|fatal|exception|traceback|assert|abort|killed|panic|crash|core dumped|seg(?:fault|mentation)|smashing"
    rb"|fail|unable|cannot|can't|could not|denied|forbidden|unauthori|refused|invalid|illegal|unbound variable"
    rb"|time[- ]?d?[- ]?out|deadline|\bhang|\bhung\b|\bstuck|stall|watchdog|heartbeat|not respond|unhealthy|unreachable"
    rb"|disconnect|reset by peer|closed by|broken pipe|\blost\b|\bdied\b|\bdead\b|gone away|\bmissing\b|no such"
    rb"|preempt|evict|reclaim|maintenance|\breboot|restart|out of memory|\boom\b|oom-kill|no space|\bis full\b|quota"
    rb"|exceeded|insufficient|exhausted|corrupt|truncated|\bstale\b|read-only file|\bxid\b|\becc\b|uncorrect|page fault"
    rb"|machine check|overheat|thermal|\bnan\b|mismatch|went down|\bis down\b|terminat|interrupt|\bsig[a-z]{3,5}\b"
    rb"|exit(?:ed)?(?: with)?(?: (?:code|status))?[ :=]+-?[1-9]|exit ?code\D{0,3}-?[1-9]|\bsignal \d"
    rb"|\brc=-?[1-9]|not known|unexpected"
)


def sounds_like_a_failure(line: bytes) -> bool:
    """Return whether a line is marked as an error, or has one of the usual words and is not marked as information."""
    severity = severity_of(line)
    return severity == ERROR or (severity != INFO and bool(_WORDS.search(line)))
