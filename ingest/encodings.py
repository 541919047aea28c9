"""Bytes to text: BOM, UTF-8, else the legacy encoding whose common characters fit best."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass

LOSSY_SHARE = 0.02
"""Up to this share of broken bytes a text still counts as UTF-8 with damage."""

SURE = 0.6
_SAMPLE = 60_000
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text with the encoding it was read by.

    Attributes:
        text: Not yet normalised; no BOM.
        encoding: Python's name of it.
        n_replaced: Characters that could not be decoded.
        sure: Whether the encoding was given or fits well.
    """

    text: str
    encoding: str
    n_replaced: int = 0
    sure: bool = True


def decode(content: bytes, *, declared: str | None = None) -> Decoded:
    """Decode a text file.

    Args:
        content: The whole file.
        declared: What the file itself says, such as an HTML charset; tried after UTF-8.
    """
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return _lossy(content[len(bom) :] if encoding == "utf-8" else content, encoding)
    wide = _wide_encoding(content)
    if wide:
        return _lossy(content, wide)
    try:
        return Decoded(content.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        pass
    if declared and (text := _strict(content, declared)) is not None:
        return Decoded(text, declared.lower())
    damaged = _lossy(content, "utf-8")
    n_multibyte = sum(ord(char) > 127 for char in damaged.text[:_SAMPLE]) - damaged.n_replaced
    if damaged.n_replaced <= LOSSY_SHARE * len(damaged.text) and n_multibyte > damaged.n_replaced:
        return damaged
    return _best_legacy(content)


def looks_binary(head: bytes) -> bool:
    """Return whether the beginning of a file is no text in any encoding."""
    if not head or head.startswith(tuple(bom for bom, _ in _BOMS)) or _wide_encoding(head):
        return False
    if b"\x00" in head:
        return True
    n_controls = sum(byte < 32 and byte not in b"\t\n\r\f\x1b\x08" for byte in head)
    return n_controls > 0.05 * len(head)


def _wide_encoding(content: bytes) -> str:
    """Return the kind of UTF-16 without BOM, told by where the zero bytes of ASCII stand."""
    sample = content[:4_000]
    if len(sample) < 8 or b"\x00" not in sample or len(content) % 2:
        return ""
    half = len(sample) // 2
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > 0.3 * half and even < 0.02 * half:
        return "utf-16-le"
    if even > 0.3 * half and odd < 0.02 * half:
        return "utf-16-be"
    return ""


def _strict(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _lossy(content: bytes, encoding: str) -> Decoded:
    text = content.decode(encoding, "replace")
    already = content.count("\ufffd".encode()) if encoding == "utf-8" else 0
    return Decoded(text, encoding, n_replaced=max(0, text.count("\ufffd") - already))


def _best_legacy(content: bytes) -> Decoded:
    best, best_score = _lossy(content, "cp1252"), -1.0
    for encoding, commonness in _CANDIDATES:
        decoded = _lossy(content, encoding)
        strange = [char for char in decoded.text[:_SAMPLE] if ord(char) > 127]
        if not strange:
            continue
        score = sum(map(commonness, strange)) / len(strange)
        # One broken byte among thousands is damage; many say that it is another encoding.
        score -= 20 * decoded.n_replaced / len(strange)
        if score > best_score:
            best, best_score = decoded, score
    return Decoded(best.text, best.encoding, best.n_replaced, sure=best_score >= SURE)


def _in_rows(encoding: str, first: int, last: int) -> Callable[[str], bool]:
    def holds(char: str) -> bool:
        try:
            return first <= char.encode(encoding)[0] <= last
        except UnicodeEncodeError:
            return False

    return holds


# The first level of each standard holds the characters that make up nearly all of a text.
_GB_COMMON = _in_rows("gb2312", 0xB0, 0xD7)
_GB_MARKS = _in_rows("gb2312", 0xA1, 0xA9)
_BIG5_COMMON = _in_rows("big5", 0xA4, 0xC6)
_JIS_COMMON = _in_rows("shift_jis", 0x88, 0x97)
_KOREAN_MARKS = _in_rows("euc_kr", 0xA1, 0xA3)
_CJK_MARKS = re.compile("[\u3000-\u303f\uff00-\uff60]")
_TYPOGRAPHY = frozenset("“”‘’–—…•·©®™°±²³µ§«»€£¥¼½¾×÷¿¡\u00a0")


def _simplified(char: str) -> float:
    return 1.0 if _GB_COMMON(char) else 0.8 if _GB_MARKS(char) else 0.1


def _traditional(char: str) -> float:
    if _CJK_MARKS.match(char):
        return 0.8
    return 0.95 if _BIG5_COMMON(char) else 0.1


def _japanese(char: str) -> float:
    if "\u3041" <= char <= "\u30ff":
        return 1.0
    if "\uff61" <= char <= "\uff9f":
        return -0.5  # half-width kana are what other encodings look like through this one
    return 0.9 if _JIS_COMMON(char) else 0.8 if _CJK_MARKS.match(char) else 0.1


def _korean(char: str) -> float:
    return 1.0 if "\uac00" <= char <= "\ud7a3" else 0.8 if _KOREAN_MARKS(char) else 0.1


def _western(char: str) -> float:
    if char in _TYPOGRAPHY:
        return 0.75
    return 0.7 if char.islower() else 0.3 if char.isalpha() else 0.0


_CANDIDATES: tuple[tuple[str, Callable[[str], float]], ...] = (
    ("gb18030", _simplified),
    ("big5", _traditional),
    ("shift_jis", _japanese),
    ("euc_kr", _korean),
    ("cp1252", _western),
)
