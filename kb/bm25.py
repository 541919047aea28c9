"""Exact BM25 and coverage over term sequences, with statistics handed in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kb.types import TermIds

K1 = 1.2
B = 0.75
"""Robertson and Zaragoza 2009, section 3.5; slightly above 1.5/.75 on the sets measured."""

WINDOW_TERMS = 48
"""Width of the best window in terms: about a long sentence (a word gives one to two terms)."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class QueryEvidence:
    """A question's terms with their statistics.

    Attributes:
        ids: int64 (m,), no repeats.
        groups: int64 (m,), 0-based; terms of one surface word share a number.
        weights: float64 (m,), relative weight of the term times its idf, > 0.
    """

    ids: TermIds
    groups: npt.NDArray[np.int64]
    weights: Floats

    def group_weights(self) -> Floats:
        """Return each group's weight, that of its heaviest term, float64 (n_groups,)."""
        if not len(self.ids):
            return np.zeros(0)
        weights = np.zeros(int(self.groups.max()) + 1)
        np.maximum.at(weights, self.groups, self.weights)
        return weights


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the terms of each passage say, float64 (n,) each.

    Attributes:
        bm25: Sum over the question's groups of their best term's weight times saturated
            frequency: a word and its stem are one piece of evidence, not two.
        coverage: Share of the question's weight that stands anywhere in the passage, 0..1.
        window: Share of it that stands within the best window, 0..1.
    """

    bm25: Floats
    coverage: Floats
    window: Floats


def idf(frequencies: npt.NDArray[np.int64], n_chunks: int) -> Floats:
    """Return Lucene's idf, `ln(1 + (N - df + 0.5) / (df + 0.5))`, positive for every term."""
    df = np.minimum(frequencies, n_chunks).astype(np.float64)
    return np.log1p((n_chunks - df + 0.5) / (df + 0.5))


def evidence(
    query: QueryEvidence, flat: TermIds, offsets: npt.NDArray[np.int64], *, mean_length: float
) -> Evidence:
    """Score passages against a question.

    Args:
        query: The question's terms.
        flat: The passages' term ids end to end, int64 (t,).
        offsets: Where each passage begins, and the end, int64 (n+1,).
        mean_length: Mean number of terms of all visible passages, > 0.
    """
    n = len(offsets) - 1
    m = len(query.ids)
    if n == 0 or m == 0:
        return Evidence(np.zeros(n), np.zeros(n), np.zeros(n))
    order = np.argsort(query.ids)
    sorted_ids = query.ids[order]
    slots = np.searchsorted(sorted_ids, flat)
    slots[slots == m] = 0
    hits = np.flatnonzero(sorted_ids[slots] == flat)
    terms = order[slots[hits]]
    passages = np.searchsorted(offsets, hits, side="right") - 1
    counts = np.zeros((n, m))
    np.add.at(counts, (passages, terms), 1.0)
    lengths = np.diff(offsets).astype(np.float64)
    norm = K1 * (1 - B + B * lengths / max(mean_length, 1.0))
    saturated = counts * (K1 + 1) / (counts + norm[:, None])
    totals = query.group_weights()
    whole = float(totals.sum()) or 1.0
    present = np.zeros((n, len(totals)))
    scored = np.zeros((n, len(totals)))
    for term in range(m):
        group, weight = query.groups[term], query.weights[term]
        np.maximum(present[:, group], (counts[:, term] > 0) * weight, out=present[:, group])
        np.maximum(scored[:, group], saturated[:, term] * weight, out=scored[:, group])
    window = _best_window(query, hits, terms, passages, n=n)
    return Evidence(
        bm25=scored.sum(axis=1),
        coverage=present.sum(axis=1) / whole,
        window=np.minimum(window / whole, 1.0),
    )


def _best_window(
    query: QueryEvidence,
    hits: npt.NDArray[np.int64],
    terms: npt.NDArray[np.int64],
    passages: npt.NDArray[np.int64],
    *,
    n: int,
) -> Floats:
    """Return the largest weight of distinct groups in any window that ends at a hit.

    Each hit opens an interval of `WINDOW_TERMS` places in which its group counts, cut short
    where the group occurs again with at least its weight; the sum of the open intervals at
    the places where one opens is what a window ending there holds.
    """
    best = np.zeros(n)
    if not len(hits):
        return best
    weights = query.weights[terms]
    groups = query.groups[terms]
    keys = passages * (int(query.groups.max()) + 1) + groups
    order = np.lexsort((hits, keys))
    closes = hits + WINDOW_TERMS
    # The next occurrence of the same group in the same passage takes over from there; a
    # lighter form of a word (its stem) beside the heavier one at the same spot is dropped.
    sorted_keys, sorted_hits = keys[order], hits[order]
    same = np.flatnonzero(sorted_keys[1:] == sorted_keys[:-1])
    closes_sorted = closes[order]
    closes_sorted[same] = np.minimum(closes_sorted[same], sorted_hits[same + 1])
    opens = np.concatenate([hits[order], closes_sorted])
    changes = np.concatenate([weights[order], -weights[order]])
    owners = np.concatenate([passages[order], passages[order]])
    # At one place closings come first, so that a take-over does not count twice.
    kinds = np.concatenate([np.ones(len(hits)), np.zeros(len(hits))])
    sequence = np.lexsort((kinds, opens, owners))
    running = np.cumsum(changes[sequence])
    owners = owners[sequence]
    # Intervals of a passage may close in the next one's places, but the sort is by owner, so
    # each passage's changes sum to zero before the next begins.
    np.maximum.at(best, owners, running)
    return best
