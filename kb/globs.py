"""Globs over document paths, matched in linear time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import re2


def path_filter(glob: str | None) -> Callable[[str], bool]:
    """Return whether a path passes a glob; None passes everything.

    `*` and `?` stay inside one name, `**` crosses `/`, `[…]` is a set of characters. A glob
    without `/` is compared with the file's name, too; one that ends in `/` means all below.
    A glob may also be given as a whole uri path's leading folders (`docs` for `docs/…`).
    """
    if glob is None or glob in {"", "*", "**"}:
        return lambda _: True
    pattern = _compiled(glob)
    return lambda path: pattern.fullmatch(path) is not None


@lru_cache(maxsize=64)
def _compiled(glob: str) -> re2._Regexp[str]:
    body = _translated(glob.rstrip("/"))
    # Below a folder of that name, and, for a bare name, wherever it stands.
    start = "(?:.*/)?" if "/" not in glob.rstrip("/") else ""
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    return re2.compile(f"{start}{body}(?:/.*)?", options=options)


def _translated(glob: str) -> str:
    parts: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            parts.append(".*")
            at += 2
        elif char == "*":
            parts.append("[^/]*")
            at += 1
        elif char == "?":
            parts.append("[^/]")
            at += 1
        elif char == "[" and (end := glob.find("]", at + 2)) > 0:
            members = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            negated = members.startswith(("!", "^"))
            members = members[1:] if negated else members
            parts.append(f"[{'^' if negated else ''}{members}]")
            at = end + 1
        else:
            parts.append(re2.escape(char))
            at += 1
    return "".join(parts)
