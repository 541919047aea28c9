"""The text of one Word paragraph, and what is anchored in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ingest.parsers.formulas import formula_text
from ingest.parsers.xmltree import Element, attribute, child, children, local_name

# Deleted text, field instructions, phonetic guides and properties are not what readers see.
_UNSEEN = frozenset(
    {"pPr", "rPr", "delText", "instrText", "delInstrText", "del", "moveFrom", "rt", "sdtPr"}
)
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_SYMBOLS = {"F0A8": "☐", "F0FE": "☑", "F0FD": "☒", "F052": "☑", "F0FC": "✓", "F0E0": "→"}


@dataclass(slots=True)
class InlineContent:
    """What a paragraph holds.

    Attributes:
        text: As readers see it; line breaks are line feeds, tabs are tabs.
        boxes: Text boxes anchored here, each to be read like a body.
        charts: Relationship ids of charts.
        diagrams: Relationship ids of the data of diagrams.
        n_images: Pictures.
    """

    text: str = ""
    boxes: list[Element] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)
    diagrams: list[str] = field(default_factory=list)
    n_images: int = 0


class InlineReader:
    """Reads paragraphs; `note_mark` gives the mark for a note that is referred to."""

    def __init__(self, note_mark: Callable[[str, str], str]) -> None:
        self._note_mark = note_mark
        self._handlers: dict[str, Callable[[Element, InlineContent], None]] = {
            "r": self._run,
            "t": self._characters,
            "oMath": self._formula,
            "sym": self._symbol,
            "AlternateContent": self._alternatives,
            "txbxContent": self._box,
            "chart": self._chart,
            "relIds": self._diagram,
            "blip": self._picture,
            "imagedata": self._picture,
            "footnoteReference": self._note,
            "endnoteReference": self._note,
        }

    def read(self, paragraph: Element) -> InlineContent:
        """Return the content of a paragraph or of anything that holds runs."""
        content = InlineContent()
        self._below(paragraph, content)
        return content

    def _below(self, element: Element, content: InlineContent) -> None:
        for part in element:
            name = local_name(part)
            if name in _UNSEEN:
                continue
            if name in _BREAKS:
                content.text += _BREAKS[name]
                continue
            self._handlers.get(name, self._below)(part, content)

    def _run(self, run: Element, content: InlineContent) -> None:
        hidden = child(run, "rPr", "vanish")
        if hidden is None or attribute(hidden, "val") in {"0", "false"}:
            self._below(run, content)

    def _characters(self, element: Element, content: InlineContent) -> None:
        content.text += element.text or ""

    def _formula(self, element: Element, content: InlineContent) -> None:
        content.text += formula_text(element)

    def _symbol(self, element: Element, content: InlineContent) -> None:
        code = attribute(element, "char").upper()
        is_private = code.startswith("F0") or not code
        content.text += _SYMBOLS.get(code, "") if is_private else chr(int(code, 16))

    def _alternatives(self, element: Element, content: InlineContent) -> None:
        # The same text box or drawing in a new and an old form: read one of them.
        chosen = next(children(element, "Choice"), None)
        if chosen is None:
            chosen = next(children(element, "Fallback"), None)
        if chosen is not None:
            self._below(chosen, content)

    def _box(self, element: Element, content: InlineContent) -> None:
        content.boxes.append(element)

    def _chart(self, element: Element, content: InlineContent) -> None:
        content.charts.append(attribute(element, "id"))

    def _diagram(self, element: Element, content: InlineContent) -> None:
        content.diagrams.append(attribute(element, "dm"))

    def _picture(self, _: Element, content: InlineContent) -> None:
        content.n_images += 1

    def _note(self, element: Element, content: InlineContent) -> None:
        kind = local_name(element).removesuffix("Reference")
        content.text += self._note_mark(kind, attribute(element, "id"))
