# SPDX-License-Identifier: GPL-3.0-or-later
"""The history: a Parquet dataset with one file per run, which pandas and others read as one table.

::

    <history>/framework=<framework>/month=2026-11/20261121T081757Z_<key>_<run_id>.parquet

A file is written aside and put in place in one step, so that several controllers may write at once and a reader never
sees half of one. The file's name has the start of the run and its key, so the last runs of a key are found by listing
folders, without opening the other files. Layout: https://arrow.apache.org/docs/python/dataset.html
"""

from __future__ import annotations

import os
import typing as t
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from ..run.whole_file import alone_in
from ..text.words import listed
from .history_row import MEASURED, NUMBERS, TEXTS

if t.TYPE_CHECKING:
    import pandas as pd

    from .history_row import Row

TIMES = ("started_at", "ended_at")
SCHEMA = pa.schema(
    [
        *((name, pa.timestamp("ms", tz="UTC")) for name in TIMES),
        *((name, pa.string()) for name in TEXTS),
        *((name, pa.int64()) for name in NUMBERS),
        *((f"{name}{bound}", pa.float64()) for name in MEASURED for bound in ("", "_low", "_high")),
    ]
)
_PARTITIONS = pa.schema([("framework", pa.string()), ("month", pa.string())])
_STAMP = "%Y%m%dT%H%M%SZ"
# A file without these columns is not one of our rows, whatever its name.
_NEEDED = ("run_id", "key", "verdict")
# In place of the start of a run that never started.
_NEVER = "00000000T000000Z"


def write_row(folder: str | Path, row: Row) -> bool:
    """Put the row of a run into the history, replacing an earlier row of the same run; return whether it is new.

    A run that began at another time is another run, even under the same name, for example a nightly one. Times are ISO
    8601 texts with a zone, or None. Raises OSError if the folder is not writable.
    """
    began = _instant(row["started_at"])
    month = f"{began:%Y-%m}" if began else "none"
    target = Path(folder) / f"framework={row['framework']}" / f"month={month}"
    path = target / f"{began.strftime(_STAMP) if began else _NEVER}_{row['key']}_{row['run_id']}.parquet"
    values = {name: _instant(row[name]) if name in TIMES else row[name] for name in SCHEMA.names}
    table = pa.Table.from_pylist([values], schema=SCHEMA)
    target.mkdir(parents=True, exist_ok=True)
    with alone_in(Path(folder)):
        stamps = (path.name[:16], _NEVER)
        same_name = _files_of_run(Path(folder), row["run_id"])
        earlier = [found for found in same_name if found != path and found.name[:16] in stamps]
        if not earlier and path.exists() and _same(path, table):
            return False
        # Names that begin with a dot do not belong to the dataset.
        draft = target / f".{uuid.uuid4().hex}.new"
        try:
            pq.write_table(table, draft, compression="zstd", use_dictionary=False, write_statistics=False)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        for found in earlier:
            found.unlink(missing_ok=True)
    return True


def latest_rows(
    folder: str | Path, framework: str, key: str, began_before: str | None, but: str, left_out: list[Path]
) -> Iterator[Row]:
    """Yield the rows of a key, latest first: of runs that began before an instant, or without one, of all but ``but``.

    Unreadable files and folders, and files that are not rows, are added to ``left_out``.
    """
    limit = _instant(began_before)
    stamp = limit.strftime(_STAMP) if limit else "9"
    months = sorted(Path(folder).glob(f"framework={framework}/month=*"), reverse=True)
    for month in months:
        try:
            names = os.listdir(month)
        except OSError:
            left_out.append(month)
            continue
        wanted = (name for name in names if name[17:].startswith(f"{key}_") and _NEVER < name[:16] < stamp)
        for name in sorted(wanted, reverse=True):
            if not limit and name == f"{name[:16]}_{key}_{but}.parquet":
                continue
            if row := _read(month / name):
                yield row
            else:
                left_out.append(month / name)


def read_history(folder: str | Path, left_out: list[Path], columns: list[str] | None = None) -> pd.DataFrame:
    """Return the whole history, a row per run in the order of their start, with the columns of `SCHEMA` and framework.

    A missing folder, or one without runs, gives a frame without rows. A file that is unreadable or not a row is added
    to ``left_out``.
    """
    names = columns or [*SCHEMA.names, "framework"]
    files = sorted(Path(folder).glob("framework=*/month=*/*.parquet"))
    try:
        frame = _frame(folder, files, [*names, *(name for name in _NEEDED if name not in names)])
        whole = bool(frame[[*_NEEDED]].notna().all(axis=None))
    except (pa.ArrowException, OSError, ValueError):
        whole = False
    if not whole:
        # Looking into each file is slow; the message says how to avoid that.
        damaged = {path for path in files if _read(path) is None}
        left_out += sorted(damaged)
        frame = _frame(folder, [path for path in files if path not in damaged], names)
    return frame[names].sort_values("started_at", ignore_index=True) if "started_at" in names else frame[names]


def notes_on(left_out: Sequence[Path]) -> list[str]:
    """Return the notes on files that were left out; no notes without such files."""
    if not left_out:
        return []
    pronoun, files = "it" if len(left_out) == 1 else "them", listed(map(str, left_out), 3)
    return [f"Left out of the history because unreadable as a run: {files}. Restore or delete {pronoun}."]


def _frame(folder: str | Path, files: Sequence[Path], names: list[str]) -> pd.DataFrame:
    whole = pa.schema([*SCHEMA, *_PARTITIONS])
    partitioning = ds.partitioning(_PARTITIONS, flavor="hive")
    paths = [str(path) for path in files]
    dataset = ds.dataset(
        paths, schema=whole, format="parquet", partitioning=partitioning, partition_base_dir=str(folder)
    )
    frame: pd.DataFrame = dataset.to_table(columns=names).to_pandas()
    return frame


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def _files_of_run(folder: Path, run_id: str) -> Iterator[Path]:
    for month in folder.glob("framework=*/month=*"):
        for entry in os.scandir(month):
            if entry.name[30:] == f"{run_id}.parquet":
                yield month / entry.name


def _same(path: Path, table: pa.Table) -> bool:
    try:
        return bool(pq.read_table(path, partitioning=None).equals(table))
    except (pa.ArrowException, OSError):
        return False


def _read(path: Path) -> Row | None:
    """Return the row of a file; None if it is unreadable or not a row. Columns that an older row lacks are None."""
    try:
        row: Row = pq.read_table(path, partitioning=None, schema=SCHEMA).to_pylist()[0]
    except (pa.ArrowException, OSError, ValueError, IndexError):
        return None
    if any(row[name] is None for name in (*_NEEDED, "environment")):
        return None
    instants = {name: row[name].isoformat(timespec="seconds") for name in TIMES if row[name]}
    return row | instants
