"""The YAML block at the head of a Markdown file as metadata."""

from __future__ import annotations

import datetime
import re

import yaml

_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_MAX_CHARACTERS = 50_000


def front_matter(text: str) -> tuple[dict[str, object], str]:
    """Return metadata as JSON values, and what is wrong with the block (empty if nothing)."""
    match = _BLOCK.match(text)
    if match is None or not match.group(1).strip():
        return {}, ""
    block = match.group(1)
    if len(block) > _MAX_CHARACTERS or "&" in block and re.search(r"(?m)[:\-]\s+&\w+", block):
        # Anchors can grow a few lines to gigabytes; no front matter needs them.
        return {}, "the front matter is too long or uses anchors; it was not read"
    try:
        loaded = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, "the front matter is no YAML; it was not read"
    if not isinstance(loaded, dict):
        return {}, ""
    return {str(key): _json_value(value) for key, value in loaded.items()}, ""


def _json_value(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_json_value(inner) for inner in value]
    if isinstance(value, datetime.date | datetime.datetime | datetime.time):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
