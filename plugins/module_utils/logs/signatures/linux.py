# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of the Linux kernel, the shells and the C library."""

from __future__ import annotations

from ..failure_classes import BLAME
from ..signature import Signature

# How launchers print the exit code of a process: torchrun, DeepSpeed, subprocess, docker, Kubernetes.
ENDED = (
    rb"(?:failed \(exitcode: |\bexits with return code = |\bexit(?:ed)? with (?:exit )?(?:code|status):? "
    rb"|\b(?:[Ee]xit|[Rr]eturn) (?:code|status)(?::| =)? |\bExit Code: {4})"
)
SIGNATURES = (
    Signature(
        "host_memory",
        "The kernel killed a process because host memory ran out. Give the container, or the Slurm job (--mem), more "
        "memory, or use fewer data workers or a smaller cache.",
        rb"[Oo]ut of memory: [Kk]ill(?:ed)? (?:process|\d)|Sending SIGKILL to cgroup"
        rb"|Killed [^\r\n]{0,200}due to memory pressure|[Kk]illed [^\r\n]{0,99}exceed[^\r\n]{0,40} memory"
        rb"|earlyoom: [^\r\n]{0,60}sending SIG|invoked oom-killer|oom-kill:constraint|oom_reaper: reaped process",
        sample="[ 12.1] Out of memory: Killed process 77 (python3) total-vm:7kB, anon-rss:7kB",
    ),
    Signature(
        "killed",
        "A process was killed with SIGKILL, usually by the kernel because host memory ran out. Read the kernel log.",
        rb": line \d{1,9}: {1,20}\d{1,9} Killed {1,60}|(?m:^\S{0,200}\.sh: [^\r\n]{0,200}: Killed$)|(?m:^Killed\r?$)",
        sample="train.sh: line 7:   77 Killed                  python3 x.py",
    ),
    Signature(
        "killed",
        "The compiler was killed, usually because host memory ran out. Run fewer compile jobs in parallel (MAX_JOBS), "
        "or request more memory.",
        rb"\bunable to execute command: Killed|: fatal error: Killed signal terminated program",
        more_specific_than=("any kernel compilation",),
        sample="clang++: error: unable to execute command: Killed",
    ),
    Signature(
        "node_failure",
        None,
        rb"Machine Check Exception|\[Hardware Error\]: [^\r\n]{0,200}(?:[Uu]ncorrected|Machine Check|fatal)"
        rb"|Kernel panic - not syncing|BUG: soft lockup|AER: (?:Multiple )?Uncorrect\w{1,9} \((?:Non-)?Fatal\)"
        rb"|detected stall on CPU|detected hard LOCKUP on cpu|DPC: containment event"
        rb"|PCIe Bus Error: severity=Uncorrected|\bEDAC [^\r\n]{0,60} UE |BUG: unable to handle |kernel BUG at "
        rb"|Memory failure: 0x|\] general protection fault(?:, probably for [^\r\n]{1,60})?: [\da-f]{4} \[#"
        rb"|AER: (?:can't recover|device recovery failed)",
        more_specific_than=("any SIGSEGV",),
        sample="[ 12.1] Kernel panic - not syncing: Fatal exception",
    ),
    Signature(
        "io_error",
        "A disk or file system of this node failed. Read the kernel log; check the disk (smartctl, nvme smart-log), "
        "or the file server and the network to it.",
        rb"(?:I/O|critical \w{1,12}) error, dev |I/O Error \(sct |EXT4-fs error"
        rb"|nfs: server \S{1,200} (?:not responding|timed out)|LustreError: |Buffer I/O error on dev"
        rb"|nvme\d{1,4}: Device not ready|[Rr]emounting filesystem read-only|\bFilesystemIsReadOnly"
        rb"|nvme\d{1,4}: I/O [^\r\n]{0,99}QID \d{1,6} timeout|nvme\d{1,4}: controller is down"
        rb"|XFS \([^)\r\n]{1,60}\): [^\r\n]{0,99}(?:I/O [Ee]rror|[Cc]orruption)|NFS: server \S{1,200} error: "
        rb"|Lustre: [^\r\n]{1,200} was lost; in progress operations",
        sample="[ 12.1] nfs: server nas7 not responding, timed out",
    ),
    Signature(
        "io_error",
        "A process of this node hung in the kernel. The stack below this line shows where; usually a file server, a "
        "disk or a driver does not answer.",
        rb"INFO: task \S{1,60} blocked for more than",
        sample="INFO: task x blocked for more than",
    ),
    Signature(
        "segmentation_fault",
        "A process crashed in native code, usually because libraries in the image do not match each other or the "
        "driver. The frames around this line show the library.",
        rb"Segmentation fault|\bSIGSEGV\b|\]: segfault at |\] general protection fault"
        rb"|" + ENDED + rb"(?P<exit_code>-11|139|-8)\b|\b(?:free|malloc|munmap_chunk|realloc)\(\): [a-z]"
        rb"|double free or corruption|corrupted double-linked list|stack smashing detected"
        rb"|Floating point exception|\bSIGFPE\b",
        name="any SIGSEGV",
        more_specific_than=(
            "crash of Python",
            "any exit code",
        ),
        sample="Fatal Python error: Segmentation fault",
    ),
    Signature(
        "disk_full",
        "A data worker got SIGBUS because the container's shared memory (/dev/shm) is full or too small. Enlarge it "
        "(--shm-size, or ipc=host).",
        rb"insufficient shared memory \(shm\)|workers are out of shared memory",
        nearness=BLAME["bus_error"],
        more_specific_than=("any SIGBUS",),
        sample=(
            "ERROR: Unexpected bus error encountered in worker. This might be caused by "
            "insufficient shared memory (shm)."
        ),
    ),
    Signature(
        "bus_error",
        None,
        rb"\bBus error\b(?! \()|Unexpected bus error encountered|Bus error {1,60}\((?:core|\d)|\bSIGBUS\b|"
        + ENDED
        + rb"(?P<exit_code>-7|135)\b",
        name="any SIGBUS",
        more_specific_than=("any exit code",),
        sample="  traceback : Signal 7 (SIGBUS) received by PID 77",
    ),
    Signature(
        "killed",
        "A process was killed with SIGKILL, usually by the kernel because host memory ran out. Read the kernel log of "
        "this node, and use fewer data workers or a smaller cache.",
        ENDED + rb"(?P<exit_code>-9|137)\b|Signal 9 \(SIGKILL\) received|died with <Signals\.SIGKILL"
        rb"|terminated by signal (?:9|KILL)\b|terminated with signal SIGKILL|signal: killed\b"
        rb"|\*\*\* \[[^\r\n]{1,200}\] Error 137\b",
        name="any SIGKILL",
        more_specific_than=(
            "any failed child",
            "any exit code",
        ),
        sample="ProcessExitedException: process 7 terminated with signal SIGKILL",
    ),
    Signature(
        "illegal_instruction",
        None,
        rb"\bIllegal instruction\b(?! \()|Illegal instruction {1,60}\(core|\bSIGILL\b|\] trap invalid opcode"
        rb"|" + ENDED + rb"(?P<exit_code>-4|132)\b",
        more_specific_than=("any exit code",),
        sample="train.sh: line 7:   77 Illegal instruction     (core dumped) python3 x.py",
    ),
    Signature(
        "import_error",
        "A library is missing or older than the program needs. Use the image that the program was built for.",
        rb"version `[A-Z][\w.]{1,40}' not found|error while loading shared libraries: |: (?:symbol lookup"
        rb"|relocation) error: |\.so[.\d]{0,12}: (?:file too short|invalid ELF header|failed to map segment"
        rb"|wrong ELF class|cannot allocate memory in)|Could not load library lib|Cannot load symbol cu"
        rb"|Unable to load any of \{lib",
        more_specific_than=("any import",),
        sample="python3: symbol lookup error: /x.so: undefined symbol: ncclCommSplit",
    ),
    Signature(
        "permission_denied",
        "Access to a program, script or folder of the launch is denied. Check its owner and mode (chmod +x for a "
        "script), and that its file system is not mounted noexec.",
        rb"sh: (?:line \d{1,9}: )?cd: [^\r\n]{0,300}: Permission denied"
        rb"|: line \d{1,9}: [^:\r\n]{1,300}: Permission denied(?=\r?(?m:$))"
        rb"|(?:^|(?<=[\s/-]))(?:ba|da|z)?sh: (?:line \d{1,9}: )?[^:\r\n]{1,300}: Permission denied",
        name="denied program of the launch",
        sample="bash: ./train.sh: Permission denied",
    ),
    Signature(
        "not_found",
        "A program, script or folder of the launch is missing. Compare the image and the paths with the plan.",
        rb"sh: (?:line \d{1,9}: )?cd: [^\r\n]{0,300}: No such file or directory"
        rb"|\blaunch\.sh: line \d{1,9}: [^\r\n]{0,300}: command not found"
        rb"|: line \d{1,9}: [^:\r\n]{1,300}: No such file or directory(?=\r?(?m:$))|(?:^|(?<=[\s/-]))(?:ba|da"
        rb"|z)?sh: (?:line \d{1,9}: )?[^:\r\n]{1,300}: (?:No such file or directory|command not found)"
        rb"|\b(?:torchrun|python3?|bash|docker|podman|enroot|nvidia-smi|rocm-smi|srun|numactl|ninja|make"
        rb"|g\+\+): (?:command )?not found|\bsh: \d{1,9}: cannot open [^\r\n]{0,300}: No such file"
        rb"|: exec: [^\r\n]{1,200}: (?:not found|cannot execute)|can't open file '[^'\r\n]{0,300}': \[Errno 2\]"
        rb"|/env: [^\r\n]{0,300}: No such file or directory",
        name="missing program of the launch",
        sample="train_llama3.sh: line 212: torchrun: command not found",
    ),
    Signature(
        "child_failed",
        "A training process aborted. Look for the cause in its earlier output.",
        rb"\bAborted {1,60}\(core dumped\)|Signal: Aborted|\bSIGABRT\b|" + ENDED + rb"(?P<exit_code>-6|134)\b",
        more_specific_than=("any exit code",),
        sample="train.sh: line 7:   77 Aborted                 (core dumped) python3 x.py",
    ),
    Signature(
        "process_limit",
        None,
        rb"Error: (?:[^\r\n]{1,60}: )?can't start new thread|pthread_create[^\r\n]{0,60} failed"
        rb"|fork: (?:retry: )?(?:Resource temporarily unavailable|Cannot allocate memory)"
        rb"|\[Errno 11\] Resource|BlockingIOError: \[Errno 11\]|what\(\): {1,4}Resource temporarily unavailable"
        rb"|Thread creation failed: (?:Resource|Invalid)",
        more_specific_than=("any host memory",),
        sample="RuntimeError: can't start new thread",
    ),
    Signature(
        "killed",
        None,
        rb"mpirun noticed that process rank (?P<rank>\d{1,9}) with [^\r\n]{0,200} exited on signal 9 ",
        more_specific_than=("any abort of MPI",),
        sample="mpirun noticed that process rank 1 with  exited on signal 9 ",
    ),
    Signature(
        "child_failed",
        "MPI ended the job. The lines around this one show the process; look for the cause in that process's earlier "
        "output.",
        rb"(?:mpi|prte)run (?:noticed that|detected that|has exited due to) (?:process rank (?P<rank>\d{1,9}))?"
        rb"|MPI_ABORT was invoked on rank|(?m:^a non-zero exit code\. Per user-direction)"
        rb"|[OP]RTE has lost communication|ORTE_ERROR_LOG: |PMIX ERROR: "
        rb"|process(?:es)? returned a non-zero exit code"
        rb"|BAD TERMINATION OF ONE OF|MPI_ERRORS_ARE_FATAL|Fatal error in P?MPI_\w|error occurred in MPI_\w"
        rb"|application called MPI_Abort\(|\bAbort\(\d{1,12}\) on node \d",
        name="any abort of MPI",
        sample="a non-zero exit code. Per user-direction, the job has been aborted.",
    ),
    Signature(
        "not_found",
        "mpirun cannot find the program on a node. Check its path, and that each node has it.",
        rb"(?:mpi|prte)run was unable to (?:find the specified executable|launch the specified application)",
        sample="mpirun was unable to find the specified executable file, and therefore did not",
    ),
    Signature(
        "rendezvous_timeout",
        "mpirun could not start its daemon on a node, or does not hear from it. Check that the node is up and has the "
        "same MPI, then check SSH, the interfaces and the firewall.",
        rb"(?:[OP]RTE|mpirun|prterun) was unable to reliably start|An? [OP]RTE daemon has unexpectedly failed"
        rb"|srun returned non-zero exit status \(\d{1,9}\) from launching the per-node daemon",
        sample="prterun was unable to reliably start one or more daemons.",
    ),
    Signature(
        "settings_refused",
        "mpirun refuses to start the job this way. The lines around this one show its needs, such as other hosts "
        "and slots, another --bind-to, --allow-run-as-root or srun --mpi=pmix.",
        rb"detected an attempt to run as root|direct launched using|would result in binding more"
        rb"|Your job failed to map|not included in the current allocation| in the hostfile:"
        rb"|unable to open the hostfile|not enough slots available",
        sample="Your job failed to map because odd",
    ),
    Signature(
        "name_resolution",
        "A node's name cannot be resolved here. Check DNS, /etc/hosts and the inventory.",
        rb"ssh: Could not resolve hostname",
        more_specific_than=("any name resolution",),
        sample="ssh: Could not resolve hostname gpu07: Name or service not known",
    ),
    Signature(
        "rendezvous_timeout",
        "A launcher could not reach a node over SSH. Check that the node is up and sshd is listening, then check the "
        "port and the firewall.",
        rb"ssh: connect to host \S{1,300} port \d{1,9}: |Error: [^\r\n]{0,300} was not reachable via ssh",
        sample="ssh: connect to host n3 port 22: No route to host",
    ),
    Signature(
        "permission_denied",
        "A node refused a launcher's SSH login. Check the user, the key and known_hosts on the launcher's node.",
        rb"Permission denied \(publickey|Host key verification failed",
        name="refused login of a launcher",
        sample="amd@gpu07: Permission denied (publickey,password).",
    ),
    Signature(
        "host_memory",
        None,
        rb"(?m:^(?:\[\w{1,20}\]: ?)?MemoryError\b)|(?:numpy[\w.]{0,40}\._?ArrayMemoryError|\[Errno 12\])|(?:: "
        rb"|ENOMEM )Cannot allocate memory|can't allocate memory: you tried to allocate|instance of 'std::bad_alloc'",
        name="any host memory",
        more_specific_than=("any native exception",),
        sample="terminate called after throwing an instance of 'std::bad_alloc'",
    ),
)
