"""Measures of rankings, spans and abstention, with bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

BOOTSTRAP_ROUNDS = 1_000
_SEED = 20_240_501

Floats = npt.NDArray[np.float64]


def ndcg(ranking: Sequence[str], qrels: Mapping[str, int], *, k: int) -> float:
    """Return nDCG@k with gains as judged (Järvelin and Kekäläinen 2002, log base 2)."""
    gains = [qrels.get(name, 0) for name in ranking[:k]]
    best = sorted((gain for gain in qrels.values() if gain > 0), reverse=True)[:k]
    ideal = sum(gain / math.log2(place + 2) for place, gain in enumerate(best))
    if not ideal:
        return 0.0
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains)) / ideal


def recall(ranking: Sequence[str], qrels: Mapping[str, int], *, k: int) -> float:
    """Return the share of the relevant that stands among the first k."""
    relevant = {name for name, gain in qrels.items() if gain > 0}
    return len(relevant & set(ranking[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[str], qrels: Mapping[str, int], *, k: int) -> float:
    """Return 1 / place of the first relevant among the first k, else 0."""
    for place, name in enumerate(ranking[:k], start=1):
        if qrels.get(name, 0) > 0:
            return 1.0 / place
    return 0.0


Span = tuple[str, int, int]
"""A document and the characters `[start, end)` of it."""


def span_scores(gold: Sequence[Span], returned: Sequence[Span]) -> tuple[float, float, float]:
    """Return span recall, precision and IoU of returned passages.

    Recall is over the union of what was returned; precision and IoU count what was returned
    twice twice (Chroma's chunking evaluation, 2024).
    """
    wanted = _characters(gold)
    covered = _characters(returned)
    n_common = sum(len(chars & covered.get(name, set())) for name, chars in wanted.items())
    n_wanted = sum(map(len, wanted.values()))
    n_returned = sum(end - start for _, start, end in returned)
    if not n_wanted:
        return 0.0, 0.0, 0.0
    precision = n_common / n_returned if n_returned else 0.0
    return n_common / n_wanted, precision, n_common / (n_returned + n_wanted - n_common)


def _characters(spans: Sequence[Span]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for name, start, end in spans:
        found.setdefault(name, set()).update(range(start, end))
    return found


def cut_at(returned: Sequence[Span], n_characters: int) -> list[Span]:
    """Return the passages cut at exactly so many characters in all."""
    kept: list[Span] = []
    left = n_characters
    for name, start, end in returned:
        if left <= 0:
            break
        kept.append((name, start, min(end, start + left)))
        left -= kept[-1][2] - start
    return kept


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Return how often a positive scores above a negative; ties count half (Mann-Whitney)."""
    if not positives or not negatives:
        return float("nan")
    values = np.concatenate([np.asarray(positives), np.asarray(negatives)])
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = ((ends - counts + 1 + ends) / 2)[places]
    n, m = len(positives), len(negatives)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def interval(values: Sequence[float]) -> list[float]:
    """Return the 95 % percentile bootstrap interval of a mean."""
    if not values:
        return [float("nan"), float("nan")]
    sample = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(_SEED)
    picks = random.integers(0, len(sample), (BOOTSTRAP_ROUNDS, len(sample)))
    low, high = np.percentile(sample[picks].mean(axis=1), [2.5, 97.5])
    return [round(float(low), 4), round(float(high), 4)]


def mean(values: Sequence[float]) -> float:
    """Return the mean, 0 for nothing."""
    return round(sum(values) / len(values), 4) if values else 0.0
