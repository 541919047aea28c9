"""Rows as Markdown tables."""

from __future__ import annotations

from ingest.parsers.tables import markdown_table


def test_the_first_row_becomes_the_header() -> None:
    assert markdown_table([["城市", "人口"], ["青山镇", "3200"]]) == (
        "| 城市 | 人口 |\n| --- | --- |\n| 青山镇 | 3200 |"
    )


def test_bars_are_escaped_and_line_ends_become_spaces() -> None:
    assert markdown_table([["a|b", "c\n d"]]) == "| a\\|b | c d |\n| --- | --- |"


def test_short_rows_are_filled_and_blank_rows_and_columns_left_out() -> None:
    rows = [["a", "", "b"], ["", " ", ""], ["c"]]
    assert markdown_table(rows) == "| a | b |\n| --- | --- |\n| c |  |"


def test_nothing_comes_of_nothing() -> None:
    assert markdown_table([]) == ""
    assert markdown_table([["", " "], []]) == ""
