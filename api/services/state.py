"""The state of a home: what it holds, whether it is sound, which models are here."""

from __future__ import annotations

import importlib.util

import kb
from api.wiring import Engines
from kb.catalog import FORMAT_VERSION
from kb.models.registry import installed_models


class StateService:
    """Answers questions about the home as a whole."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    def status(self) -> dict[str, object]:
        """Return the home's place, version, sizes and collections."""
        store = self._engines.store
        return {
            "home": str(self._engines.home),
            "version": kb.__version__,
            "format": FORMAT_VERSION,
            "collections": [
                {
                    "name": record.name,
                    "documents": record.n_documents,
                    "chunks": record.n_chunks,
                    "model": record.model.name,
                }
                for record in store.collections()
            ],
            "sizes_bytes": store.sizes(),
        }

    def doctor(self, *, repair: bool) -> dict[str, object]:
        """Check every invariant, and mend what the catalog can mend when asked."""
        store = self._engines.store
        problems = store.check()
        repaired: list[str] = []
        if repair and problems:
            repaired = store.repair()
            problems = store.check()
        return {
            "ok": not problems,
            "digest": store.digest(),
            "problems": [
                {"code": p.code, "message": p.message, "hint": p.hint} for p in problems
            ],
            "repaired": repaired,
            "notes": _licence_notes(),
        }

    def models(self) -> dict[str, object]:
        """Return the embedding models that are on this machine."""
        settings = self._engines.settings.embedding
        return {
            "models": [
                {
                    "name": model.name,
                    "where": model.where,
                    "dimension": model.dimension,
                    "size_bytes": model.size_bytes,
                    "default": model.is_default,
                }
                for model in installed_models(settings, home=self._engines.home)
            ]
        }


def _licence_notes() -> list[str]:
    if importlib.util.find_spec("pymupdf") is None:
        return []
    return [
        "PyMuPDF is installed (extra [pdf]): it is under the AGPL-3.0 or a commercial licence of "
        "Artifex; kb itself is under Apache-2.0"
    ]
