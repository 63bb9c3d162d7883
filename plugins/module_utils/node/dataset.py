# SPDX-License-Identifier: GPL-3.0-or-later
"""A dataset that is fetched before the training, once for all nodes that share its folder.

A node's plan describes it: ``dataset`` has ``name``, ``folder`` and ``prefix`` (the result's path without .bin and
.idx), and either ``script`` (a program of the trainer that fetches and tokenizes) with ``tokenizer``, or ``urls``.

Once the dataset is complete, the folder has a file ``trainops_dataset`` that says which dataset it is. The fetching
node holds the lock ``trainops_dataset.lock``. An unfinished attempt leaves ``trainops_dataset.begun``.
"""

from __future__ import annotations

import shlex
import typing as t

if t.TYPE_CHECKING:
    from .contracts import Node

FUNCTION = "fetch_dataset"
MARKER_NAME = "trainops_dataset"

_PROGRESS_SECONDS = 60

_DOWNLOAD = """\
  download() {
    local url file
    for url in "$@"; do
      file="$folder/${url##*/}"
      [[ -e $file ]] && continue
      echo "Fetching $url"
      if command -v wget >/dev/null; then
        wget --continue --progress=dot:giga --output-document="$file.part" "$url" || return
      elif command -v curl >/dev/null; then
        curl --fail --location --continue-at - --silent --show-error --output "$file.part" "$url" || return
      else
        echo "ERROR: there is neither wget nor curl here to fetch $url"
        return 127
      fi
      mv -- "$file.part" "$file" || return
    done
  }"""


def dataset_function(node: Node, progress_seconds: float = _PROGRESS_SECONDS) -> dict[str, list[str]]:
    """Return the lines of bash that define `FUNCTION`, by its name; nothing if the plan fetches no dataset.

    The function is called in the trainer's folder. It returns 0 once the dataset is there, else the failed command's
    status. While it runs it prints the folder's size every ``progress_seconds``, if that has changed: so a run that
    makes progress is not taken for a hanging one.
    """
    dataset = node.get("dataset")
    if not dataset:
        return {}
    wanted = dataset["name"]
    if dataset["script"]:
        wanted += f" tokenized with {dataset['tokenizer']}"
        # The script's `wget -nc` would take the leftovers of a broken attempt for complete files.
        clear = 'rm -f -- "$folder/data.jsonl" "$prefix.bin" "$prefix.idx"'
        given = {"DATASET": dataset["name"], "DATA_DIR": dataset["folder"], "TOKENIZER_MODEL": dataset["tokenizer"]}
        assignments = " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())
        fetch, definitions = f"{assignments} bash {shlex.quote(dataset['script'])}", []
        unfinished = f"this image's {dataset['script']} does not read DATA_DIR"
    else:
        clear = ":"
        fetch = "download " + " ".join(shlex.quote(url) for url in dataset["urls"])
        definitions = _DOWNLOAD.splitlines()
        unfinished = "its files do not include them"
    body = f"""\
{FUNCTION}() (
  folder={shlex.quote(dataset["folder"])} wanted={shlex.quote(wanted)} prefix={shlex.quote(dataset["prefix"])}
  marker="$folder/{MARKER_NAME}" begun="$folder/{MARKER_NAME}.begun"
  unfinished={shlex.quote(unfinished)}
  mkdir -p -- "$folder" || exit
  # Ends by itself when nobody holds its standard input any longer.
  exec 8> >(
    size=
    while read -r -t {progress_seconds:g}; (($? > 128)); do
      now=$(du -sk -- "$folder" 2>/dev/null | cut -f 1)
      [[ $now == "$size" ]] || echo "Dataset $wanted: $((now / 1024)) MiB in $folder"
      size=$now
    done
  )
  exec 9>>"$marker.lock" || exit
  if ! flock -n 9; then
    echo "Dataset $wanted: waiting because another node holds $marker.lock"
    flock 9 || exit
  fi
  if [[ -e $marker ]]; then
    there=$(<"$marker")
    if [[ $there == "$wanted" ]]; then
      echo "Dataset $wanted: already there, $prefix"
      exit 0
    fi
    echo "ERROR: $folder holds the dataset $there, not $wanted; choose another data_dir"
    exit 1
  fi
  if [[ ! -e $begun && (-e $prefix.bin || -e $prefix.idx) ]]; then
    echo "ERROR: $prefix is there, but no run has fetched it; set data_path to train on it, or choose another data_dir"
    exit 1
  fi
  if [[ -e $begun ]]; then {clear}; fi
  echo "$wanted" >"$begun" || exit
  echo "Dataset $wanted: fetching to $folder"
  {fetch} 8>&- 9>&-
  status=$?
  if ((status != 0)); then
    echo "ERROR: fetching the dataset $wanted to $folder failed with exit status $status"
    exit "$status"
  fi
  if [[ ! -s $prefix.bin || ! -s $prefix.idx ]]; then
    echo "ERROR: fetching the dataset $wanted left no $prefix.bin and .idx: the fetch failed silently, or $unfinished"
    exit 1
  fi
  mv -- "$begun" "$marker"
)"""
    name, *rest = body.splitlines()
    return {FUNCTION: [name, *definitions, *rest]}
