"""Why a passage stands where it stands, or is not there."""

from __future__ import annotations

import numpy as np

from kb.types import Ordinals, Passage, Ranking
from kb.uris import document_uri
from retrieval.candidates import Candidates


def explanation(candidates: Candidates, place: int, passage: Passage) -> dict[str, object]:
    """Return the terms that matched, the ranks in each list and what the calibration saw."""
    ordinal = int(candidates.ordinals[place])
    return {
        "terms": _matched(candidates, candidates.ordinals[place : place + 1]),
        "ranks": {name: _rank(r, ordinal) for name, r in candidates.rankings.items()},
        "features": _features(candidates, place),
        "sequence": passage.sequence,
    }


def dropped_entry(
    candidates: Candidates, place: int, passage: Passage, *, reason: str
) -> dict[str, object]:
    """Return a candidate that is not in the answer, with the reason."""
    return {
        "id": passage.chunk.id,
        "uri": document_uri(passage.document.collection, passage.document.path),
        "lines": list(passage.chunk.lines),
        "reason": reason,
        "features": _features(candidates, place),
    }


def _features(candidates: Candidates, place: int) -> dict[str, object]:
    cosine = float(candidates.cosine[place])
    value = float(candidates.relevance[place])
    return {
        "mode": candidates.mode,
        "scripts": candidates.pairs[place],
        "cosine": None if np.isnan(cosine) else round(cosine, 6),
        "coverage": round(float(candidates.coverage[place]), 4),
        "window": round(float(candidates.window[place]), 4),
        "relevance": None if np.isnan(value) else value,
    }


def _rank(ranking: Ranking, ordinal: int) -> int | None:
    places = np.flatnonzero(ranking.ordinals == ordinal)
    return int(places[0]) + 1 if len(places) else None


def _matched(candidates: Candidates, ordinal: Ordinals) -> list[dict[str, object]]:
    flat, _ = candidates.source.view.term_sequences(ordinal)
    present, counts = np.unique(flat, return_counts=True)
    frequency = dict(zip(present.tolist(), counts.tolist(), strict=True))
    return [
        {"term": term.text, "weight": round(weight, 4), "count": frequency[term.id]}
        for term, weight in candidates.terms
        if term.id in frequency
    ]
