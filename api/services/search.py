"""Questions in, cited passages out, for every face."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from api.freshness import is_stale
from api.scope import Scope, unknown_collection
from api.wiring import Engines
from kb.catalog.records import CollectionRecord
from kb.errors import ModelError
from kb.models.profiles import profile_of
from retrieval.request import SearchRequest, SearchResult
from retrieval.retriever import SearchSource, search


class SearchService:
    """Searches the collections that a caller may see."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    def search(
        self,
        request: SearchRequest,
        *,
        collections: Sequence[str] = (),
        scope: Scope,
        wait_for_model: bool = True,
        request_id: str | None = None,
    ) -> SearchResult:
        """Search; without names, every collection the caller may see.

        Args:
            request: What is asked, already checked.
            collections: Names, or none for all.
            scope: The caller's rights.
            wait_for_model: Whether to wait for a model that is not loaded yet; else the
                lexical index answers alone and `degraded` says so.
            request_id: The caller's, or None for a new one.

        Raises:
            NotFoundError: A named collection does not exist for this caller.
        """
        records = self.records(collections, scope=scope)
        with ExitStack() as stack:
            sources = [
                self._source(record, request.mode, stack=stack, wait=wait_for_model)
                for record in records
            ]
            return search(
                request,
                sources,
                clock=time.perf_counter,
                is_stale=is_stale,
                request_id=request_id or uuid.uuid4().hex,
            )

    def records(self, collections: Sequence[str], *, scope: Scope) -> list[CollectionRecord]:
        """Return the records of the named collections, or of all that the caller may see.

        Raises:
            NotFoundError: A named one does not exist for this caller.
        """
        known = {r.name: r for r in self._engines.store.collections() if scope.sees(r.name)}
        for name in collections:
            if name not in known:
                raise unknown_collection(name, sorted(known))
        chosen = dict.fromkeys(collections) if collections else sorted(known)
        return [known[name] for name in chosen]

    def _source(
        self, record: CollectionRecord, mode: str, *, stack: ExitStack, wait: bool
    ) -> SearchSource:
        view = stack.enter_context(self._engines.store.view(record.name))
        embedder, reason = None, ""
        if mode != "lexical":
            if wait:
                try:
                    embedder = self._engines.embedder(record)
                except ModelError as error:
                    reason = error.message
            else:
                embedder, reason = self._engines.embedder_if_ready(record)
        return SearchSource(
            view=view,
            embedder=embedder,
            profile=profile_of(record.model),
            unavailable=reason,
        )


def where_of(pairs: Sequence[str]) -> Mapping[str, str]:
    """Return `KEY=VALUE` texts as a mapping."""
    return dict(pair.split("=", 1) for pair in pairs)
