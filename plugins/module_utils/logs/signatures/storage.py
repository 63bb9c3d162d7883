# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages about disks and file systems, from any program that meets them."""

from __future__ import annotations

from ..signature import Signature

SIGNATURES = (
    Signature(
        "disk_full",
        "The container's shared memory (/dev/shm) is full. Enlarge it (--shm-size, or ipc=host), or use fewer data "
        "workers.",
        rb"/dev/shm[^\r\n]{0,300}(?:No space left on device|could not be resized|Cannot allocate memory)"
        rb"|[Uu]nable to allocate shared memory\(shm\)|file </torch_[^\r\n]{0,99}: (?:No space left"
        rb"|Cannot allocate memory)"
        rb"|(?:No space left on device|[Uu]nable to (?:open|write|allocate|create) )[^\r\n]{0,200}/dev/shm",
        name="full shared memory",
        more_specific_than=(
            "any full disk",
            "any host memory",
        ),
        sample=("[1.1] [n1:7:0] mm_odd.c:123 UCX  ERROR failed to allocate odd in /dev/shm: No space left on device"),
    ),
    Signature(
        "disk_full",
        None,
        rb"(?i:no space left)|(?i:quota exceeded)(?! for (?:quota )?metric)|\bENOSPC\b|\bEDQUOT\b|\bStorageFull\b"
        rb"|unexpected pos \d{1,20} vs \d{1,20}|PytorchStreamWriter failed writing|Not enough (?:space left in"
        rb"|disk space\b)|Error: \d{1,20} requested and \d{1,20} written",
        name="any full disk",
        sample="OSError: Not enough disk space. Needed: 7.5 GiB (odd)",
    ),
    Signature(
        "io_error",
        "The shared file system lost an open file. Check whether another node or job replaced it, check the NFS "
        "server, and remount the file system.",
        rb"(?i:stale (?:NFS )?file handle)|\bESTALE\b|\[Errno 116\]",
        sample="ls: reading directory '/data': Stale NFS file handle",
    ),
    Signature(
        "io_error",
        "A file system failed or went away. Read the kernel log; check the mount (findmnt), the disk and the file "
        "server.",
        rb"(?i:input/output error)|(?i:remote i/o error)|\[Errno (?:5|16|30|37|70|107|108|112|121)\]"
        rb"|(?i:read-only file system)|(?i:transport endpoint is not connected)|(?i:structure needs cleaning)"
        rb"|[Nn]o locks available|after transport endpoint shutdown|Communication error on send|: Host is down"
        rb"|\bfuse: (?:device not found|[a-zA-Z]{1,40}: )|fusermount\d?: ",
        sample="OSError: [Errno 37] No locks available",
    ),
    Signature(
        "open_files",
        None,
        rb"(?i:too many open files)|received 0 items of ancdata|\[Errno 24\]",
        sample="RuntimeError: received 0 items of ancdata",
    ),
    Signature(
        "permission_denied",
        None,
        rb"\[Errno 13\] Permission denied|\[Errno 1\] Operation not permitted|PermissionError: |\b(?:mkdir|touch"
        rb"|cp|mv|rm|tee|ls): [^\r\n]{0,300}: Permission denied|\b(?:EACCES|EPERM)\b"
        rb"|(?:PERMISSION_DENIED|Error): [^\r\n]{0,900}: Permission denied(?!: HTTP)",
        name="any file permission",
        more_specific_than=(
            "denied program of the launch",
            "refused login of a launcher",
            "status PERMISSION_DENIED",
            "any checkpoint error",
        ),
        sample="PermissionError: [Errno 13] Permission denied: '/out/checkpoints'",
    ),
)
