"""Measures retrieval on judged folders, each in a home of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from api.scope import EVERYTHING
from api.services.ingestion import IngestionService
from api.services.search import SearchService
from api.wiring import DEFAULT_COLLECTION, Engines
from kb.errors import CancelledByUserError
from kb.ports import Progress
from kb.settings import Settings
from retrieval.evaluate import Answer, evaluate
from retrieval.judged import JudgedSet, Query, load_judged
from retrieval.request import SearchRequest

N_PASSAGES = 50
"""Passages asked for: enough for ten documents by their best passage."""


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
        """Measure one folder with the settings of this home.

        Args:
            folder: A judged set.
            options: `mode`, and `limit` for the first so many questions.
            emit: Told what goes on.
            cancelled: Asked between questions.

        Raises:
            UsageError: The folder is no judged set.
        """
        settings = self._engines.settings
        judged = _limited(load_judged(Path(folder)), options.get("limit"))
        mode = str(options.get("mode") or "hybrid")
        keep = options.get("keep_home")
        with _home(str(keep) if keep else None) as home, Engines(home, settings) as engines:
            names = ingest_judged(judged, home, engines=engines, emit=emit, cancelled=cancelled)
            search = SearchService(engines)

            def ask(query: Query) -> Sequence[Answer]:
                if cancelled():
                    raise CancelledByUserError("stopped on request")
                return _answers(search, query, mode=mode, names=names)

            emit({"event": "asking", "queries": len(judged.queries)})
            result = evaluate(judged, ask, threshold=settings.search.min_relevance)
            record = engines.store.collection(DEFAULT_COLLECTION)
            result["settings"] = _settings(settings, mode, record.model.name, record.chunk_rules)
            for notice in engines.take_notices():
                emit({"event": "notice", "message": notice})
        return result


def _limited(judged: JudgedSet, limit: object) -> JudgedSet:
    if not isinstance(limit, int) or limit <= 0:
        return judged
    return JudgedSet(judged.name, judged.kind, judged.folder, judged.queries[:limit])


@contextmanager
def _home(keep: str | None) -> Iterator[Path]:
    if keep:
        home = Path(keep)
        home.mkdir(parents=True, exist_ok=True)
        yield home.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="kb-eval-") as folder:
        yield Path(folder).resolve()


def ingest_judged(
    judged: JudgedSet,
    home: Path,
    *,
    engines: Engines,
    emit: Progress,
    cancelled: Callable[[], bool],
) -> dict[str, str]:
    """Bring the set in as a user would, and return its names by document path."""
    names: dict[str, str] = {}
    root = (judged.folder / "documents").resolve()
    if judged.kind == "passages":
        root = home / "passages"
        root.mkdir(exist_ok=True)
        for number, (passage_id, title, text) in enumerate(judged.passages()):
            name = f"{number:07d}.md"
            heading = f"# {' '.join(title.replace('_', ' ').split())}\n\n" if title else ""
            (root / name).write_text(heading + text, encoding="utf-8")
            names[f"{root.name}/{name}"] = passage_id
    IngestionService(engines).ingest(
        [str(root)],
        collection=None,
        options={},
        scope=EVERYTHING,
        emit=emit,
        cancelled=cancelled,
    )
    if judged.kind != "passages":
        for document in engines.store.documents(DEFAULT_COLLECTION):
            names[document.path] = document.path.partition("/")[2]
    return names


def _answers(
    search: SearchService, query: Query, *, mode: str, names: Mapping[str, str]
) -> list[Answer]:
    request = SearchRequest(
        query=query.text, k=N_PASSAGES, mode=mode, min_relevance=0.0, fold=False
    )
    result = search.search(request, scope=EVERYTHING)
    prefix = f"kb://{DEFAULT_COLLECTION}/"
    return [
        Answer(
            document=names[unquote(hit.uri.removeprefix(prefix))],
            start=hit.chars[0],
            end=hit.chars[1],
            relevance=hit.relevance or 0.0,
        )
        for hit in result.hits
    ]


def _settings(settings: Settings, mode: str, model: str, rules: str) -> dict[str, object]:
    return {
        "mode": mode,
        "model": model,
        "chunk_rules": rules,
        "min_relevance": settings.search.min_relevance,
        "vectors.engine": settings.vectors.engine,
    }
