"""Traditional Chinese characters folded to Simplified ones, so that both spellings meet."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")


@lru_cache(maxsize=1)
def _table() -> dict[int, str]:
    """Read OpenCC's character table (Apache-2.0), the first choice of each character."""
    source = files("opencc").joinpath("dictionary", "TSCharacters.txt")
    table: dict[int, str] = {}
    for line in source.read_text(encoding="utf-8").splitlines():
        traditional, _, simplified = line.partition("\t")
        first = simplified.split(" ")[0] if simplified else ""
        if len(traditional) == 1 and len(first) == 1 and traditional != first:
            table[ord(traditional)] = first
    return table


def simplify(text: str) -> str:
    """Return a text with each Traditional character replaced; its length does not change."""
    if text.isascii() or _HAN.search(text) is None:
        return text
    return text.translate(_table())
