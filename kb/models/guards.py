"""What every embedder does to texts before, and to vectors after, its engine."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from kb.errors import ModelError
from kb.types import Vectors

_UNENCODABLE = re.compile("[\x00\ud800-\udfff]")
_SMALLEST_LENGTH = 1e-9


def encodable(text: str) -> str:
    """Return a text that every engine can take: no NUL (it would end the text), no surrogates."""
    return _UNENCODABLE.sub("\ufffd", text)


def unit_rows(vectors: npt.NDArray[np.floating], *, model: str) -> Vectors:
    """Return vectors (n, dim) as float32 rows of length 1.

    Raises:
        ModelError: A row holds NaN or infinity, or is zero throughout.
    """
    rows = vectors.astype(np.float64)
    if not np.isfinite(rows).all():
        raise ModelError(
            f"{model} returned a vector with a value that is not finite",
            hint="Try embedding.dtype = 'float32'; else choose another embedding.model.",
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if (lengths < _SMALLEST_LENGTH).any():
        raise ModelError(
            f"{model} returned a vector of zeros", hint="Choose another embedding.model."
        )
    unit: Vectors = (rows / lengths).astype(np.float32)
    return unit
