# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a tokenizer and a dataset of a few words into two folders: python make_data.py TOKENIZER DATASET."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = [f"word{number}" for number in range(200)]

tokenizer_folder, dataset_folder = map(Path, sys.argv[1:])
for folder in (tokenizer_folder, dataset_folder):
    folder.mkdir(parents=True)
special = ["<unk>", "<bos>", "<eos>"]
tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate([*special, *WORDS])}, "<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.add_special_tokens(special)
tokenizer.save(str(tokenizer_folder / "tokenizer.json"))
names = {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>"}
(tokenizer_folder / "tokenizer_config.json").write_text(json.dumps(names))
texts = (" ".join(WORDS[(start + place) % len(WORDS)] for place in range(300)) for start in range(400))
(dataset_folder / "data.json").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
