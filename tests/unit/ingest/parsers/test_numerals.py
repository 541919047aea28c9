"""Numbers as lists show them."""

from __future__ import annotations

import pytest

from ingest.parsers.numbers import shown_cache, shown_number
from ingest.parsers.numerals import numeral


@pytest.mark.parametrize(
    ("number", "style", "shown"),
    [
        (3, "decimal", "3"),
        (3, "decimalZero", "03"),
        (10, "chineseCounting", "十"),
        (12, "chineseCountingThousand", "十二"),
        (20, "japaneseCounting", "二十"),
        (105, "chineseCounting", "一百零五"),
        (1010, "chineseCounting", "一千零一十"),
        (4, "lowerRoman", "iv"),
        (1994, "I", "MCMXCIV"),
        (28, "lowerLetter", "bb"),
        (2, "A", "B"),
        (7, "decimalEnclosedCircle", "⑦"),
        (0, "chineseCounting", "0"),
    ],
)
def test_a_number_is_shown_in_its_style(number: int, style: str, shown: str) -> None:
    assert numeral(number, style) == shown


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (0.1 + 0.2, "General", "0.3"),
        (3.0, "", "3"),
        (0.153, "0.0%", "15.3%"),
        (0.5, "0%;[Red]-0%", "50%"),
        (1234.5, "#,##0.00", "1234.5"),
    ],
)
def test_numbers_lose_their_binary_noise_and_keep_their_percent(
    value: float, number_format: str, shown: str
) -> None:
    assert shown_number(value, number_format) == shown


def test_a_cached_day_is_shown_as_a_day() -> None:
    assert shown_cache("45356", "yyyy/m/d") == "2024-03-05"
    assert shown_cache("45356", "General") == "45356"
    assert shown_cache("一月", "General") == "一月"
    assert shown_cache("NaN", "General") == ""
