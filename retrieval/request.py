"""A search request and its result, in the one shape that every face gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kb.errors import UsageError
from kb.text import budget_tokens, normalize_source

MODES = ("hybrid", "lexical", "dense")
MAX_K = 1_000
MAX_QUERY_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is asked.

    Attributes:
        query: A question or words.
        k: How many results at most.
        mode: `hybrid`, `lexical` or `dense`.
        rerank: Whether to rerank; None for the collection's default.
        min_relevance: Threshold, 0..1; 0 lets everything pass.
        max_tokens: Budget of the whole answer in budget tokens, or None.
        path: Glob over document paths, or None.
        where: Metadata that must hold.
        explain: Whether to say why, and why not.
        fold: Whether identical texts become one result.
    """

    query: str
    k: int = 5
    mode: str = "hybrid"
    rerank: bool | None = None
    min_relevance: float = 0.35
    max_tokens: int | None = None
    path: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    explain: bool = False
    fold: bool = True

    def checked(self, *, max_query_characters: int = MAX_QUERY_CHARACTERS) -> SearchRequest:
        """Return the request with its query normalised.

        Raises:
            UsageError: A value is out of its range.
        """
        query = normalize_source(self.query).strip()
        checks = (
            (bool(query), "the query is empty", "Ask a question or give some words."),
            (
                len(query) <= max_query_characters,
                f"the query has {len(query):,} characters",
                f"At most {max_query_characters:,} are searched.",
            ),
            (1 <= self.k <= MAX_K, f"k = {self.k} is out of range", f"Use 1 to {MAX_K}."),
            (self.mode in MODES, f"unknown mode {self.mode!r}", f"Use one of {', '.join(MODES)}."),
            (
                0 <= self.min_relevance <= 1,
                f"min_relevance = {self.min_relevance} is out of range",
                "Use 0 to 1.",
            ),
            (
                self.max_tokens is None or self.max_tokens >= 1,
                f"max_tokens = {self.max_tokens} is out of range",
                "Use 1 or more.",
            ),
        )
        for holds, message, hint in checks:
            if not holds:
                raise UsageError(message, code="search", hint=hint)
        return SearchRequest(
            query=query,
            k=self.k,
            mode=self.mode,
            rerank=self.rerank,
            min_relevance=self.min_relevance,
            max_tokens=self.max_tokens,
            path=self.path,
            where=self.where,
            explain=self.explain,
            fold=self.fold,
        )


@dataclass(frozen=True, slots=True)
class Focus:
    """The sentence, list item or table row of a passage that answers best."""

    chars: tuple[int, int]
    lines: tuple[int, int]
    pages: tuple[int, int] | None

    def to_json(self) -> dict[str, object]:
        """Return the contract's object."""
        return {
            "chars": list(self.chars),
            "lines": list(self.lines),
            "pages": list(self.pages) if self.pages else None,
        }


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One cited passage; fields as the contract names them."""

    id: str
    uri: str
    title: str
    text: str
    citation: str
    focus: Focus
    headings: tuple[str, ...]
    lines: tuple[int, int]
    chars: tuple[int, int]
    pages: tuple[int, int] | None
    relevance: float | None
    scores: Mapping[str, float | None]
    also_in: tuple[str, ...]
    metadata: Mapping[str, object]
    source: str | None
    indexed_at: str
    stale: bool
    explain: Mapping[str, object] | None = None

    @property
    def tokens(self) -> int:
        """Size of the passage's text in budget tokens."""
        return budget_tokens(self.text)

    def to_json(self) -> dict[str, object]:
        """Return the contract's object."""
        found: dict[str, object] = {
            "id": self.id,
            "uri": self.uri,
            "title": self.title,
            "text": self.text,
            "citation": self.citation,
            "focus": self.focus.to_json(),
            "headings": list(self.headings),
            "lines": list(self.lines),
            "chars": list(self.chars),
            "pages": list(self.pages) if self.pages else None,
            "relevance": self.relevance,
            "scores": dict(self.scores),
            "also_in": list(self.also_in),
            "metadata": dict(self.metadata),
            "source": self.source,
            "indexed_at": self.indexed_at,
            "stale": self.stale,
            "tokens": self.tokens,
        }
        if self.explain is not None:
            found["explain"] = dict(self.explain)
        return found


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to a request.

    Attributes:
        query: As it was searched.
        collections: Names of those searched.
        answerable: False when nothing reaches the threshold; None when nothing could be judged.
        min_relevance: The threshold used.
        request_id: Names this search in logs and traces.
        hits: Best first.
        degraded: What did not take part, and why.
        omitted: Counts of candidates left out, by reason.
        timings_ms: Milliseconds by stage.
        dropped: With `explain`, candidates left out with the reason.
    """

    query: str
    collections: tuple[str, ...]
    answerable: bool | None
    min_relevance: float
    request_id: str
    hits: tuple[SearchHit, ...]
    degraded: tuple[str, ...]
    omitted: Mapping[str, int]
    timings_ms: Mapping[str, float]
    dropped: tuple[Mapping[str, object], ...] | None = None

    def to_json(self) -> dict[str, object]:
        """Return the contract's object."""
        found: dict[str, object] = {
            "query": self.query,
            "collections": list(self.collections),
            "answerable": self.answerable,
            "min_relevance": self.min_relevance,
            "request_id": self.request_id,
            "results": [hit.to_json() for hit in self.hits],
            "degraded": list(self.degraded),
            "omitted": dict(self.omitted),
            "timings_ms": dict(self.timings_ms),
        }
        if self.dropped is not None:
            found["dropped"] = [dict(entry) for entry in self.dropped]
        return found
