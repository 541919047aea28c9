"""Candidates of one collection: lexical and dense lists joined, every one with all features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kb.analyzer import QueryTerm, analyzer_for
from kb.bm25 import Evidence, QueryEvidence, evidence, idf
from kb.errors import ModelError
from kb.models.profiles import Profile
from kb.ports import CollectionView, Embedder
from kb.text import dominant_script
from kb.types import Ordinals, Ranking
from retrieval.fusion import convex, lexical_scale
from retrieval.relevance import relevance, script_pairs
from retrieval.request import SearchRequest

POOL = 100
"""Candidates taken from each list; a right passage ranks lower in both on none of the sets."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SearchSource:
    """One collection to search.

    Attributes:
        view: Its state, held for the length of the search.
        embedder: Its model, or None when only words can be searched.
        profile: Of its model.
        unavailable: Why there is no model; empty when none is needed.
    """

    view: CollectionView
    embedder: Embedder | None
    profile: Profile
    unavailable: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What was found in one collection, unsorted; arrays have a place for each candidate.

    Attributes:
        source: Where.
        ordinals: int64 (n,).
        relevance: float64 (n,), NaN where it could not be judged.
        fused: float64 (n,).
        bm25: float64 (n,).
        cosine: float64 (n,), NaN without a model.
        coverage: float64 (n,).
        window: float64 (n,).
        pairs: `same` or `cross`.
        terms: The question's terms with their idf-weighted weights.
        rankings: The lists that were joined, by name.
        mode: What took part.
        degraded: What did not, and why.
    """

    source: SearchSource
    ordinals: Ordinals
    relevance: Floats
    fused: Floats
    bm25: Floats
    cosine: Floats
    coverage: Floats
    window: Floats
    pairs: list[str]
    terms: list[tuple[QueryTerm, float]]
    rankings: dict[str, Ranking]
    mode: str
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    evidence: Evidence
    relevance: Floats
    fused: Floats
    cosine: Floats
    pairs: list[str]


class Stopwatch:
    """Adds up milliseconds by stage."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last_s = self._started_s = clock()
        self.stages: dict[str, float] = dict.fromkeys(
            ("embed", "lexical", "dense", "fuse", "rerank"), 0.0
        )

    def lap(self, stage: str) -> None:
        """Book the time since the last lap on a stage."""
        now_s = self._clock()
        self.stages[stage] += (now_s - self._last_s) * 1_000
        self._last_s = now_s

    def timings_ms(self) -> dict[str, float]:
        """Return milliseconds by stage and in total."""
        total = (self._clock() - self._started_s) * 1_000
        return {name: round(ms, 2) for name, ms in {**self.stages, "total": total}.items()}


def find_candidates(
    source: SearchSource, request: SearchRequest, *, watch: Stopwatch
) -> Candidates:
    """Return the candidates of one collection with their scores and relevance."""
    view = source.view
    allowed = view.allowed(path=request.path, where=request.where)
    terms = _weighted_terms(view, request.query)
    vector, mode, degraded = _query_vector(source, request)
    watch.lap("embed")
    rankings: dict[str, Ranking] = {}
    if mode != "dense":
        weights = {term.id: weight for term, weight in terms}
        rankings["lexical"] = view.lexical.search(weights, k=POOL, allowed=allowed)
    watch.lap("lexical")
    if vector is not None:
        rankings["dense"] = view.vectors.search(vector, k=POOL, allowed=allowed)
    watch.lap("dense")
    ordinals = np.unique(np.concatenate([r.ordinals for r in rankings.values()]))
    scores = _scored(source, request.query, ordinals, terms=terms, vector=vector, mode=mode)
    watch.lap("fuse")
    return Candidates(
        source=source,
        ordinals=ordinals,
        terms=terms,
        rankings=rankings,
        mode=mode,
        degraded=degraded,
        relevance=scores.relevance,
        fused=scores.fused,
        bm25=scores.evidence.bm25,
        cosine=scores.cosine,
        coverage=scores.evidence.coverage,
        window=scores.evidence.window,
        pairs=scores.pairs,
    )


def _query_vector(
    source: SearchSource, request: SearchRequest
) -> tuple[npt.NDArray[np.float32] | None, str, tuple[str, ...]]:
    """Return the question's vector, the mode that is left, and what is missing."""
    if request.mode == "lexical":
        return None, "lexical", ()
    if source.embedder is None:
        return None, "lexical", (f"dense: {source.unavailable or 'no model'}",)
    try:
        vector = source.embedder.embed_query(request.query)
    except ModelError as error:
        return None, "lexical", (f"dense: {error.message}",)
    return vector, request.mode, ()


def _weighted_terms(view: CollectionView, query: str) -> list[tuple[QueryTerm, float]]:
    terms = analyzer_for(view.analyzer).query_terms(query)
    frequencies = view.document_frequencies([term.id for term in terms])
    weights = idf(frequencies, len(view.ordinals))
    return [
        (term, float(weight * term.weight)) for term, weight in zip(terms, weights, strict=True)
    ]


def _scored(
    source: SearchSource,
    query: str,
    ordinals: Ordinals,
    *,
    terms: list[tuple[QueryTerm, float]],
    vector: npt.NDArray[np.float32] | None,
    mode: str,
) -> _Scores:
    view = source.view
    question = QueryEvidence(
        ids=np.array([term.id for term, _ in terms], dtype=np.int64),
        groups=_dense_groups([term.group for term, _ in terms]),
        weights=np.array([weight for _, weight in terms]),
    )
    flat, offsets = view.term_sequences(ordinals)
    found = evidence(
        question, flat, offsets, mean_length=view.n_terms / max(len(view.ordinals), 1)
    )
    lexical = lexical_scale(found.bm25, float(question.group_weights().sum()))
    if vector is None:
        cosine = np.full(len(ordinals), np.nan)
        fused = lexical
    else:
        # Row by row in float64: the same numbers whatever else is in the list.
        rows = view.load_vectors(ordinals).astype(np.float64)
        cosine = np.round((rows * vector.astype(np.float64)).sum(axis=1), 7)
        fused = cosine if mode == "dense" else convex(cosine, lexical)
    pairs = script_pairs(dominant_script(query), view.scripts(ordinals))
    judged = _judged(
        source, mode, pairs, cosine=cosine, coverage=found.coverage, window=found.window
    )
    return _Scores(found, judged, fused, cosine, pairs)


def _judged(
    source: SearchSource,
    mode: str,
    pairs: list[str],
    *,
    cosine: Floats,
    coverage: Floats,
    window: Floats,
) -> Floats:
    """Return relevance; a model without a profile is judged by the question's words alone."""
    profile = source.profile
    used = mode if profile.has_model else "lexical"
    return relevance(
        profile, used, pairs, cosine=cosine, coverage=coverage, window=window
    )


def _dense_groups(groups: list[int]) -> npt.NDArray[np.int64]:
    _, places = np.unique(np.array(groups, dtype=np.int64), return_inverse=True)
    return places.astype(np.int64)
