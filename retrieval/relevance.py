"""Calibrated relevance: how likely a passage answers, from features of the pair alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kb.models.profiles import Logistic, Profile

Floats = npt.NDArray[np.float64]

DECIMALS = 6
"""Relevance is compared and shown at this precision, so that ties are ties everywhere."""


def script_pairs(query_script: str, passage_scripts: Sequence[str]) -> list[str]:
    """Return `same` or `cross` for each passage.

    A question or passage without letters of any script (numbers, code) is compared as it is.
    """
    return [
        "same" if query_script == script or "other" in {query_script, script} else "cross"
        for script in passage_scripts
    ]


def logistic(weights: Logistic, cosine: Floats, coverage: Floats, window: Floats) -> Floats:
    """Return relevance 0..1, float64 (n,)."""
    score = (
        weights.bias
        + weights.cosine * cosine
        + weights.coverage * coverage
        + weights.window * window
    )
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(score, -60, 60))))


def relevance(
    profile: Profile,
    mode: str,
    pairs: Sequence[str],
    *,
    cosine: Floats,
    coverage: Floats,
    window: Floats,
) -> Floats:
    """Return each passage's relevance, NaN where mode and script pair are not calibrated.

    Args:
        profile: Of the model that the cosines come from.
        mode: What took part: `hybrid`, `lexical` or `dense`.
        pairs: See `script_pairs`.
        cosine: float64 (n,); not looked at in `lexical`.
        coverage: float64 (n,), 0..1.
        window: float64 (n,), 0..1.
    """
    result = np.full(len(pairs), np.nan)
    for pair in set(pairs):
        weights = profile.calibration(mode, pair)
        if weights is None:
            continue
        mask = np.array([p == pair for p in pairs])
        used = cosine[mask] if mode != "lexical" else np.zeros(int(mask.sum()))
        result[mask] = logistic(weights, used, coverage[mask], window[mask])
    return np.round(result, DECIMALS)
