"""Names of documents as `kb://collection/path` uris, out and in."""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass

from kb.errors import UsageError

SCHEME = "kb://"

# RFC 3986 `pchar` without what would be misread in a citation; all else is percent-encoded.
_SAFE = "/-._~!$&'()*+,;=:@"
_FRAGMENT = re.compile(r"#([Lp]\d+(?:-[Lp]?\d+)?|[^#/]*)\Z")


@dataclass(frozen=True, slots=True)
class ParsedUri:
    """One reading of a uri: all parts decoded, `path` and `fragment` may be empty."""

    collection: str
    path: str
    fragment: str


def document_uri(collection: str, path: str = "") -> str:
    """Return the percent-encoded uri of a document, or of a collection without a path."""
    name = urllib.parse.quote(collection, safe="-._~!$&'()*+,;=:@")
    if not path:
        return f"{SCHEME}{name}"
    return f"{SCHEME}{name}/{urllib.parse.quote(path, safe=_SAFE)}"


def with_fragment(uri: str, *, lines: tuple[int, int] | None, pages: tuple[int, int] | None) -> str:
    """Return a uri that points at pages (`#p7`, `#p7-9`) or else lines (`#L47`, `#L40-58`)."""
    place, letter = (pages, "p") if pages else (lines, "L")
    if place is None:
        return uri
    first, last = place
    return f"{uri}#{letter}{first}" if first == last else f"{uri}#{letter}{first}-{last}"


def parse_uri(text: str) -> list[ParsedUri]:
    """Return the readings of a uri, most likely first.

    What is given is first taken as percent-encoded (then a fragment may follow) and, where
    nothing has that name, as plain characters, `#` and `%` included.

    Raises:
        UsageError: It does not begin with `kb://` and a collection.
    """
    if not text.startswith(SCHEME):
        return []
    rest = text.removeprefix(SCHEME)
    fragment = ""
    body = rest
    match = _FRAGMENT.search(rest)
    if match:
        fragment, body = match.group(1), rest[: match.start()]
    readings = [_reading(body, fragment, decode=True)]
    plain = _reading(rest, "", decode=False)
    if plain not in readings:
        readings.append(plain)
    if not readings[0].collection and not plain.collection:
        raise UsageError(
            f"{text!r} names no collection", hint="A uri looks like kb://default/docs/guide.md"
        )
    return readings


def _reading(body: str, fragment: str, *, decode: bool) -> ParsedUri:
    collection, _, path = body.partition("/")
    if decode:
        collection = urllib.parse.unquote(collection, errors="replace")
        path = urllib.parse.unquote(path, errors="replace")
    return ParsedUri(collection, path, fragment)
