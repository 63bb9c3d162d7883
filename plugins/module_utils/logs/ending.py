# SPDX-License-Identifier: GPL-3.0-or-later
"""What a log says after its last steps.

A trainer that ends well says little: what it says then, and sounds like a failure, is a short list. Any other line
there that sounds like one is a failure of the class ``unnamed``, whatever program printed it.
"""

from __future__ import annotations

import errno
import os
import re
import typing as t
from itertools import groupby
from operator import itemgetter

from .failures import GONE_AT_EXIT, find_failures
from .find import Piece
from .frameworks.known import grammar_of
from .grammar import Grammar
from .signature import Signature
from .signatures.sentences import sentence_class
from .text import line_end, line_start

# A failure that so many steps follow was survived. One is not enough: ranks print on while another one has failed.
STEPS_TO_SURVIVE = 3
# A failure further in front of the end is not looked for.
_LAST_BYTES = 64 << 20
# Where the last steps are looked for first, in a log and in lines of it: to take all of it apart would take long.
_FIRST_LOOK_BYTES = 64 << 10
_LAST_STEPS_BYTES = 8 << 10


UNNAMED = Signature(
    "unnamed",
    (),
    "Read this line and those around it: what ends well does not print it after its last step.",
)
_UNWRITTEN = Signature(
    "checkpoint",
    (),
    "This checkpoint was begun, and nothing says that it was written: look at its folder, the room and the storage.",
)
_ALONE = Signature(
    "nccl",
    (),
    "This process began to join the others, and nothing says that it did: look for one that it waits for.",
)
_GOING_ON = Signature("unnamed", (), "The log ends while this was going on: look whether it came to its end.")
# Of tqdm: "Validation DataLoader 0:  40%|████      | 2/5 [00:10<00:15,  5.00s/it]".
_PART_OF_BAR = re.compile(rb"(?<!\d)\d{1,2}%\|[^|]{0,999}\| {0,9}[\w.]{1,20}/[\w.]{1,20} \[")
# What NCCL says as a process begins, begins to join a communicator, and has joined it.
_BOOTSTRAPS, _JOINS, _JOINED = b" NCCL INFO Bootstrap", b" - Init START", b" Init COMPLETE"
_ITERATION = re.compile(rb"\biteration +(\d+)")
# What the system calls its errors ("ENOSPC", "No space left on device"), but those that scripts get as they clean up.
_ERRORS = {
    number: name
    for number, name in errno.errorcode.items()
    if name not in ("EEXIST", "ENOTEMPTY", "EISDIR", "ENOTDIR", "EINTR", "EINPROGRESS", "EALREADY", "EISCONN")
}
_ERROR_NAMES = b"|".join(name.encode() for name in _ERRORS.values())
_ERROR_TEXTS = b"|".join(sorted({re.escape(os.strerror(number)).encode() for number in _ERRORS}))
_WHO = rb"(?:rank|node|host|gpu|device|worker|task|process|peer|card|core|port|link|pid|id|replica)"
# Texts of patterns: a log that says nothing at its end need not wait for them, and one takes 8 ms to compile.
_ALARM = (
    rb"(?i)error|\[[EF][\d :.]{0,40}[\w./-]{1,99}\.(?:cc|cpp):\d|: [EF] external/|^[EF]\d{4} "
    rb"|(?-i:[\s:|\]][EF]\d{4} \d\d:\d\d:\d\d|\[E\]|\bERR\b)|most recent call first|\bbad_alloc"
    rb"|\bexit ?code ?[:=] ?\d{1,3}:[1-9]|\bstill waiting"
    rb"|(?:\b|_)fail|fatal|\babort|kill|exception|traceback|panic|crash|core dumped|segfault|segmentation"
    rb"|\bsig[a-z]{2,6}\d?\b|\bsignal|terminat|\bdied\b|\bdead|\bhang|\bhung\b|\bstuck|\blost\b|timed[ -]?out"
    rb"|time-?out|time limit|deadline|watchdog|heartbeat|unhealthy|unavailable|unreachable|disconnect|refused"
    rb"|reset by peer|socket closed"
    rb"|broken pipe|out[ _]of[ _]memory|\boom\b|no space left|stale file|\bxid\b|\bras\b|\becc\b|uncorrect"
    rb"|fallen off|page fault|machine check|\bmce\b|\bnrt_|\bnerr|cancel|preempt|evict|corrupt|invalid|illegal"
    rb"|exit(?:ed)?[ _-]?(?:code|status)?[ :=]+\(?-?[1-9]|exit ?code\s*:\s*-?[1-9]|\bnan\b|(?<![a-z]-)\binf\b|diverge"
    rb"|not responding|unsuccessful|\bdenied|\bbad\b|assert|unable|could not|cannot|can't|no such|srun:"
    rb"|\blease\b.{0,60}\bexpired|\bfenc(?:ed|ing)\b|\bpods?\b.{0,99}\bdeleted"
    rb"|\b(?:rc|ret|errno|returned|return(?:ed)?[ _-]code|(?:exit(?:ing|ed)?|ended)[ _]with(?: code| status)?)"
    rb"[ :=]{1,3}\(?-?[1-9]"
    rb"|\brestart|went away|gone away|giving up|\bgave up|interrupt|premature|unexpected|maintenance"
    rb"|\bdrain"
    rb"|\breboot|\bhalt|not enough|insufficient|exhausted|exceeded|closed by|zombie|\bdid(?: not|n't)\b|incomplete"
    rb"|overheat|thermal|throttl|(?:is|are|went|link|node|state|port|trained|goes|going|to) down\b|\bwas stopped"
    rb"|not a number|disk full|quota"
    rb"|unresponsive|\bmissing\b|unbound variable|not known\b|memory ?pressure"
    rb"|\bskipping checkpoint|read-only file|smashing|double free|wedged|evacuat"
    # who calls a line grave, what errno and strsignal call it, and the kernel's reports
    rb"|\[(?:crit|critical|alert|emerg|severe)\]|(?-i:\b(?:CRITICAL|CRIT|ALERT|EMERG|SEVERE)\b)"
    rb"|(?-i:\b(?:" + _ERROR_NAMES + rb")\b)|\b(?:" + _ERROR_TEXTS + rb")\b"
    rb"|^\W*(?:quit|hangup|alarm clock|i/o possible|power failure|(?:profiling|virtual) timer expired"
    rb"|trace/breakpoint trap|stopped(?: \(\w{1,9}\))?)\W*$|\bbus (?:fault|error)"
    # what got worse, is not as it was written, or was taken back or out of the job
    rb"|(?<!be )\b(?:de|down)graded\b|\btruncated\b|\bpartial (?:read|write|upload)|\bbit[ -]?flip|\bwrong\b|\bdisagree"
    rb"|\bnot match\b|\bchecksum .{0,30}\bdiffer|\bclock skew|\bnot converging|\bspiked\b|\bshr[au]nk\b|\bbail\w* out"
    rb"|\brolled ?back|\brolling back to|\breverted|\breverting to (?:\w{1,20} ){0,4}checkpoint|\bdiscard(?:ed|ing) \d"
    rb"|\b(?:exclud|blacklist|blocklist|quarantin|remov)(?:ed|ing) (?:the )?" + _WHO + rb"|\b" + _WHO + rb"\S{0,20} "
    rb"(?:\d{1,7} )?(?:(?:is|was) )?(?:(?:exclud|blacklist|blocklist|quarantin)ed|offline|inactive|not running"
    rb"|removed(?= from|\W*$))\b"
    rb"|\bno (?:answer|reply|response|heartbeat) |\b(?:silent|idle) (?:for|since)\b|\bbarrier\b.{0,20}\bnot\b"
    rb"|\b(?:remap|retirement) pending|\bleak detected|\bforbidden\b|\bhttp[ /\d.]{1,9}\b[45]\d\d\b"
    rb"|\bconnection (?:was )?reset|systemd-shutdown|\b(?:will|to) be (?:stopped|reclaimed|deleted)\b"
    rb"|\btime'?s up\b|\bwall ?-?time (?:is )?(?:reached|over|up)\b|\b(?:reached|hit) (?:its |the )?wall ?-?time"
    rb"|\bstalled\b|\bstale nfs|\bmount point gone|\bnot (?:mounted|freed|updated|up$)|\bno carrier\b|\babandoned\b"
    rb"|\bstopped manually|\bdiverging|\bexplo(?:ded|sion)|\bblew up|\banomal(?:y|ies)\b"
    rb"|\bproblem detected|\bskipped \d"
    rb"|\bcheckpoint\b.{0,60}\bis empty\b|\bonly \d{1,3} (?:gpus|devices|cards)"
    rb"|\b\d{1,3} (?:gpus|devices|cards|nodes|ranks) instead of"
    rb"|\bexpected \d{1,7} (?:gpus|devices|cards|nodes|ranks), (?:but )?(?:found|got)|\breturn value [1-9]"
    rb"|\boops\b|call trace|\brip: \d|\bremount|\bue\b.{0,40}\b(?:gpu|hbm|dimm)|\b(?:gpu|hbm|dimm)\b.{0,40}\bue\b"
    # what was not done, or was not done by all
    rb"|\bnot (?:been )?(?:written|saved|finished|complete|reached|ready|received|registered|started|uploaded)"
    rb"|\bnotready\b|\bvendor err|\b(\d{1,9})(?: of | out of |/)(?!\1\b)\d{1,9} "
    rb"(?:ranks|nodes|workers|hosts|processes|peers)\b"
    rb"|\b(\d{1,9}) (?:out )?of (?!\2\b)\d{1,9} (?:steps|iterations)\b"
    rb"|\b(?:step|iteration) (\d{1,9}) (?:out )?of (?!\3\b)\d{1,9}\b"
    rb"|\b(?:ranks|nodes|workers|hosts|alive|healthy|ready)[:=] ?(\d{1,9})(?: of |/)(?!\4\b)\d{1,9}\b"
    rb"|\bwaiting for \S{1,20} (?:rank|node|worker|host|peer)|requeue(?!=)|respawn|relaunch|resubmit"
    rb"|\bstopped (?:by|early)|overflow|underflow|reached (?:[\w-]{1,20} ){0,3}(?:minimum|limit)|\bran (?:dry|out)\b"
    rb"|\b100 ?% full|\bis full\b|no space|\bflapp|\bshort (?:read|write)\b"
    # a shell that says which signal ended a process: "run.sh: line 12:  4242 Alarm clock  python train.py"
    rb"|: line \d{1,7}: {1,4}\d{1,9} [a-z]"
    rb"|\b(?:gpu|device|link|port|bus|nic|adapter|hca|node|card)\b.{0,20}\breset|\bexited,? status:? [1-9]"
    rb"|\bis (?:0|zero) bytes|\bnon-?zero (?:exit|status|return|code)|\bstatus ?[:=] ?(?!2\d\d\b)[1-9]\d{0,2}\b"
    # who is not there any more, or not as the others are
    rb"|\bvanished|\bdisappeared|\bemergency|\bmismatch|\binconsisten|\bde-?sync|\bout of sync"
    rb"|\bdiffers? (?:across|between|among|from)\b|\bfault\b(?![ -]toler)"
    rb"|\b(?:rank|node|worker|host|peer|task|process|gpu|device|replica)s? \S{0,20} (?:(?:is|are|was|were|has|have) "
    rb"(?:gone|lost|absent|away)|left|vanished|disappeared|dropped)\b|\b(?:went|gone|goes) offline|\bcordon"
    rb"|\bscal(?:ed|ing) (?:down|in)\b|\bmembership changed|\bearly exit|\bexit\w* early|\^C|^Stop(?:Async)?Iteration\b"
    # what only a kernel prints, by its clock, its devices and file systems; a file whose end was never written; UTF-16
    rb"|^\s*\[ *\d{1,8}\.\d{6}\] |\b[a-z]\w* [\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.\d: "
    rb"|^(?:XFS|EXT4-fs|BTRFS|LNet|Lustre|nfs|NVRM|EDAC|rcu|watchdog)\b[^:]{0,40}:|\x00{4}|(?:[ -~]\x00){8}"
)
# Lines marked INFO that report a failed node, rank or worker all the same. No training that ends well prints one.
_GRAVE = (
    rb"(?i)\bloss ?[=:] ?(?:nan|inf)\b|worker ?group (?:finished \()?\S{0,20}failed|exit ?code:? [1-9]"
    rb"|\b(?:node|host|rank|worker|task|process|peer)s? ?\S{0,20} (?:has |have |is |are )?"
    rb"(?:failed|died|crashed|dead\b|unreachable|unhealthy)|\bshutdown result: (?!ok\b)"
    rb"|\bwill restart worker|\baborting\b|\blost (?:contact|rank|node|host|worker|peer)|\bnan\b.{0,20}\b(?:loss|grad)"
    rb"|\bcheckpoint\b.{0,40}\b(?:failed|not (?:been )?(?:written|saved|finished))\b"
    # NCCL passes on an error of CUDA, of the system or of a peer; 3 is what its threads see as a process ends
    rb"|\bNCCL INFO \S{1,60}\.(?:cc|cu|h):\d{1,5} -> [126]\b"
)
# What ends well and sounds like a failure: lines that call themselves information, JAX's coordination service as it
# shuts down, warnings of Python and c10d, an image that is pulled first, and the closing lines of launch scripts, which
# print nan on nodes without steps.
_NOISE = (
    rb"(?:^|[ \t])I\d{4} (?:\d\d:){2}\d\d|\bINFO\b|\[DEBUG\]|preemption_notifier\.cc|during program shutdown"
    rb"|: I [\w./-]{1,99}\.(?:cc|cpp):\d{1,5}\]|^\s*(?:Major|Minor) \([^)]{1,40}\) page faults: \d{1,12}\s*$"
    rb"|Volatile Uncorr\. ECC \||Correctable Error +Uncorrectable Error\s*$"
    rb"|\b[Ss]et(?:ting )?locale\b|\bMIOpen\(HIP\): Warning|^Token indices sequence length is longer than"
    rb"|^\s*ECC Errors\s*$|grpc_wait_for_shutdown_with_timeout|NCCL WARN Missing \"|to avoid deadlocks\.\.\.$"
    rb"|^srun: Complete StepId|Not enough SMs to use max_autotune"
    rb"|Failed to process command DEREG_MR |\bERROR {1,4}NRT:nrt_close\b"
    rb"|libibverbs: Warning: couldn't load driver|hostname of the client socket cannot be retrieved"
    rb"|(?:User|Future|Deprecation|Resource|Runtime)Warning: |destroy_process_group\(\) was not called"
    rb"|process group has NOT been destroyed|path_to_cache is None|_patches\.py:"
    rb"|^(?:throughput per GPU|elapsed time per iteration|tokens/GPU/s|mem usages): |division by zero attempted"
    rb"|\(errno: 97 - Address family|Unable to find image '[^']{1,300}' locally$|System restart required"
)
# That there was none of it, which is left out of a line; but not what failed on rank 0.
_NONE = re.compile(
    (
        rb"(?i)(?:(?:^|[,;(|]|\bwith)\s*0|\bno|\bwithout(?: any)?) (?:\w{1,20} )?(?:errors?|failures?|failed|faults?)\b"
        # "12 done, 0 retries exhausted", "killed 0 stale processes"
        rb"|(?:^|[,;(|]|\bwith|\b[a-z]{2,20}ed)\s*\b0(?: (?!%(who)b\b)[a-z-]{1,20}){1,4}%(end)b"
        rb"|\bno nans?\b|\bskipped 0\b"
        # "Thermal Slowdown   : Not Active", "Restart Count: 0", "Reboot=0", "rx_timeout: 0"; not "failed_rank=0"
        rb"|^\s*(?![^:\n]{0,80}%(who)b *:)\w[^:\n]{0,80}(?: {2,}: |\bcount: {1,9})(?:0|no|none|n/a|not active)\s*$"
        rb"|(?<![\w.-])(?!%(one)b_|\w{0,60}%(who)b[:=])"
        rb"(?:[a-z]\w{1,60}=(?:0|no|none|\(null\))|(?=[a-z]{1,30}_)\w{1,60}: ?0)%(end)b"
        # "lost samples: 0", "XID errors 0", "unreachable hosts: none", "failed=0 unreachable=0"
        rb"|(?:\b[\w-]{1,20} ){0,3}\b(?:(?!status\b|%(who)b(?:s|es)\b)[\w-]{3,20}s(?:[:=]|: )"
        rb"|(?:error|failure|fault)s |signals delivered: )0(?: [a-z]{1,20})?%(end)b"
        rb"|(?:\b[a-z-]{1,20} ){0,3}\b[\w-]{1,20}s: none%(end)b"
        rb"|(?P<of_whom>(?:(?<![=\w-])[\w-]{1,20} ){0,3})\b(?!%(one)b_)(?:[\w-]{1,20}(?:ed|able)|nan|lost|error"
        rb"|failure)(?:[:=]|: )0(?: [a-z]{1,20})?%(end)b"
    )
    % {b"who": _WHO, b"one": rb"(?:rank|node|host|worker|task)", b"end": rb"(?=\s*(?:[,;.)|]|$)|\s+\w{1,20}=)"}
)
_OF_ONE = re.compile(rb"(?i)\d|\b" + _WHO + rb"\b")
# Rank 0 holds c10d's store and may end first in good runs, too: whether it came to its end, its own log says.
STORE_CLOSED = re.compile(
    rb"\[W\S{0,40} [\d:.]{1,20} (?:TCPStore|ProcessGroupNCCL)\.cpp:\d{1,5}\] "
    rb"(?:\[c10d\] (?:sendBytes|recvValue) failed |.{0,99} Failed to check the \"should dump\" flag on TCPStore)"
)
_WARNED_AT = re.compile(rb"(\.py:\d{1,6}: \w{1,40}Warning: [^\n]*\n)[ \t]+\S[^\n]*")
_OF_STORE = re.compile(
    STORE_CLOSED.pattern
    + rb"[^\n]*(?:\nException raised from \w{1,40} at [^\n]*(?:\n(?:\[rank\d{1,7}\]:)?frame #[^\n]*){1,99})?"
)
_HELPER_TRACEBACK = re.compile(rb"Traceback \(most recent call last\):\r?\n(?:[ \t][^\n]*\n)+[^\n]*")
_FILE = re.compile(rb'\n[ \t]+File "([^"\r\n]*)"')
# So much of what follows the last step is looked at, at its begin and at its end.
_ALARM_BYTES = 64 << 10
_ALARM_LINES = 3
_ALARM_LINE_CHARACTERS = 400
# So much of a log is looked at for lines that sound like a failure where nothing says when its rank began to train.
_CLOSING_BYTES = 4 << 10


def failures_at_end(path: str, framework: str) -> list[dict[str, t.Any]]:
    """Return the failures that too few steps follow in a log, as from ``find_failures``, to know them survived.

    Where there are none, those after the last step that have no other class than ``unnamed``.

    Of a rank that prints no steps, those after the last text that shows it to train; where there is none either, only
    lines that sound like a failure at its very end, and after it last met the other ranks. A log that does not exist
    has none; raises OSError for one that cannot be read.
    """
    grammar = grammar_of(framework)
    size, text = _FIRST_LOOK_BYTES, end_of(path, _FIRST_LOOK_BYTES)
    while size < _LAST_BYTES and len(text) == size and _few_behind(text, 0, grammar, 1):
        size *= 4
        text = end_of(path, size)
    begin = begin_of_few(text, grammar, 1)
    glued = _behind_fields(text[line_start(text, begin - 1) : begin]) if begin else b""
    if begin == 0:
        begin = last_sign(grammar.under_way, Piece(text))
    if begin == 0 and _few_behind(text, 0, grammar, 1):
        closing = text[-_CLOSING_BYTES:]
        return _alarms(Piece(closing[last_sign(grammar.met, Piece(closing)) :]), grammar) or _unjoined(text, 0)
    few = begin_of_few(text, grammar, STEPS_TO_SURVIVE)
    failures = find_failures(Piece(text[few or begin :]))
    return (
        [failure for failure in failures if not STORE_CLOSED.search(failure["line"].encode())]
        or _alarms(Piece(glued + text[begin:]), grammar)
        or _unwritten(Piece(text), grammar)
        or _unjoined(text, begin)
        or _within_bar(text[begin:])
    )


def _behind_fields(line: bytes) -> bytes:
    """Return what stands after the fields of a step in its line: only what is printed next ends a progress bar."""
    rest = line[line.rfind(b"|") + 1 :]
    _before, opened, fields = rest.rpartition(b"[")
    return fields.partition(b"]")[2] if opened else rest


def last_sign(signs: t.Iterable[bytes], piece: Piece) -> int:
    """Return where the line ends that has the last of the texts in a piece, or 0 where none is there."""
    last = max((piece.text.rfind(sign) for sign in signs if piece.find(sign, 0) >= 0), default=-1)
    return last + 1 if last < 0 else (piece.text.find(b"\n", last) + 1 or len(piece.text))


def _alarms(piece: Piece, grammar: Grammar) -> list[dict[str, t.Any]]:
    """Return the first lines that sound like a failure, but for shutdown noise."""
    text = piece.text
    if not text or text.isspace():
        return []
    if len(text) > 2 * _ALARM_BYTES:
        text = text[:_ALARM_BYTES] + b"\n" + text[-_ALARM_BYTES:]
    text = _HELPER_TRACEBACK.sub(lambda found: b"" if _is_of_helpers(found.group(), grammar) else found.group(), text)
    text = GONE_AT_EXIT.sub(b"", _WARNED_AT.sub(rb"\1", text))
    text = _OF_STORE.sub(b"", text)
    found: list[dict[str, t.Any]] = []
    for whole in re.split(rb"[\r\n]+", text):
        if len(found) == _ALARM_LINES:
            break
        line = _NONE.sub(_unless_of_one, whole)
        alarm = re.search(_GRAVE if re.search(_NOISE, line) else _ALARM, line)
        if alarm:
            begin = max(0, alarm.end() + len(whole) - len(line) - _ALARM_LINE_CHARACTERS)
            alarm_text = " ".join(whole[begin : begin + _ALARM_LINE_CHARACTERS].decode("utf-8", "replace").split())
            found.append(_failure(sentence_class(line) or UNNAMED, alarm_text))
    return found


def _failure(signature: Signature, line: str) -> dict[str, t.Any]:
    return {
        "class": signature.failure,
        "blame": signature.blame,
        "echo": signature.echo,
        "remedy": signature.remedy,
        "line": line,
        "rank": None,
        "exit_code": None,
    }


def _unwritten(piece: Piece, grammar: Grammar) -> list[dict[str, t.Any]]:
    """Return the last checkpoint that the process began to write, where nothing says that it was written."""
    if grammar.saves is None:
        return []
    begin, end = grammar.saves
    begun = last_sign((begin,), piece)
    if begun <= last_sign(grammar.world_size.needles, piece):
        return []
    line = piece.text[line_start(piece.text, begun - 1) : begun]
    if _is_written(line, piece.text[begun:], end):
        return []
    return [_failure(_UNWRITTEN, " ".join(line.decode("utf-8", "replace").split())[:_ALARM_LINE_CHARACTERS])]


def _is_written(begun: bytes, behind: bytes, end: bytes) -> bool:
    """Tell whether what follows says that it was written: of its own iteration, where both say theirs."""
    of_which = _ITERATION.search(begun)
    written = re.findall(re.escape(end) + rb"[^\r\n]*", behind)
    said = [found.group(1) for found in map(_ITERATION.search, written) if found]
    return bool(written) and (not of_which or len(said) < len(written) or of_which.group(1) in said)


def _unjoined(text: bytes, begin: int) -> list[dict[str, t.Any]]:
    """Return where NCCL begins last, behind the place, if it joins no communicator after that."""
    joined = max(text.rfind(_JOINED), begin - 1)
    begun = max(text.rfind(_JOINS), text.rfind(_BOOTSTRAPS) if joined >= 0 else -1)
    if begun <= joined:
        return []
    line = text[line_start(text, begun) : line_end(text, begun)]
    return [_failure(_ALONE, " ".join(line.decode("utf-8", "replace").split())[:_ALARM_LINE_CHARACTERS])]


def _within_bar(text: bytes) -> list[dict[str, t.Any]]:
    """Return a progress bar with which some lines end before it is full."""
    text = text.rstrip()
    last = text[line_start(text, len(text)) :]
    if not _PART_OF_BAR.search(last):
        return []
    return [_failure(_GOING_ON, " ".join(last.decode("utf-8", "replace").split())[:_ALARM_LINE_CHARACTERS])]


def _unless_of_one(found: re.Match[bytes]) -> bytes:
    return found.group() if _OF_ONE.search(found.group("of_whom") or b"") else b""


def _is_of_helpers(traceback: bytes, grammar: Grammar) -> bool:
    files = _FILE.findall(traceback)
    helper = re.compile(rb"<string>$" + (b"|" + grammar.helper_files if grammar.helper_files else b""))
    return bool(files) and all(helper.search(file) for file in files)


def end_of(path: str, size: int = _LAST_BYTES) -> bytes:
    """Return the last bytes of a log, none where it does not exist; raises OSError for one that cannot be read."""
    try:
        with open(path, "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - size))
            return log.read()
    except FileNotFoundError:
        return b""


def begin_of_few(text: bytes, grammar: Grammar, steps: int) -> int:
    """Return the place in some lines of a log from which on there are fewer than ``steps`` steps."""
    size = _LAST_STEPS_BYTES
    while size < len(text) and _few_behind(text, len(text) - size, grammar, steps):
        size *= 4
    many, few = max(0, len(text) - size), len(text)
    if _few_behind(text, many, grammar, steps):
        return many
    # The more lines are left off, the fewer steps follow: so the first line with few after it can be bisected. A list
    # of all lines would take more memory than the text, which may be nothing but line ends.
    while many < few:
        middle = (many + few) // 2
        if _few_behind(text, middle, grammar, steps):
            few = middle
        else:
            many = middle + 1
    return few


def _few_behind(text: bytes, place: int, grammar: Grammar, steps: int) -> bool:
    """Return whether fewer than ``steps`` steps stand in the line of the place and after it."""
    found = grammar.parse(Piece(text[line_start(text, place) :]), {})
    return sum(1 for _step in groupby(found, itemgetter("step"))) < steps
