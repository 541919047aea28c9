"""Rules about characters: normalisation, sizes, scripts, lines and sentences."""

from __future__ import annotations

import bisect
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U000323af"
)
_KANA = "\u3041-\u309f\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"
_CJK_MARKS = "\u3000-\u3004\u3008-\u3020\u3030-\u303f\uff00-\uff65\uffe0-\uffe6"

CJK_CLASS = f"{_HAN}{_KANA}{_HANGUL}{_CJK_MARKS}"
"""Inside `[…]` of a regular expression: what counts as one CJK character."""

SCRIPTS = ("han", "latin", "kana", "hangul", "cyrillic", "arabic", "other")

_CJK = re.compile(f"[{CJK_CLASS}]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_SCRIPT_SAMPLE = 4_000
_SCRIPT_CLASSES = {
    "han": re.compile(f"[{_HAN}]"),
    "kana": re.compile(f"[{_KANA}]"),
    "hangul": re.compile(f"[{_HANGUL}]"),
    "latin": re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"),
    "cyrillic": re.compile("[\u0400-\u052f]"),
    "arabic": re.compile("[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefe]"),
}
# One Han character says about as much as three letters; a Chinese sentence full of product
# names stays Chinese.
_WEIGHTS = {"han": 3.0, "kana": 3.0, "hangul": 3.0}


def normalize_source(text: str) -> str:
    """Return a source's text as it is stored: no BOM, line feeds only, no NUL, no surrogates."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\x00", "\ufffd")
    return _SURROGATES.sub("\ufffd", text)


def is_cjk(char: str) -> bool:
    """Return whether a character counts as one CJK character."""
    return _CJK.match(char) is not None


def n_cjk(text: str) -> int:
    """Return how many CJK characters a text has."""
    return len(text) - len(_CJK.sub("", text)) if not text.isascii() else 0


def units(text: str) -> float:
    """Return a text's size in chunking units: 1 per CJK character, 1/3 per other."""
    cjk = n_cjk(text)
    return cjk + (len(text) - cjk) / 3


def budget_tokens(text: str) -> int:
    """Return a text's size in budget tokens: 1 per CJK character, 1 per started 3 others."""
    cjk = n_cjk(text)
    return cjk + -(-(len(text) - cjk) // 3)


def dominant_script(text: str) -> str:
    """Return the script that most of a text is in, one of `SCRIPTS`.

    A text with a real share of kana is Japanese whatever its Han; at most the first
    thousands of characters are looked at.
    """
    sample = text[:_SCRIPT_SAMPLE]
    if sample.isascii():
        return "latin" if _SCRIPT_CLASSES["latin"].search(sample) else "other"
    weights = {
        script: len(pattern.findall(sample)) * _WEIGHTS.get(script, 1.0)
        for script, pattern in _SCRIPT_CLASSES.items()
    }
    if weights["kana"] and weights["kana"] >= 0.15 * weights["han"]:
        weights["kana"] += weights["han"]
        weights["han"] = 0.0
    script, weight = max(weights.items(), key=lambda pair: pair[1])
    return script if weight else "other"


def collapse_whitespace(text: str) -> str:
    """Return a text with each run of whitespace as one space, none at the ends."""
    return " ".join(text.split())


def content_hash(content: bytes) -> str:
    """Return the sha-256 of bytes in hex."""
    return hashlib.sha256(content).hexdigest()


def line_starts(text: str) -> list[int]:
    """Return where each line begins; lines end at line feeds only."""
    starts = [0]
    at = text.find("\n")
    while at >= 0 and at + 1 < len(text):
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def line_of(starts: Sequence[int], offset: int) -> int:
    """Return the 1-based line of an offset."""
    return max(1, bisect.bisect_right(starts, offset))


# Sentences. A candidate end is a run of enders with closing marks, or a line that ends a
# paragraph, a list item or a table row.
_CLOSERS = "\"'”’」』）)】》〉］\\]"
_END = re.compile(
    rf"(?:[。！？；…｡]+[{_CLOSERS}]*)|(?:(?<![.?!])[.?!]++[{_CLOSERS}]*+(?=\s))|(?:\n(?=[^\S\n]*\n))"
    rf"|(?:\n(?=[ \t]*(?:[-*+•]|\d{{1,9}}[.)])[ \t]))|(?:\n(?=[ \t]*\|))"
    rf"|(?:(?<=\|)[ \t]*\n)|(?:\n(?=[ \t]*(?:#{{1,6}}[ \t]|>|```|~~~)))"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[“\"'])(?:[A-Za-z]|Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|Inc|Ltd|Co|Corp|vs|etc|e\.g|i\.e|cf|al"
    r"|Fig|fig|No|no|Vol|vol|pp|Eq|eq|Ref|Sec|approx|dept|est|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep"
    r"|Sept|Oct|Nov|Dec|U\.S|U\.K)\.\Z"
)
_STARTS_SENTENCE = re.compile(
    rf"[\"'“‘(\[*_`<#]*(?:[A-Z0-9\u00c0-\u00de\u0400-\u042f]|[{CJK_CLASS}])"
)
_ABBREVIATION_REACH = 12


def sentences(text: str) -> list[tuple[int, int]]:
    """Return contiguous spans `[start, end)` that cover a text, a sentence each.

    Chinese sentences end at `。！？；…` with what closes them; English ones at `. ? !`
    before a space and a capital or a CJK character, but not after initials and common
    abbreviations, nor inside numbers. A list item and a table row end where the next begins.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if end <= start or not _is_end(text, match.start(), end):
            continue
        end = _past_spaces(text, end)
        if not text[start:end].strip():
            continue
        spans.append((start, end))
        start = end
    if start < len(text):
        if text[start:].strip() or not spans:
            spans.append((start, len(text)))
        else:
            spans[-1] = (spans[-1][0], len(text))
    return spans


def last_sentences(text: str, *, most: float) -> str:
    """Return whole sentences from the end of a text, at most so many units; never all of it."""
    # Only the tail can matter; a sentence that begins before it is too long anyway.
    tail_from = max(0, len(text) - int(most * 6) - 1)
    tail = text[tail_from:]
    chosen = len(tail)
    size = 0.0
    for start, end in reversed(sentences(tail)):
        size += units(tail[start:end])
        if size > most or (start == 0 and tail_from):
            break
        chosen = start
    found = tail[chosen:]
    return found if found.strip() and len(found) < len(text) else ""


def _is_end(text: str, mark: int, end: int) -> bool:
    if text[mark] not in ".?!":
        return True
    if text[mark] == "." and _ABBREVIATION.search(
        text, max(0, mark - _ABBREVIATION_REACH), mark + 1
    ):
        return False
    after = _past_spaces(text, end)
    return after >= len(text) or _STARTS_SENTENCE.match(text, after) is not None


def _past_spaces(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\u3000\n":
        at += 1
    return at


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    return unicodedata.normalize("NFKC", char).casefold()


def folded_with_offsets(text: str) -> tuple[str, list[int]]:
    """Return a text folded for comparing, and each folded character's place in the original.

    Width, case and compatibility forms are folded; a run of whitespace is one space, and
    none where both neighbours are CJK, since layouts put such spaces there.
    """
    characters: list[str] = []
    offsets: list[int] = []
    pending = False
    for at, char in enumerate(text):
        if char.isspace():
            pending = True
            continue
        if pending and characters and not (is_cjk(characters[-1]) and is_cjk(char)):
            characters.append(" ")
            offsets.append(at - 1)
        pending = False
        for folded in _fold_char(char):
            characters.append(folded)
            offsets.append(at)
    return "".join(characters), offsets


def fold(text: str) -> str:
    """Return a text folded for comparing; see `folded_with_offsets`."""
    return folded_with_offsets(text)[0]
