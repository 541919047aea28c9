"""Scores of several lists as one, on scales that hold across questions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEXICAL_WEIGHT = 0.3
"""Flat between .2 and .5 on the sets measured; the dense part is 1 minus this."""

BM25_CEILING = 2.2
"""k1 + 1: the most that one term's saturated frequency can reach."""


def lexical_scale(bm25: Floats, total_weight: float) -> Floats:
    """Return BM25 as a share of the most that the question's terms could give, 0..1.

    Unlike min-max over a list, a list that matches nothing stays at 0 and pulls nothing.
    """
    if total_weight <= 0:
        return np.zeros_like(bm25)
    return np.minimum(bm25 / (total_weight * BM25_CEILING), 1.0)


def convex(cosine: Floats, lexical: Floats, *, weight: float = LEXICAL_WEIGHT) -> Floats:
    """Return `(1 - weight)·cosine + weight·lexical`, both on fixed scales."""
    return (1.0 - weight) * cosine + weight * lexical
