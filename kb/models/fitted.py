"""Constants that scripts/fit_relevance.py printed; see docs/quality.md for their fit."""

from __future__ import annotations

# bias, cosine, coverage, window
LEXICAL_CALIBRATION: tuple[float, float, float, float] = (-5.0, 0.0, 4.0, 4.0)
BUNDLED_CALIBRATIONS: dict[tuple[str, str], tuple[float, float, float, float]] = {
    ("hybrid", "same"): (-30.0, 30.0, 4.0, 4.0),
    ("hybrid", "cross"): (-40.0, 48.0, 0.0, 0.0),
    ("dense", "same"): (-40.0, 46.0, 0.0, 0.0),
    ("dense", "cross"): (-40.0, 48.0, 0.0, 0.0),
}
