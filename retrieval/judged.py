"""Judged sets as they lie in a folder: passages, spans in documents, documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kb.errors import UsageError


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """Characters that answer a question.

    Attributes:
        start: Code points into the document's text.
        end: Exclusive.
        also: Other starts of the very same words, as good as `start`.
    """

    start: int
    end: int
    also: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A judged question.

    Attributes:
        id: Of the question.
        text: What is asked.
        answerable: Whether anything in the set answers it.
        qrels: Passage id to gain, for passage sets.
        document: Path of the document that answers, for the others.
        spans: Where in that document.
        language: As the set says, or empty.
    """

    id: str
    text: str
    answerable: bool
    qrels: Mapping[str, int] = field(default_factory=dict)
    document: str = ""
    spans: tuple[GoldSpan, ...] = ()
    language: str = ""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A set to measure with.

    Attributes:
        name: Of its folder.
        kind: `passages`, `spans` or `documentation`.
        folder: Where it lies.
        queries: In the order of the file.
    """

    name: str
    kind: str
    folder: Path
    queries: tuple[Query, ...]

    def passages(self) -> Iterator[tuple[str, str, str]]:
        """Yield id, title and text of each passage of a passage set."""
        for record in _lines(self.folder / "corpus.jsonl"):
            yield str(record["_id"]), str(record.get("title") or ""), str(record["text"])


def load_judged(folder: Path) -> JudgedSet:
    """Read the questions of a set.

    Raises:
        UsageError: The folder has none of the known layouts.
    """
    if not (folder / "queries.jsonl").is_file():
        raise UsageError(
            f"{folder} has no queries.jsonl",
            hint="A judged set has queries.jsonl with corpus.jsonl and qrels/test.tsv (BEIR), "
            "or with documents/.",
        )
    records = list(_lines(folder / "queries.jsonl"))
    if (folder / "corpus.jsonl").is_file():
        qrels = _qrels(folder / "qrels" / "test.tsv")
        queries = tuple(
            Query(
                id=str(record["_id"]),
                text=str(record["text"]),
                answerable=bool(record.get("answerable", str(record["_id"]) in qrels)),
                qrels=qrels.get(str(record["_id"]), {}),
                language=str(record.get("lang", "")),
            )
            for record in records
        )
        return JudgedSet(folder.name, "passages", folder, queries)
    if not (folder / "documents").is_dir():
        raise UsageError(
            f"{folder} has neither corpus.jsonl nor documents/",
            hint="A judged set has one of the two beside queries.jsonl.",
        )
    is_documentation = any("answerable" in record for record in records)
    kind = "documentation" if is_documentation else "spans"
    return JudgedSet(folder.name, kind, folder, tuple(map(_document_query, records)))


def _document_query(record: Mapping[str, object]) -> Query:
    spans = record.get("spans")
    gold = tuple(
        GoldSpan(int(span["start"]), int(span["end"]), tuple(map(int, span.get("also") or ())))
        for span in (spans if isinstance(spans, list) else [])
    )
    return Query(
        id=str(record["_id"]),
        text=str(record["text"]),
        answerable=bool(record.get("answerable", True)),
        document=str(record.get("document") or ""),
        spans=gold,
        language=str(record.get("lang", "")),
    )


def _lines(path: Path) -> Iterator[dict[str, object]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    try:
                        yield json.loads(line)
                    except ValueError as error:
                        raise UsageError(
                            f"{path.name}, line {number} is no JSON", hint="Mend that line."
                        ) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()[1:]
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}",
            hint="A passage set has qrels/test.tsv: a header, then query-id, corpus-id, score.",
        ) from error
    for line in lines:
        parts = line.split("\t")
        if len(parts) == 3:
            found.setdefault(parts[0], {})[parts[1]] = int(parts[2])
    return found
