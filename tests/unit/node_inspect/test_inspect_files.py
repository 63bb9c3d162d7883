from __future__ import annotations

from pathlib import Path

from ansible_collections.trainops.cluster.plugins.module_utils.node.inspection.files import (
    fields,
    line,
    link_name,
    names,
    number,
    text,
)


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    root = str(tmp_path)
    assert (text(root, "/missing"), line(root, "/folder"), number(root, "/missing")) == (None, None, None)
    assert (names(root, "/missing"), link_name(root, "/folder")) == ([], None)


def test_numbers_may_be_decimal_or_hexadecimal_and_words_are_none(tmp_path: Path) -> None:
    for name, content in {"decimal": "42\n", "hexadecimal": "0x14e4\n", "words": "off\n"}.items():
        (tmp_path / name).write_text(content)
    assert [number(str(tmp_path), name) for name in ("decimal", "hexadecimal", "words")] == [42, 0x14E4, None]


def test_names_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("mlx5_10", "mlx5_2", "eth0", "7"):
        (tmp_path / name).touch()
    assert names(str(tmp_path), "/") == ["7", "eth0", "mlx5_2", "mlx5_10"]


def test_fields_drop_quotes_and_lines_that_are_none() -> None:
    assert fields('NAME="Rocky Linux"\n\n# no field\nID=rocky', "=") == {"NAME": "Rocky Linux", "ID": "rocky"}
    assert fields(None, "=") == {}
