"""Numbers from cells and charts as their readers see them."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta

_NOT_FORMAT = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')
_DAY_FORMAT = re.compile("[yd年日]", re.IGNORECASE)
_EPOCH = datetime(1899, 12, 30)  # noqa: DTZ001 - a sheet's dates have no time zone
_MAX_SERIAL = 2_958_465


def shown_number(value: float, number_format: str = "") -> str:
    """Return a number without the noise of binary fractions.

    Percentages are kept as such (`0.153` in `0.0%` is `15.3%`); other formats only change
    looks and would hide digits, so they are left aside.
    """
    plain = _NOT_FORMAT.sub("", number_format.split(";")[0])
    if plain.endswith("%"):
        decimals = len(plain.partition(".")[2].rstrip("%"))
        return f"{value * 100:.{decimals}f}%"
    return f"{value:.15g}" if abs(value) < 1e15 else str(int(value))


def shown_cache(text: str, number_format: str) -> str:
    """Return a value from a chart's cache: a number, a day where the format says so, or text."""
    try:
        value = float(text)
    except ValueError:
        return text
    plain = _NOT_FORMAT.sub("", number_format)
    if plain.lower() != "general" and _DAY_FORMAT.search(plain) and 0 < value <= _MAX_SERIAL:
        return (_EPOCH + timedelta(days=int(value))).date().isoformat()
    return "" if math.isnan(value) else shown_number(value, number_format)
