"""What a caller may see and change."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kb.errors import ForbiddenError, NotFoundError


@dataclass(frozen=True, slots=True)
class Scope:
    """The rights of one caller.

    Attributes:
        collections: Names it may see, or None for all.
        write: Whether it may change anything.
    """

    collections: frozenset[str] | None = None
    write: bool = True

    def sees(self, collection: str) -> bool:
        """Return whether the collection exists as far as this caller may know."""
        return self.collections is None or collection in self.collections

    def visible(self, collections: Iterable[str]) -> list[str]:
        """Return those of the names that the caller may see, in order."""
        return [name for name in collections if self.sees(name)]

    def check_write(self) -> None:
        """Refuse a caller that may only read.

        Raises:
            ForbiddenError: Always for such a caller.
        """
        if not self.write:
            raise ForbiddenError(
                "this connection may only read",
                code="read_only",
                hint="Start it with --allow-write, or use a key with the right to write.",
            )


def unknown_collection(name: str, known: Sequence[str]) -> NotFoundError:
    """Return the error for a collection the caller cannot see, with a near name."""
    close = difflib.get_close_matches(name, known, n=1)
    listed = ", ".join(known) if known else "none yet"
    hint = f"Did you mean {close[0]!r}?" if close else f"Known collections: {listed}."
    return NotFoundError(f"unknown collection {name!r}", code="unknown_collection", hint=hint)


EVERYTHING = Scope()
