"""Patterns for `grep`, matched in linear time so that no pattern can stall the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import re2

from kb.errors import UsageError


class Matcher(Protocol):
    """Finds a pattern in a text."""

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield `[start, end)` of each match, in order, not overlapping."""


class _Matcher:
    def __init__(self, compiled: re2._Regexp[str]) -> None:
        self._compiled = compiled

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        for match in self._compiled.finditer(text):
            yield match.span()


def compile_pattern(pattern: str, *, fixed: bool, ignore_case: bool) -> Matcher:
    """Compile a pattern in RE2 syntax (no backreferences); `^` and `$` mean lines.

    Raises:
        UsageError: It is empty or no regular expression.
    """
    if not pattern:
        raise UsageError("the pattern is empty", hint="Give at least one character.")
    options = re2.Options()
    options.log_errors = False
    options.literal = fixed
    options.case_sensitive = not ignore_case
    source = pattern if fixed else f"(?m){pattern}"
    try:
        return _Matcher(re2.compile(source, options=options))
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise UsageError(
            f"{pattern!r} is no regular expression: {text}",
            hint="Use --fixed to look for the characters themselves.",
        ) from error
