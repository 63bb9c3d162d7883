# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of Slurm: srun, slurmstepd, and pyxis and enroot under them; src/slurmd/slurmstepd/req.c, src/srun."""

from __future__ import annotations

from ..failure_classes import BLAME
from ..signature import Signature

_TASK = rb"srun: error: \S{1,300}: tasks? [\d,-]{1,300}: "

SIGNATURES = (
    Signature(
        "host_memory",
        "The job ran out of host memory, or somebody killed it. Request more from Slurm (--mem=0 requests all of the "
        "node's), use fewer data workers, and check the node's kernel log for the OOM killer.",
        rb"Detected \d{1,9} oom[-_]kill event|OOM Killed|cgroup out-of-memory handler|TERM_MEMLIMIT"
        rb"|slurmstepd: error: [^\r\n]{0,200}[Ee]xceeded (?:job |step )?memory limit"
        rb"|" + _TASK + rb"Out Of Memory",
        more_specific_than=("any error of Slurm",),
        sample="srun: error: n3: task 0: Out Of Memory",
    ),
    Signature(
        "killed",
        "Slurm killed a task, or the kernel did because memory ran out. Slurm kills the remaining tasks when another "
        "task fails or the job ends; if neither happened, check the node's kernel log for the OOM killer.",
        _TASK + rb"Killed",
        BLAME["child_failed"] + 1,
        more_specific_than=("any error of Slurm",),
        sample="srun: error: n3: tasks 2-3,7: Killed",
    ),
    Signature(
        "time_limit",
        None,
        rb"DUE TO TIME LIMIT|killed: walltime [^\r\n]{0,60}exceeded|TERM_RUNLIMIT"
        rb"|job killed after reaching LSF run time",
        more_specific_than=("cancelled step",),
        sample=("slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***"),
    ),
    Signature(
        "node_failure",
        "Slurm lost the named node. Check whether it is up (sinfo -R, console, kernel log), drain it, and resume from "
        "a checkpoint on other nodes.",
        rb"DUE TO NODE FAILURE|srun: error: Node failure on |srun: error: [^\r\n]{0,60}[Aa]borting, (?:io error"
        rb"|step missing)|srun: error: (?:Nodes \S{1,300} are still not ready|Something is wrong with the boot)"
        rb"|(?:Cannot communicate with|can not test connection to) node \d|DUE TO JOB NOT ENDING WITH SIGNALS",
        more_specific_than=("any error of Slurm",),
        sample="srun: error: Node failure on n3",
    ),
    Signature(
        "preempted",
        "Slurm preempted the job for another one or requeued it. Resume from a checkpoint, or use a partition or QOS "
        "that is not preempted.",
        rb"DUE TO (?:PREEMPTION|JOB REQUEUE)|this job is preempted",
        more_specific_than=("cancelled step",),
        sample=("slurmstepd: error: *** STEP 7.0 ON n3 CANCELLED AT 2026-01-02T03:04:05 DUE TO PREEMPTION ***"),
    ),
    Signature(
        "image_pull",
        "The job's image could not be fetched. Check its name (a squashfs file's begins with / or ./), the registry "
        "login (enroot's .credentials) and the network, or import it beforehand.",
        rb"pyxis: (?:failed to import docker image|couldn't import )"
        rb"|\[ERROR\] (?:URL https?://\S{1,300} returned error code: |Could not (?:resolve|find) )",
        more_specific_than=(
            "container step of Slurm",
            "any error of Slurm",
        ),
        sample="slurmstepd: error: pyxis: failed to import docker image",
    ),
    Signature(
        "permission_denied",
        "enroot cannot write where it unpacks images. Set ENROOT_RUNTIME_PATH, ENROOT_CACHE_PATH and ENROOT_DATA_PATH "
        "in enroot.conf to folders that the job's user can write.",
        rb"pyxis:\s{1,9}mkdir: cannot create directory",
        nearness=BLAME["image_pull"] - 1,
        more_specific_than=(
            "container step of Slurm",
            "any file permission",
            "any error of Slurm",
        ),
        sample="slurmstepd: error: pyxis:     mkdir: cannot create directory '/run/enroot': Permission denied",
    ),
    Signature(
        "container",
        "pyxis or enroot could not start the container. Check the lines around this one for a missing mount, path, "
        "hook or /bin/bash (then: --no-container-entrypoint), or for lack of space.",
        rb"error: pyxis: (?!child \d|couldn't start container|\s{0,9}(?:\[INFO\]|printing "
        rb"|if the image))(?![^\r\n]{0,300}(?:No space left|nvidia-container-cli: ))"
        rb"|enroot-\w{1,30}: failed to |spank: required plugin \S{0,60}pyxis",
        name="container step of Slurm",
        more_specific_than=("any error of Slurm",),
        sample="slurmstepd: error: pyxis: container start failed with error code: 1",
    ),
    Signature(
        "slurm_start",
        None,
        rb"srun: error: (?:MPI: |Munge |[Cc]ouldn't find the specified plugin|cannot find |slurm_receive_msg"
        rb"|Unable to (?:allocate resources|create (?:job )?step)|Task launch for |Application launch |Only |No "
        rb"|Can(?: ?not|'t) |Access denied|Too few |Hostlist |You asked for |--|Plug-?in |Failed to |srun prolog "
        rb"|Minimum node count|Could not (?:open|get|stat) |Prolog |Slurm job \d{1,12} has expired"
        rb"|Are required nodes|Job/step already completing|task \d{1,9} launch failed: |invalid number of "
        rb"|Unable to open configuration|(?:Line \d{1,9} of c|C)onfiguration file |(?:task-)?(?:pro|epi)log '"
        rb"|cli_filter |Failure in local plugin|Attempt to run a job step|Allocation failure of "
        rb"|CPU binding outside|fwd_tree_thread: can't find address|SLURM_JOB_NUM_NODES environment"
        rb"|srun parameter)|(?:sbatch|salloc): error: |srun: (?:fatal: "
        rb"|error: (?:[Tt]imeout waiting for task launch|Unable to (?:contact|confirm)|Invalid "
        rb"|Job (?!allocation \d{1,12} has been revoked)|Requested |Memory |SLURM_\w{1,40} invalid))"
        rb"|slurmstepd: error: (?:execve\(\): |couldn't chdir to `|Failed to invoke task plugins|task_p_\w{1,30}: "
        rb"|spank: |(?:TaskProlog|--task-prolog) failed|TMPDIR \[|Unable to create TMPDIR"
        rb"|Failed to look up username|_become_user|job_container|\w{0,30}: ?chdir\(|Plugin stack init"
        rb"|[^\r\n]{0,60}Could not open (?:std\w{2,3}|output|error) file|Unable to configure MPI plugin"
        rb"|IO setup failed|CPU binding outside|NUMA node \d{1,9} does not exist|--mem-bind|Unable to attach to "
        rb"| ?mpi/\w{1,20}: |[^\r\n]{0,99}\bmpi/pmix: {1,4}ERROR|task_g_|switch_p_|No executable program"
        rb"|User requested launch of zero|Program for task rank "
        rb"|[^\r\n]{0,40}batch script setup failed(?![^\r\n]{0,200}(?:quota|No space))|[^\r\n]{0,60}(?:Slingshot"
        rb"|CXI) [^\r\n]{0,60}failed|Failed mpi_g_)",
        more_specific_than=("any error of Slurm",),
        sample="srun: error: cannot find odd plugin for mpi/odd",
    ),
    Signature(
        "slurm_start",
        "The cloud has no such machine left, or the account's limit is used up. Wait, request it in another zone, or "
        "reserve it.",
        rb"\bInsufficient\w{0,20}InstanceCapacity\b|\bVcpuLimitExceeded\b|ZONE_RESOURCE_POOL_EXHAUSTED"
        rb"|no more capacity in the zone|quota to satisfy request|\bQUOTA_EXCEEDED\b|\bMaxSpotInstanceCountExceeded\b"
        rb"|does not have enough resources available to fulfill",
        sample="There is no more capacity in the zone odd-7a",
    ),
    Signature(
        "segmentation_fault",
        None,
        _TASK + rb"Segmentation fault",
        more_specific_than=(
            "any SIGSEGV",
            "any error of Slurm",
        ),
        sample="srun: error: x: task 1: Segmentation fault",
    ),
    Signature(
        "bus_error",
        "A process got SIGBUS, usually because shared memory (/dev/shm) is too small or a mapped file was truncated. "
        "Enlarge --shm-size, and check the disk with the data.",
        _TASK + rb"Bus error",
        more_specific_than=(
            "any SIGBUS",
            "any error of Slurm",
        ),
        sample="srun: error: x: task 1: Bus error",
    ),
    Signature(
        "child_failed",
        "A task of the job failed. Look for the cause in its earlier output.",
        _TASK + rb"(?:Exited with exit code (?P<exit_code>\d{1,9})|Aborted|Floating point|Illegal instr)"
        rb"|srun: First task exited \d|FAILED \(non-zero exit code or other failure mode\)",
        more_specific_than=(
            "any error of Slurm",
            "any exit code",
        ),
        sample="srun: First task exited 1",
    ),
    Signature(
        "scheduler",
        "The training did not fail: the job was cancelled by a person (scancel; sacct -j JOB --format=State says who) "
        "or because of a job that it depends on.",
        rb"\*\*\* JOB \d{1,12} ON \S{1,200} CANCELLED AT \S{1,40} (?:\*\*\*|DUE to SIGNAL Terminated)",
        more_specific_than=("cancelled step",),
        sample="slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-01-02T03:04:05 ***",
    ),
    Signature(
        "sigterm",
        "The job was told to stop by Slurm (because a task failed), by a person (scancel) or by a limit.",
        rb"\*\*\* (?:JOB|STEP) [^\r\n]{1,200} CANCELLED AT |srun: Force Terminated "
        rb"|srun: Job step aborted: Waiting |srun: error: Timed out waiting for job step|" + _TASK + rb"Terminated",
        name="cancelled step",
        more_specific_than=("any error of Slurm",),
        sample="slurmstepd: error: *** STEP 4242.0 ON gpu07 CANCELLED AT 2026-01-02T03:04:05 ***",
    ),
)
