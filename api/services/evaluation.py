"""Measures retrieval on judged folders, each in a home of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from api.wiring import Engines
from kb.ports import Progress


class EvaluationService:
    """Runs `kb eval`."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    def evaluate(
        self,
        folder: str,
        *,
        options: Mapping[str, object],
        emit: Progress,
        cancelled: Callable[[], bool],
    ) -> dict[str, object]:
        """Measure one folder."""
        raise NotImplementedError
