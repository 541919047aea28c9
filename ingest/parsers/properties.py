"""Title, author and date as a file's properties give them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ingest.parsers.xmltree import child, parse_xml

_CORE = "docProps/core.xml"
_MADE_BY_PROGRAM = re.compile(
    r"(?:(?:PowerPoint )?(?:Presentation|演示文稿|簡報)|(?:Slide|幻灯片|投影片) ?1"
    r"|Word (?:文档|Document)|Microsoft (?:Word|PowerPoint|Excel) - .*|Untitled.*|无标题.*)",
    re.IGNORECASE,
)
_LIBRARIES = frozenset({"python-docx", "python-pptx", "openpyxl"})


def core_properties(path: Path) -> dict[str, object]:
    """Return title, author and time of creation of an Office file, without what is blank.

    Read here and not through the libraries, which make up what is missing (their own name,
    the present time).
    """
    with zipfile.ZipFile(path) as archive:
        if _CORE not in archive.namelist():
            return {}
        root = parse_xml(archive.read(_CORE))
    names = {"title": "title", "creator": "author", "created": "created"}
    elements = {ours: child(root, theirs) for theirs, ours in names.items()}
    found = properties(
        {ours: element.text for ours, element in elements.items() if element is not None}
    )
    if found.get("author") in _LIBRARIES:
        del found["author"]
    return found


def properties(found: Mapping[str, object]) -> dict[str, object]:
    """Return what is said in properties as text, without what is blank."""
    said = {name: str(value or "").strip() for name, value in found.items()}
    return {name: text for name, text in said.items() if text}


def own_title(*candidates: object) -> str | None:
    """Return the first candidate that a person wrote, or None.

    `PowerPoint Presentation` and its like are put there by the program.
    """
    for candidate in candidates:
        title = " ".join(str(candidate or "").split())
        if title and not _MADE_BY_PROGRAM.fullmatch(title):
            return title
    return None
