"""RTF taken apart: braces, control words, control symbols and bytes of text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,40})(-?\d{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z])|([{}])|[\r\n\x00]+"
    rb"|([^\\{}\r\n\x00]+)"
)


@dataclass(frozen=True, slots=True)
class Token:
    r"""A piece of RTF.

    Attributes:
        kind: `brace`, `word`, `symbol` or `bytes`.
        name: The brace, the control word without its number, or the symbol after a `\`.
        value: The number of a control word, or None.
        content: Bytes of text; what `\'hh` stands for is one byte.
    """

    kind: str
    name: str = ""
    value: int | None = None
    content: bytes = b""


def tokens(content: bytes) -> Iterator[Token]:
    r"""Yield the tokens of a file; binary data after `\bin` is passed over."""
    at = 0
    while at < len(content):
        match = _TOKEN.match(content, at)
        if match is None:
            at += 1  # a backslash at the very end
            continue
        at = match.end()
        word, number, byte, symbol, brace, text = match.groups()
        if word is not None:
            value = int(number) if number is not None else None
            at += max(0, value or 0) if word == b"bin" else 0
            yield Token("word", word.decode("ascii"), value)
        elif brace is not None:
            yield Token("brace", brace.decode("ascii"))
        elif symbol is not None:
            yield Token("symbol", symbol.decode("latin-1"))
        elif byte is not None or text is not None:
            yield Token("bytes", content=text or bytes([int(byte, 16)]))
