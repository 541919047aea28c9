"""Whether the words of a quote stand in the documents, and where exactly."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from kb.errors import UsageError
from kb.store import Store
from kb.text import fold, folded_with_offsets, line_of, line_starts
from kb.types import DocumentRecord
from kb.uris import document_uri, with_fragment

MAX_MATCHES = 20
_MIN_NEAREST = 0.5


def verify_quote(
    store: Store,
    quote: str,
    documents: Iterable[DocumentRecord],
    *,
    is_stale: Callable[[DocumentRecord], bool],
) -> dict[str, object]:
    """Return where a quote stands, or the nearest passage with the difference.

    Width, case and whitespace do not count; every other character does.

    Raises:
        UsageError: The quote is empty.
    """
    wanted = fold(quote).strip()
    if not wanted:
        raise UsageError("the quote is empty", hint="Give the words to look for.")
    matches: list[dict[str, object]] = []
    nearest: tuple[float, DocumentRecord, int, int, str] | None = None
    for document in documents:
        text = store.document_text(document)
        folded, offsets = folded_with_offsets(text)
        at = folded.find(wanted)
        while at >= 0 and len(matches) < MAX_MATCHES:
            start, end = offsets[at], offsets[at + len(wanted) - 1] + 1
            matches.append(_match(document, text, start, end, is_stale=is_stale))
            at = folded.find(wanted, at + len(wanted))
        if len(matches) >= MAX_MATCHES:
            break
        if not matches:
            near = _nearest(wanted, folded, offsets)
            if near is not None and (nearest is None or near[0] > nearest[0]):
                nearest = (near[0], document, near[1], near[2], text[near[1] : near[2]])
    if matches:
        return {"found": True, "matches": matches}
    result: dict[str, object] = {"found": False, "matches": []}
    if nearest is not None:
        score, document, start, end, words = nearest
        text = store.document_text(document)
        result["nearest"] = {
            **_match(document, text, start, end, is_stale=is_stale),
            "similarity": round(score, 3),
            "difference": difference(quote, words),
        }
    return result


def difference(quote: str, words: str) -> str:
    """Return the words with what the quote lacks as `[+…]` and what it adds as `[-…]`."""
    before, after = " ".join(quote.split()), " ".join(words.split())
    parts: list[str] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, a1, a2, b1, b2 in matcher.get_opcodes():
        if kind == "equal":
            parts.append(before[a1:a2])
            continue
        if a2 > a1:
            parts.append(f"[-{before[a1:a2]}]")
        if b2 > b1:
            parts.append(f"[+{after[b1:b2]}]")
    return "".join(parts)


def _match(
    document: DocumentRecord,
    text: str,
    start: int,
    end: int,
    *,
    is_stale: Callable[[DocumentRecord], bool],
) -> dict[str, object]:
    starts = line_starts(text)
    lines = (line_of(starts, start), line_of(starts, max(start, end - 1)))
    uri = document_uri(document.collection, document.path)
    where = f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]}–{lines[1]}"
    return {
        "uri": uri,
        "url": with_fragment(uri, lines=lines, pages=None),
        "title": document.title,
        "citation": f"{document.path} ({where})",
        "text": text[start:end],
        "chars": [start, end],
        "lines": list(lines),
        "stale": is_stale(document),
    }


def _nearest(
    wanted: str, folded: str, offsets: list[int]
) -> tuple[float, int, int] | None:
    """Return similarity and place of the stretch that resembles the quote most.

    Stretches are tried where short pieces of the quote stand: a quote that shares none of
    them with a text is not in it in any form.
    """
    length = len(wanted)
    size = max(4, min(12, length // 4))
    places: set[int] = set()
    for begin in range(0, max(1, length - size + 1), size):
        piece = wanted[begin : begin + size]
        at = folded.find(piece)
        tries = 0
        while at >= 0 and tries < 20:
            places.add(max(0, at - begin))
            at = folded.find(piece, at + 1)
            tries += 1
    best: tuple[float, int, int] | None = None
    for place in sorted(places)[:200]:
        stretch = folded[place : place + length]
        if not stretch:
            continue
        score = difflib.SequenceMatcher(None, wanted, stretch, autojunk=False).ratio()
        if score >= _MIN_NEAREST and (best is None or score > best[0]):
            last = offsets[min(place + len(stretch), len(offsets)) - 1] + 1
            best = (score, offsets[place], last)
    return best
