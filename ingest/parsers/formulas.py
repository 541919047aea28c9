"""Office formulas (OMML) in one line of text."""

from __future__ import annotations

from ingest.parsers.xmltree import Element, attribute, child, children, local_name

_NO_TEXT = frozenset(
    {"rPr", "ctrlPr", "fPr", "dPr", "naryPr", "radPr", "sSupPr", "sSubPr", "accPr", "mPr"}
)


def formula_text(element: Element) -> str:
    """Return a formula as people type it: `(a+b)/(2c)`, `x^2`, `√(b^2-4ac)`, `∑_{i=1}^{n}`.

    What has no such form comes out as its characters in order.
    """
    name = local_name(element)
    if name == "t":
        return str(element.text or "")
    written = _WRITERS.get(name)
    if written is not None:
        return written(element)
    return "".join(formula_text(part) for part in element if local_name(part) not in _NO_TEXT)


def _of(element: Element, name: str) -> str:
    part = child(element, name)
    return "" if part is None else formula_text(part)


def _grouped(text: str, marks: str = "()") -> str:
    return text if len(text) <= 1 or text.isalnum() else marks[0] + text + marks[1]


def _fraction(element: Element) -> str:
    return f"{_grouped(_of(element, 'num'))}/{_grouped(_of(element, 'den'))}"


def _scripts(element: Element) -> str:
    written = _of(element, "e")
    for name, mark in (("sub", "_"), ("sup", "^")):
        script = _of(element, name)
        if script:
            written += mark + (script if len(script) == 1 else "{" + script + "}")
    return written


def _root(element: Element) -> str:
    return f"{_of(element, 'deg')}√{_grouped(_of(element, 'e'))}"


def _nary(element: Element) -> str:
    sign = attribute(child(element, "naryPr", "chr"), "val", "∫")
    limits = "".join(
        mark + "{" + _of(element, name) + "}"
        for name, mark in (("sub", "_"), ("sup", "^"))
        if _of(element, name)
    )
    return f"{sign}{limits} {_of(element, 'e')}"


def _delimited(element: Element) -> str:
    marks = child(element, "dPr")
    opening = attribute(child(marks, "begChr"), "val", "(")
    closing = attribute(child(marks, "endChr"), "val", ")")
    separator = attribute(child(marks, "sepChr"), "val", "|")
    return opening + separator.join(formula_text(e) for e in children(element, "e")) + closing


def _matrix(element: Element) -> str:
    rows = (
        ", ".join(formula_text(e) for e in children(row, "e")) for row in children(element, "mr")
    )
    return "[" + "; ".join(rows) + "]"


_WRITERS = {
    "f": _fraction,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "rad": _root,
    "nary": _nary,
    "d": _delimited,
    "m": _matrix,
}
