"""Which encoding the bytes of an RTF text are in: by font, else by the document's code page."""

from __future__ import annotations

import codecs

_CODE_PAGE_OF_CHARSET = {
    77: 10000,
    128: 932,
    129: 949,
    130: 1361,
    134: 936,
    136: 950,
    161: 1253,
    162: 1254,
    163: 1258,
    177: 1255,
    178: 1256,
    186: 1257,
    204: 1251,
    222: 874,
    238: 1250,
    254: 437,
    255: 850,
}
_CODECS = {936: "gb18030", 1361: "johab", 10000: "mac_roman", 65001: "utf-8"}
_TWO_BYTES = frozenset({932, 936, 949, 950, 1361})
_WESTERN = "cp1252"


class Fonts:
    r"""The fonts of a document by their number.

    Attributes:
        code_page: Of the document (`\ansicpg`), for fonts that do not say theirs.
    """

    def __init__(self) -> None:
        self.code_page = 1252
        self._code_pages: dict[int, int] = {}
        self._western: set[int] = set()

    def set_charset(self, font: int, charset: int) -> None:
        r"""Note what `\fcharset` says of a font; a code page said outright goes before it."""
        if charset in _CODE_PAGE_OF_CHARSET:
            self._code_pages.setdefault(font, _CODE_PAGE_OF_CHARSET[charset])
        elif charset == 0:
            self._western.add(font)

    def set_code_page(self, font: int, code_page: int) -> None:
        r"""Note what `\cpg` says of a font."""
        self._code_pages[font] = code_page

    def decode(self, content: bytes, font: int) -> str:
        """Return bytes written in a font as text; what is broken becomes U+FFFD."""
        if content.isascii():
            return content.decode("ascii")
        code_page = self._code_pages.get(font)
        if code_page is None and font in self._western and self.code_page not in _TWO_BYTES:
            code_page = 1252
        if code_page is not None:
            return content.decode(_codec(code_page), errors="replace")
        try:
            # Chinese systems also write Chinese in fonts that claim to be Western.
            return content.decode(_codec(self.code_page))
        except UnicodeDecodeError:
            return content.decode(_WESTERN, errors="replace")


def _codec(code_page: int) -> str:
    name = _CODECS.get(code_page, f"cp{code_page}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return _WESTERN
