"""What is known of each embedding model's scores: calibrations fitted on judged questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kb.models.fitted import BUNDLED_CALIBRATIONS, LEXICAL_CALIBRATION
from kb.types import ModelIdentity

PAIRS = ("same", "cross")
"""Question and passage in the same script, or in different ones."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A calibration: relevance is the logistic function of a weighted sum.

    Attributes:
        bias: Constant part.
        cosine: Weight of the cosine of question and passage.
        coverage: Weight of the idf-weighted share of the question in the passage, 0..1.
        window: Weight of the share in the passage's best window, 0..1.
    """

    bias: float
    cosine: float
    coverage: float
    window: float


@dataclass(frozen=True, slots=True)
class Profile:
    """Calibrations of one model.

    Attributes:
        name: Of the model, or `words` where only the question's words are calibrated.
        calibrations: By mode (`hybrid`, `lexical`, `dense`) and script pair; a pair that is
            missing cannot be judged in that mode.
    """

    name: str
    calibrations: Mapping[tuple[str, str], Logistic]

    def calibration(self, mode: str, pair: str) -> Logistic | None:
        """Return the calibration of a mode and script pair, or None."""
        return self.calibrations.get((mode, pair))

    @property
    def has_model(self) -> bool:
        """Whether the model's cosines are calibrated."""
        return any(mode != "lexical" for mode, _ in self.calibrations)


# What the words of a question say does not depend on a model, and across scripts they say
# nothing.
_WORDS = {("lexical", "same"): Logistic(*LEXICAL_CALIBRATION)}
_BUNDLED = Profile(
    "bundled",
    {**_WORDS, **{key: Logistic(*values) for key, values in BUNDLED_CALIBRATIONS.items()}},
)
_UNKNOWN = Profile("words", _WORDS)


def profile_of(model: ModelIdentity) -> Profile:
    """Return a model's profile; one that was never fitted has the words' calibration alone."""
    return _BUNDLED if model.name == "bundled" else _UNKNOWN
