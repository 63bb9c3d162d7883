# SPDX-License-Identifier: GPL-3.0-or-later
"""Words by which a line sounds like a failure, whatever program prints it, and those that only seem to.

They are held to lines where a log ends. What is added here has to be in no log of a run that ended well.
"""

from __future__ import annotations

import errno
import os
import re
import typing as t

_WHO = rb"(?:rank|node|host|gpu|device|worker|task|process|peer|card|core|port|link|pid|id|replica)"
_MANY = rb"(?:ranks|nodes|workers|hosts|processes|peers)"
_PARTS = rb"(?:gpus|devices|cards|nodes|ranks)"

# What the system calls its errors ("ENOSPC", "No space left on device"), but those that scripts get as they clean up.
_ERRORS = {
    number: name
    for number, name in errno.errorcode.items()
    if name not in ("EEXIST", "ENOTEMPTY", "EISDIR", "ENOTDIR", "EINTR", "EINPROGRESS", "EALREADY", "EISCONN")
}
_ERROR_NAMES = b"|".join(name.encode() for name in _ERRORS.values())
_ERROR_TEXTS = b"|".join(sorted({re.escape(os.strerror(number)).encode() for number in _ERRORS}))

_SERIOUS = (
    rb"error|\[[EF][\d :.]{0,40}[\w./-]{1,99}\.(?:cc|cpp):\d|: [EF] external/|^[EF]\d{4} |fatal|exception|traceback"
    rb"|(?-i:[\s:|\]][EF]\d{4} \d\d:\d\d:\d\d|\[E\]|\bERR\b)|most recent call first|\[(?:crit|critical|alert|emerg"
    rb"|severe)\]|(?-i:\b(?:CRITICAL|CRIT|ALERT|EMERG|SEVERE)\b)|\bproblem detected|\bemergency|\banomal(?:y|ies)\b"
    rb"|(?-i:\b(?:" + _ERROR_NAMES + rb")\b)|\b(?:" + _ERROR_TEXTS + rb")\b|\bvendor err|assert|unexpected"
)
# Among them a shell that says which signal ended a process: "run.sh: line 12:  4242 Alarm clock  python train.py".
_ENDED = (
    rb"\babort|kill|panic|crash|core dumped|segfault|segmentation|\bsig[a-z]{2,6}\d?\b|\bsignal|terminat|\bdied\b"
    rb"|\bdead|zombie|\bhalt|\bwas stopped|\bstopped (?:by|early|manually)|interrupt|premature|\bearly exit"
    rb"|\bexit\w* early|\^C"
    rb"|: line \d{1,7}: {1,4}\d{1,9} [a-z]|^\W*(?:quit|hangup|alarm clock|i/o possible|power failure"
    rb"|(?:profiling|virtual) timer expired|trace/breakpoint trap|stopped(?: \(\w{1,9}\))?)\W*$|\bbus (?:fault|error)"
    rb"|smashing|double free|\bbad_alloc|\boops\b|call trace|\brip: \d|unbound variable|^Stop(?:Async)?Iteration\b"
)
_EXIT_CODES = (
    rb"\bexit ?code ?[:=] ?\d{1,3}:[1-9]|exit(?:ed)?[ _-]?(?:code|status)?[ :=]+\(?-?[1-9]|exit ?code\s*:\s*-?[1-9]"
    rb"|\b(?:rc|ret|errno|returned|return(?:ed)?[ _-]code|(?:exit(?:ing|ed)?|ended)[ _]with(?: code| status)?)"
    rb"[ :=]{1,3}\(?-?[1-9]|\bexited,? status:? [1-9]|\bnon-?zero (?:exit|status|return|code)|\breturn value [1-9]"
    rb"|\bstatus ?[:= ] ?(?!2\d\d\b)[1-9]\d{0,2}\b|srun:"
)
_FAILED = (
    rb"(?:\b|_)fail|unsuccessful|unable|could not|cannot|can't|\bdid(?: not|n't)\b|giving up|\bgave up|\babandoned\b"
    rb"|\bbail\w* out|cancel|\bdenied|\bforbidden\b|refused|invalid|illegal|\bbad\b|\bwrong\b|\bfault\b(?![ -]toler)"
    rb"|\bhttp[ /\d.]{1,9}\b[45]\d\d\b|\bretry(?:ing)? \d"
)
_TIMES = (
    rb"timed[ -]?out|time-?out|time limit|deadline|\btime'?s up\b|\bwall ?-?time (?:is )?(?:reached|over|up)\b"
    rb"|\b(?:reached|hit) (?:its |the )?wall ?-?time|\blease\b.{0,60}\bexpired|\bclock skew"
)
_SILENCE = (
    rb"\bhang|\bhung\b|\bstuck|\bstalled\b|wedged|\bstill waiting|watchdog|heartbeat|not responding|unresponsive"
    rb"|\bno (?:answer|reply|response|heartbeat) |\b(?:silent|idle) (?:for|since)\b|\bbarrier\b.{0,20}\bnot\b"
    rb"|\bwaiting for \S{1,20} (?:rank|node|worker|host|peer)|\b(?:is|are|too|very|running) slow\b"
)
_CONNECTIONS = (
    rb"unhealthy|unavailable|unreachable|disconnect|reset by peer|socket closed|broken pipe|closed by"
    rb"|\bconnection (?:was )?reset|\bno carrier\b|\bflapp|(?:is|are|went|link|node|state|port|trained|goes|going|to) "
    rb"down\b|\b(?:went|gone|goes) offline"
)
_LOST = (
    rb"\blost\b|went away|gone away|\bvanished|\bdisappeared|\bmissing\b|no such|not known\b|\bmembership changed"
    rb"|\b(?:rank|node|worker|host|peer|task|process|gpu|device|replica)s? \S{0,20} (?:(?:is|are|was|were|has|have) "
    rb"(?:gone|lost|absent|away)|left|vanished|disappeared|dropped)\b"
)
_TAKEN_AWAY = (
    rb"preempt|evict|evacuat|maintenance|\bdrain|\bcordon|\bfenc(?:ed|ing)\b|\bpods?\b.{0,99}\bdeleted|systemd-shutdown"
    rb"|\b(?:will|to) be (?:stopped|reclaimed|deleted)\b|\bscal(?:ed|ing) (?:down|in)\b|\breboot|\bshr[au]nk\b"
    rb"|\b(?:exclud|blacklist|blocklist|quarantin|remov)(?:ed|ing) (?:the )?" + _WHO + rb"|\b" + _WHO + rb"\S{0,20} "
    rb"(?:\d{1,7} )?(?:(?:is|was) )?(?:(?:exclud|blacklist|blocklist|quarantin)ed|offline|inactive|not running"
    rb"|removed(?= from|\W*$))\b"
)
_BEGUN_AGAIN = (
    rb"\brestart|requeue(?!=)|respawn|relaunch|resubmit|\brolled ?back|\brolling back to|\breverted"
    rb"|\breverting to (?:\w{1,20} ){0,4}checkpoint|\bdiscard(?:ed|ing) \d|\bskipping checkpoint"
)
_USED_UP = (
    rb"out[ _]of[ _]memory|\boom\b|memory ?pressure|no space|disk full|\b100 ?% full|\bis full\b|quota|not enough"
    rb"|insufficient|exhausted|exceeded|overflow|underflow|reached (?:[\w-]{1,20} ){0,3}(?:minimum|limit)"
    rb"|\bran (?:dry|out)\b|\bleak detected"
)
_FILES = (
    rb"stale file|\bstale nfs|read-only file|\bremount|\bmount point gone|corrupt|\btruncated\b|incomplete"
    rb"|\bpartial (?:read|write|upload)|\bshort (?:read|write)\b|\bchecksum .{0,30}\bdiffer|\bis (?:0|zero) bytes"
    rb"|\bcheckpoint\b.{0,60}(?:\bis empty\b|\bsize[ :=]{1,3}0\b)"
)
_HARDWARE = (
    rb"\bxid\b|\bras\b|\becc\b|uncorrect|fallen off|page fault|machine check|\bmce\b|\bnrt_|\bnerr|overheat|thermal"
    rb"|throttl|\bbit[ -]?flip|\b(?:remap|retirement) pending|\bue\b.{0,40}\b(?:gpu|hbm|dimm)"
    rb"|\b(?:gpu|hbm|dimm)\b.{0,40}\bue\b|(?<!be )\b(?:de|down)graded\b"
    rb"|\b(?:gpu|device|link|port|bus|nic|adapter|hca|node|card)\b.{0,20}\breset"
)
_LOSSES = (
    rb"\bnan\b|(?<![a-z]-)\binf\b|not a number|diverg(?:e|ing)|\bnot converging|\bspiked\b|\bexplo(?:ded|sion)"
    rb"|\bblew up|\bskipped \d"
)
_DIFFERENT = (
    rb"\bmismatch|\binconsisten|\bde-?sync|\bout of sync|\bdisagree|\bnot match\b"
    rb"|\bdiffers? (?:across|between|among|from)\b"
)
_NOT_DONE = (
    rb"\bnot (?:been )?(?:written|saved|finished|complete|reached|ready|received|registered|started|uploaded|mounted"
    rb"|freed|updated|up$)|\bnotready\b"
)
_NOT_BY_ALL = (
    rb"\b(?P<some>\d{1,9})(?: of | out of |/)(?!(?P=some)\b)\d{1,9} " + _MANY + rb"\b"
    rb"|\b(?P<done>\d{1,9}) (?:out )?of (?!(?P=done)\b)\d{1,9} (?:steps|iterations)\b"
    rb"|\b(?:step|iteration) (?P<last>\d{1,9}) (?:out )?of (?!(?P=last)\b)\d{1,9}\b"
    rb"|\b(?:ranks|nodes|workers|hosts|alive|healthy|ready)[:=] ?(?P<alive>\d{1,9})(?: of |/)(?!(?P=alive)\b)\d{1,9}\b"
    rb"|\bonly \d{1,3} (?:gpus|devices|cards)|\b\d{1,3} " + _PARTS + rb" instead of"
    rb"|\bexpected \d{1,7} " + _PARTS + rb", (?:but )?(?:found|got)"
)
# By its clock, its devices and its file systems; then a file whose end was never written, and UTF-16.
_KERNEL = (
    rb"^\s*\[ *\d{1,8}\.\d{6}\] |\b[a-z]\w* [\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.\d: "
    rb"|^(?:XFS|EXT4-fs|BTRFS|LNet|Lustre|nfs|NVRM|EDAC|rcu|watchdog)\b[^:]{0,40}:|\x00{4}|(?:[ -~]\x00){8}"
)
# Texts of patterns: a log that says nothing at its end need not wait for them, and one takes 8 ms to compile.
_ALARM = b"(?i)" + b"|".join(
    (
        *(_SERIOUS, _ENDED, _EXIT_CODES, _FAILED, _TIMES, _SILENCE, _CONNECTIONS, _LOST, _TAKEN_AWAY, _BEGUN_AGAIN),
        *(_USED_UP, _FILES, _HARDWARE, _LOSSES, _DIFFERENT, _NOT_DONE, _NOT_BY_ALL, _KERNEL),
    )
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
# shuts down, warnings of Python and c10d, an image that is pulled first, what a shell shows before it does it, and XLA
# as it starts.
_NOISE = (
    rb"^\+{1,9} (?!exit [1-9])|^srun: (?:jobid|defined options)|Unable to register cu\w{1,9} factory"
    rb"|Could not find TensorRT|Can't reduce memory use below|may be insufficient for PyTorch"
    rb"|(?:^|[ \t])I\d{4} (?:\d\d:){2}\d\d|\bINFO\b|\[DEBUG\]|preemption_notifier\.cc|during program shutdown"
    rb"|: I [\w./-]{1,99}\.(?:cc|cpp):\d{1,5}\]|^\s*(?:Major|Minor) \([^)]{1,40}\) page faults: \d{1,12}\s*$"
    rb"|Volatile Uncorr\. ECC \||Correctable Error +Uncorrectable Error\s*$"
    rb"|\b[Ss]et(?:ting )?locale\b|\bMIOpen\(HIP\): Warning|^Token indices sequence length is longer than"
    rb"|^\s*ECC Errors\s*$|grpc_wait_for_shutdown_with_timeout|NCCL WARN Missing \"|to avoid deadlocks\.\.\.$"
    rb"|^srun: Complete StepId|Not enough SMs to use max_autotune"
    rb"|Failed to process command DEREG_MR |\bERROR {1,4}NRT:nrt_close\b"
    rb"|libibverbs: Warning: couldn't load driver|hostname of the client socket cannot be retrieved"
    rb"|(?:User|Future|Deprecation|Resource|Runtime)Warning: |destroy_process_group\(\) was not called"
    rb"|process group has NOT been destroyed|path_to_cache is None|_patches\.py:|division by zero attempted"
    rb"|This can potentially cause a hang|before all shared CUDA tensors released|ERROR Problem finishing run"
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


class Alarm(t.NamedTuple):
    """What sounds like a failure.

    ``said`` is the line without what says that there was none, ``end`` where in the line the words end.
    """

    said: bytes
    end: int


def alarm_of(line: bytes) -> t.Optional[Alarm]:
    """Return what sounds like a failure in a line, None where nothing does or a training that ends well prints it."""
    said = _NONE.sub(_unless_of_one, line)
    found = re.search(_GRAVE if re.search(_NOISE, said) else _ALARM, said)
    return Alarm(said, found.end() + len(line) - len(said)) if found else None


def _unless_of_one(found: re.Match[bytes]) -> bytes:
    return found.group() if _OF_ONE.search(found.group("of_whom") or b"") else b""
