"""Which names a collection may have."""

from __future__ import annotations

import unicodedata

from kb.errors import UsageError

MAX_NAME = 128


def check_collection_name(name: str) -> str:
    """Return the name if a collection may have it.

    Raises:
        UsageError: It is empty, too long, has `/`, control characters or spaces at its ends.
    """
    reason = ""
    if not name:
        reason = "is empty"
    elif len(name) > MAX_NAME:
        reason = f"is longer than {MAX_NAME} characters"
    elif "/" in name:
        reason = "has a /"
    elif name != name.strip():
        reason = "begins or ends with a space"
    elif any(unicodedata.category(char) in {"Cc", "Cs"} for char in name):
        reason = "has a control character"
    if reason:
        raise UsageError(
            f"the collection name {name[:40]!r} {reason}",
            code="collection_name",
            hint="Any other characters do, such as notes or 笔记.",
        )
    return name
