"""The wall clock as the catalog writes it."""

from __future__ import annotations

from datetime import UTC, datetime


def now_text() -> str:
    """Return the time as RFC 3339 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
