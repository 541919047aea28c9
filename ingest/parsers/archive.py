"""Zip-based formats: what is checked before anything is unpacked."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ingest.parsers.failures import damaged, reading
from kb.errors import DocumentError

MAX_ZIP_MEMBERS = 10_000
MAX_ZIP_RATIO = 200
MAX_EXPANDED_BYTES = 1_000_000_000
RATIO_APPLIES_FROM_BYTES = 1_000_000
"""Small members may pack far better than 200:1 without harm: an empty sheet does."""

OLE_MAGIC = b"\xd0\xcf\x11\xe0"
_LEGACY_STREAMS = tuple(
    name.encode("utf-16-le") for name in ("WordDocument", "PowerPoint Document", "Workbook")
)
_OLE_HEAD_BYTES = 4_000_000


def check_zip(path: Path, options: Mapping[str, object]) -> None:
    """Refuse a file that is no zip archive, is locked, or would expand beyond the limits.

    Only declared sizes are looked at; `zipfile` reads no more than a member declares.

    Args:
        path: The file.
        options: May hold `max_zip_members`, `max_zip_ratio` (expanded to packed, for members
            over 1 MB) and `max_expanded_bytes` (sum of all members).

    Raises:
        DocumentError: `encrypted`, `unsupported` (an older binary Office format), `damaged`
            or `over_limit`.
    """
    with reading(path, "a zip archive"):
        _refuse_ole(path)
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError) as error:
            raise damaged(path, "a zip archive", type(error).__name__) from error
        if any(member.flag_bits & 0x1 for member in members):
            raise encrypted(path)
        _refuse_oversize(path, members, options)


def encrypted(path: Path) -> DocumentError:
    """Return the error for a file that opens only with a password."""
    return DocumentError(
        f"{path.name} is protected by a password",
        code="encrypted",
        hint="Save a copy without a password and ingest that.",
    )


def _refuse_ole(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(len(OLE_MAGIC))
        if head != OLE_MAGIC:
            return
        content = file.read(_OLE_HEAD_BYTES)
    # A locked DOCX, PPTX or XLSX is an OLE file around the packed one; so are .doc, .ppt, .xls.
    if any(name in content for name in _LEGACY_STREAMS):
        raise DocumentError(
            f"{path.name} is in the binary format of Office 97-2003",
            code="unsupported",
            hint="Save it as .docx, .pptx or .xlsx and ingest that.",
        )
    raise encrypted(path)


def _refuse_oversize(
    path: Path, members: Sequence[zipfile.ZipInfo], options: Mapping[str, object]
) -> None:
    max_members = _limit(options, "max_zip_members", MAX_ZIP_MEMBERS)
    if len(members) > max_members:
        raise _over_limit(
            path, f"has {len(members)} members, more than max_zip_members = {max_members}"
        )
    max_expanded = _limit(options, "max_expanded_bytes", MAX_EXPANDED_BYTES)
    n_expanded = sum(member.file_size for member in members)
    if n_expanded > max_expanded:
        raise _over_limit(
            path, f"expands to {n_expanded} bytes, more than max_expanded_bytes = {max_expanded}"
        )
    max_ratio = _limit(options, "max_zip_ratio", MAX_ZIP_RATIO)
    for member in members:
        is_large = member.file_size > RATIO_APPLIES_FROM_BYTES
        if is_large and member.file_size > max_ratio * max(1, member.compress_size):
            raise _over_limit(
                path,
                f"has a member that expands more than max_zip_ratio = {max_ratio} times",
            )


def _limit(options: Mapping[str, object], name: str, default: int) -> int:
    value = options.get(name, default)
    return value if isinstance(value, int) else default


def _over_limit(path: Path, what: str) -> DocumentError:
    return DocumentError(
        f"{path.name} {what}",
        code="over_limit",
        hint="Raise the limit in kb.toml if you trust this file, or leave it out.",
    )
