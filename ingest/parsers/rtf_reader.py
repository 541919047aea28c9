"""A walker over RTF: groups, destinations, code pages and Unicode escapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ingest.parsers.rtf_fonts import Fonts
from ingest.parsers.rtf_layout import RtfLayout
from ingest.parsers.rtf_tokens import tokens

_CHARACTERS = {
    "tab": "\t",
    "line": "\n",
    "emdash": "—",
    "endash": "–",
    "emspace": "\u2003",
    "enspace": "\u2002",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "bullet": "•",
}
_SYMBOLS = {"~": "\u00a0", "_": "-", "\t": "\t"}
_SINKS = {
    **dict.fromkeys(("colortbl", "stylesheet", "filetbl", "fldinst", "formfield"), "skip"),
    **dict.fromkeys(("nonshppict", "shprslt", "sp", "xe", "rxe", "tc", "nonesttables"), "skip"),
    **dict.fromkeys(("ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn"), "skip"),
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), "header"),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), "footer"),
    "pict": "skip",
    "upr": "upr",
    "info": "info",
    "title": "title",
    "author": "author",
    "creatim": "created",
    "fonttbl": "fonts",
    "footnote": "note",
    "listtext": "label",
    "pntext": "label",
}
_IN_INFO = frozenset({"title", "author", "creatim"})
# Destinations marked as ignorable that hold text all the same: shapes, formulas, pictures.
_NOT_IGNORED = frozenset({"shpinst", "shppict", "ud", "moMath", "moMathPara"})
_CODE_PAGES = {"pc": 437, "pca": 850, "mac": 10000}
_DATE_PARTS = frozenset({"yr", "mo", "dy", "hr", "min"})


@dataclass(slots=True)
class _Group:
    """What an opening brace saves and a closing one brings back."""

    sink: str = "body"
    font: int = -1
    n_fallback: int = 1
    is_hidden: bool = False
    outline: int | None = None
    in_table: bool = False
    level: int = 0


class RtfReader:
    """Reads one document into a layout.

    Attributes:
        date: Parts of the time of creation by their control word.
        n_images: Pictures met.
        n_open: Groups that were never closed: the end of the file is missing.
    """

    def __init__(self, layout: RtfLayout) -> None:
        self._layout = layout
        self._fonts = Fonts()
        self._default_font = -1
        self._group = _Group()
        self._stack: list[_Group] = []
        self._pending = bytearray()
        self._n_to_skip = 0
        self._is_starred = False
        self._words = self._handlers()
        self.date: dict[str, int] = {}
        self.n_images = 0
        self.n_open = 0

    def read(self, content: bytes) -> None:
        """Read a whole file; what follows its outermost group is left aside."""
        for token in tokens(content):
            if token.kind == "word":
                self._word(token.name, token.value)
            elif token.kind == "brace":
                self._brace(token.name)
                if not self._stack:
                    break
            elif token.kind == "symbol":
                self._symbol(token.name)
            else:
                self._bytes(token.content)
        self._flush()
        self.n_open = len(self._stack)
        self._layout.finish()

    def _brace(self, brace: str) -> None:
        self._flush()
        self._n_to_skip = 0
        self._is_starred = False
        if brace == "{":
            self._stack.append(self._group)
            self._group = replace(self._group)
        elif self._stack:
            closed, self._group = self._group, self._stack.pop()
            if closed.sink != self._group.sink:
                self._layout.close(closed.sink)

    def _bytes(self, content: bytes) -> None:
        self._is_starred = False
        if self._n_to_skip:
            n_skipped = min(self._n_to_skip, len(content))
            self._n_to_skip -= n_skipped
            content = content[n_skipped:]
        self._pending += content

    def _flush(self) -> None:
        """Decode the bytes so far; the two bytes of a character may be written apart."""
        if self._pending:
            content = bytes(self._pending)
            self._pending.clear()
            self._put(self._fonts.decode(content, self._group.font))

    def _put(self, text: str) -> None:
        if not self._group.is_hidden:
            self._layout.put(self._group.sink, text)

    def _symbol(self, symbol: str) -> None:
        if symbol == "*":
            self._is_starred = True
        elif self._n_to_skip:
            self._n_to_skip -= 1
        elif symbol in "\\{}":
            self._bytes(symbol.encode("ascii"))
        else:
            self._flush()
            if symbol in "\r\n":
                self._end_paragraph(None)
            else:
                self._put(_SYMBOLS.get(symbol, ""))

    def _word(self, word: str, value: int | None) -> None:
        if word in _CHARACTERS and self._n_to_skip:
            self._n_to_skip -= 1  # a fallback for readers without Unicode
            return
        self._flush()
        self._n_to_skip = 0
        is_starred, self._is_starred = self._is_starred, False
        if self._group.sink == "skip":
            return
        if is_starred and word not in _NOT_IGNORED and word not in _SINKS:
            self._group.sink = "skip"
        elif self._group.sink == "created" and word in _DATE_PARTS:
            self.date[word] = value or 0
        elif word in _SINKS:
            self._open(word)
        elif word in _CHARACTERS:
            self._put(_CHARACTERS[word])
        elif word in self._words:
            self._words[word](value)

    def _open(self, word: str) -> None:
        if word in _IN_INFO and self._group.sink != "info":
            return
        if word == "footnote" and self._group.sink == "body":
            self._layout.open_note()
        self.n_images += word == "pict"
        self._group.sink = _SINKS[word]

    def _handlers(self) -> Mapping[str, Callable[[int | None], None]]:
        return {
            **{word: self._sets_code_page(page) for word, page in _CODE_PAGES.items()},
            "ansicpg": self._ansi_code_page,
            "deff": self._set_default_font,
            "f": self._set_font,
            "fcharset": self._charset,
            "cpg": self._font_code_page,
            "plain": self._plain,
            "pard": self._plain_paragraph,
            "v": self._hide,
            "deleted": self._hide,
            "u": self._unicode,
            "uc": self._fallback,
            "ud": self._unicode_form,
            "outlinelevel": self._outline,
            "ilvl": self._list_level,
            "intbl": self._table_paragraph,
            "par": self._end_paragraph,
            "sect": self._end_paragraph,
            "page": self._end_paragraph,
            "cell": self._end_cell,
            "nestcell": lambda _: self._put(" "),
            "nestrow": lambda _: self._put(" "),
            "row": self._end_row,
        }

    def _sets_code_page(self, code_page: int) -> Callable[[int | None], None]:
        return lambda _: self._ansi_code_page(code_page)

    def _ansi_code_page(self, value: int | None) -> None:
        self._fonts.code_page = value or 1252

    def _set_default_font(self, value: int | None) -> None:
        self._default_font = self._group.font = value or 0

    def _set_font(self, value: int | None) -> None:
        self._group.font = value or 0

    def _charset(self, value: int | None) -> None:
        if self._group.sink == "fonts":
            self._fonts.set_charset(self._group.font, value or 0)

    def _font_code_page(self, value: int | None) -> None:
        if self._group.sink == "fonts" and value:
            self._fonts.set_code_page(self._group.font, value)

    def _plain(self, _: int | None) -> None:
        self._group.font = self._default_font
        self._group.is_hidden = False

    def _plain_paragraph(self, _: int | None) -> None:
        self._group.outline = None
        self._group.in_table = False
        self._group.level = 0

    def _hide(self, value: int | None) -> None:
        self._group.is_hidden = value != 0

    def _unicode(self, value: int | None) -> None:
        self._put(chr((value or 0) % 65_536))
        self._n_to_skip = self._group.n_fallback

    def _fallback(self, value: int | None) -> None:
        self._group.n_fallback = max(0, value if value is not None else 1)

    def _unicode_form(self, _: int | None) -> None:
        # Of `{\upr{bytes}{\*\ud{Unicode}}}` the second form is the exact one.
        self._group.sink = self._stack[-2].sink if len(self._stack) > 1 else "body"

    def _outline(self, value: int | None) -> None:
        self._group.outline = value if value is not None and 0 <= value < 9 else None

    def _list_level(self, value: int | None) -> None:
        self._group.level = value or 0

    def _table_paragraph(self, value: int | None) -> None:
        self._group.in_table = value != 0

    def _end_paragraph(self, _: int | None) -> None:
        if self._group.sink != "body" or self._group.in_table:
            self._put("\n")
        else:
            self._layout.end_paragraph(outline=self._group.outline, level=self._group.level)

    def _end_cell(self, _: int | None) -> None:
        if self._group.sink == "body":
            self._layout.end_cell()
        else:
            self._put(" ")

    def _end_row(self, _: int | None) -> None:
        if self._group.sink == "body":
            self._layout.end_row()
        else:
            self._put("\n")
