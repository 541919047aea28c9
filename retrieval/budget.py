"""Answers cut to a budget: whole passages, counted over the complete serialised answer."""

from __future__ import annotations

import dataclasses
import json

from kb.text import budget_tokens
from retrieval.request import SearchHit, SearchResult


def serialized_tokens(value: object) -> int:
    """Return the budget tokens of a value as JSON is written to callers."""
    return budget_tokens(json.dumps(value, ensure_ascii=False))


def fitting(result: SearchResult, *, max_tokens: int | None) -> SearchResult:
    """Return a result whose JSON is within the budget; the count of what was left out shows.

    Passages are taken best first; one that does not fit is passed over, a smaller one after it
    may still be taken.
    """
    if max_tokens is None or not result.hits:
        return result
    kept: list[SearchHit] = []
    for hit in result.hits:
        if serialized_tokens(_with(result, [*kept, hit]).to_json()) <= max_tokens:
            kept.append(hit)
    return _with(result, kept)


def _with(result: SearchResult, hits: list[SearchHit]) -> SearchResult:
    omitted = {**result.omitted, "over_budget": len(result.hits) - len(hits)}
    return dataclasses.replace(result, hits=tuple(hits), omitted=omitted)
