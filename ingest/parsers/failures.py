"""What a parser library raises, turned into our own errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb.errors import DocumentError, KnowledgeBaseError

REPAIR_HINT = "Open it in its own program and save it again, or remove it from the folder."


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Let nothing but our own errors out of the block that reads a file.

    A library's message may quote the file's place on this machine, so only the name of its
    error is passed on. `MemoryError` stays as it is: whoever set the limit answers for it.

    Args:
        path: The file.
        kind: What it should be, such as `DOCX`.

    Raises:
        DocumentError: `damaged`; `over_limit` for endless nesting; `unreadable` when the
            system refuses the file itself.
    """
    try:
        yield
    except (KnowledgeBaseError, MemoryError):
        raise
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise DocumentError(
            f"{path.name} cannot be opened",
            code="unreadable",
            hint="Check that it is there and its permissions, then run the ingest again.",
        ) from error
    except RecursionError as error:
        raise DocumentError(
            f"{path.name} is nested too deeply to be read as {kind}",
            code="over_limit",
            hint="Save it in a simpler form, or leave it out.",
        ) from error
    except Exception as error:
        raise damaged(path, kind, type(error).__name__) from error


def damaged(path: Path, kind: str, reason: str) -> DocumentError:
    """Return the error for a file that is not what its name promises."""
    return DocumentError(
        f"{path.name} cannot be read as {kind} ({reason})", code="damaged", hint=REPAIR_HINT
    )
