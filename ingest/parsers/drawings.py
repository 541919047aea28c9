"""Charts and diagrams, which Word and PowerPoint files keep in parts of their own."""

from __future__ import annotations

from ingest.parsers.numbers import shown_cache
from ingest.parsers.xmltree import Element, attribute, child, descendants

_Points = dict[int, str]


def drawing_text(element: Element | None) -> str:
    """Return the text of a shape: runs joined, paragraphs a space apart."""
    if element is None:
        return ""
    paragraphs = (
        "".join(run.text or "" for run in descendants(paragraph, "t"))
        for paragraph in descendants(element, "p")
    )
    return " ".join(text.strip() for text in paragraphs if text.strip())


def chart_title(chart_space: Element) -> str:
    """Return the title of a chart, empty when it has none of its own."""
    return drawing_text(child(chart_space, "chart", "title"))


def chart_tables(chart_space: Element) -> list[list[list[str]]]:
    """Return a chart's data: a table for all series over the same categories.

    The first row names the series, the first column the categories (the x values of a
    scatter chart). Values are those that the file keeps beside its embedded workbook.
    """
    grouped: dict[tuple[tuple[int, str], ...], list[tuple[str, _Points]]] = {}
    for series in descendants(chart_space, "ser"):
        categories = _points(child(series, "cat"))
        if not categories:
            categories = _points(child(series, "xVal"))
        values = _points(child(series, "val"))
        if not values:
            values = _points(child(series, "yVal"))
        name = " ".join(_points(child(series, "tx")).values())
        key = tuple(sorted(categories.items()))
        grouped.setdefault(key, []).append((name, values))
    return [_table(dict(key), members) for key, members in grouped.items()]


def _table(categories: _Points, members: list[tuple[str, _Points]]) -> list[list[str]]:
    numbers = sorted(set(categories).union(*(values for _, values in members)))
    table = [["", *(name for name, _ in members)]]
    table += [
        [categories.get(at, str(at + 1)), *(values.get(at, "") for _, values in members)]
        for at in numbers
    ]
    return table


def _points(reference: Element | None) -> _Points:
    """Return the cached values of a reference by their index."""
    if reference is None:
        return {}
    levels = list(descendants(reference, "lvl")) or [reference]
    found: _Points = {}
    # The levels of nested categories stand innermost first; readers want the outermost first.
    for level in reversed(levels):
        number_format = next((code.text or "" for code in descendants(level, "formatCode")), "")
        for point in descendants(level, "pt"):
            value = child(point, "v")
            text = shown_cache((value.text or "") if value is not None else "", number_format)
            at = int(attribute(point, "idx", "0"))
            found[at] = f"{found[at]} {text}" if at in found else text
    if not found:
        literal = child(reference, "v")
        return {} if literal is None else {0: literal.text or ""}
    return found


def diagram_entries(data_model: Element) -> list[tuple[int, str]]:
    """Return the entries of a SmartArt diagram with their depth (0 the outermost), in order."""
    texts: dict[str, str] = {}
    roots: list[str] = []
    for point in descendants(data_model, "pt"):
        kind, name = attribute(point, "type", "node"), attribute(point, "modelId")
        if kind == "doc":
            roots.append(name)
        elif kind in {"node", "asst"}:
            texts[name] = drawing_text(child(point, "t"))
    below: dict[str, list[tuple[int, str]]] = {}
    for connection in descendants(data_model, "cxn"):
        if attribute(connection, "type", "parOf") == "parOf":
            order = int(attribute(connection, "srcOrd", "0"))
            below.setdefault(attribute(connection, "srcId"), []).append(
                (order, attribute(connection, "destId"))
            )
    return _below(roots, below, texts)


def _below(
    roots: list[str], below: dict[str, list[tuple[int, str]]], texts: dict[str, str]
) -> list[tuple[int, str]]:
    entries: list[tuple[int, str]] = []
    waiting = [(-1, root) for root in reversed(roots)]
    seen: set[str] = set()
    while waiting:
        depth, name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if texts.get(name):
            entries.append((max(0, depth), texts[name]))
        waiting += [(depth + 1, to) for _, to in sorted(below.get(name, ()), reverse=True)]
    entries += [(0, text) for name, text in texts.items() if text and name not in seen]
    return entries
