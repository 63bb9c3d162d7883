# SPDX-License-Identifier: GPL-3.0-or-later
"""The Slurm of `slurm_bench` with accounting: slurmdbd, and a MariaDB that is unpacked beside it.

The database has neither a port nor passwords: it listens on a socket in the folder, which only its owner may enter.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from ports import free_port
from slurm_bench import NoSlurmError, Slurm, unpacked

_PACKAGES = (
    "slurmdbd",
    "slurm-wlm-mysql-plugin",
    "mariadb-server-core",
    "libmariadb3",
    "libaio1",
    "libnuma1",
    "liburing2",
)
_DBD = """\
AuthType=auth/none
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
PluginDir={plugins}
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
"""


def unpacked_with_accounting(folder: Path, **changes: str) -> Slurm:
    """Return Slurm with its accounting up, which enforces associations, limits and QOS; slurmctld is not started."""
    port = free_port()
    slurm = unpacked(
        folder,
        _PACKAGES,
        AccountingStorageType="accounting_storage/slurmdbd",
        AccountingStorageHost="127.0.0.1",
        AccountingStoragePort=str(port),
        AccountingStorageEnforce="associations,limits,qos",
        **changes,
    )
    (plugins,) = slurm.root.glob("usr/lib/*/slurm-wlm")
    conf = folder / "slurmdbd.conf"
    conf.write_text(_DBD.format(port=port, plugins=plugins, folder=folder))
    conf.chmod(0o600)
    data, sock = folder / "data", folder / "db.sock"
    data.mkdir(mode=0o700)
    messages = slurm.root / "usr/share/mysql"
    options = ("--no-defaults", "--user=root", f"--datadir={data}", f"--lc-messages-dir={messages}")
    tables = [messages / f"mysql_system_tables{part}.sql" for part in ("", "_data")]
    subprocess.run(
        [str(slurm.root / "usr/sbin/mariadbd"), *options, "--bootstrap"],
        env={**os.environ, **slurm.environment},
        input="\n".join(["create database mysql;", "use mysql;", *(table.read_text() for table in tables)]),
        capture_output=True,
        text=True,
        check=True,
    )
    slurm.environment["MYSQL_UNIX_PORT"] = str(sock)
    slurm.start_daemon("mariadbd", "mariadbd", *options, "--skip-networking", "--skip-grant-tables", f"--socket={sock}")
    while not sock.exists():
        time.sleep(0.1)
    slurm.start_daemon("slurmdbd", "slurmdbd", "-D")
    for _ in range(300):
        try:
            slurm.run("sacctmgr", "--noheader", "show", "cluster")
        except RuntimeError:
            time.sleep(0.1)
        else:
            return slurm
    raise NoSlurmError(f"slurmdbd does not answer: {(folder / 'slurmdbd.out').read_text()[-500:]}")
