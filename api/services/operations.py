"""The operations that commands and other processes call by name, with JSON in and out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from api.scope import Scope
from api.services.collections import CollectionService
from api.services.documents import DocumentService
from api.services.evaluation import EvaluationService
from api.services.ingestion import IngestionService
from api.services.search import SearchService
from api.services.state import StateService
from api.wiring import Engines
from kb.errors import UsageError
from kb.ports import Progress
from retrieval.request import SearchRequest


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its parameters and how to talk back while it runs."""

    params: Mapping[str, object]
    scope: Scope
    emit: Progress
    cancelled: Callable[[], bool]

    def text(self, name: str, default: str = "") -> str:
        """Return a text parameter."""
        value = self.params.get(name)
        return default if value is None else str(value)

    def optional(self, name: str) -> str | None:
        """Return a text parameter, or None when it was not given."""
        value = self.params.get(name)
        return None if value is None else str(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self.params.get(name)
        return tuple(str(v) for v in value) if isinstance(value, list | tuple) else ()

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean."""
        return bool(self.params.get(name, default))

    def number(self, name: str, default: int) -> int:
        """Return an integer."""
        value = self.params.get(name)
        return value if isinstance(value, int) else default


Operation = Callable[[Call], dict[str, object]]


class Operations:
    """All services of one owner, and the table that names their operations."""

    def __init__(self, engines: Engines) -> None:
        self.engines = engines
        self.search = SearchService(engines)
        self.documents = DocumentService(engines)
        self.ingestion = IngestionService(engines)
        self.collections = CollectionService(engines)
        self.state = StateService(engines)
        self.evaluation = EvaluationService(engines)
        self._table: dict[str, Operation] = {
            "search": self._search,
            "ingest": self._ingest,
            "documents.get": self._get,
            "documents.outline": self._outline,
            "documents.list": self._list,
            "documents.grep": self._grep,
            "documents.verify": self._verify,
            "documents.remove": self._remove,
            "roots.list": self._roots,
            "roots.remove": self._remove_root,
            "collections.list": self._collections,
            "collections.show": self._collection,
            "collections.create": self._create_collection,
            "collections.delete": self._delete_collection,
            "state.status": lambda call: self.state.status(),
            "state.doctor": lambda call: self.state.doctor(repair=call.flag("repair")),
            "state.models": lambda call: self.state.models(),
            "evaluate": self._evaluate,
        }

    def register(self, name: str, operation: Operation) -> None:
        """Add an operation that belongs to the process, such as stopping it."""
        self._table[name] = operation

    def call(
        self,
        name: str,
        params: Mapping[str, object],
        *,
        scope: Scope,
        emit: Progress,
        cancelled: Callable[[], bool],
    ) -> dict[str, object]:
        """Carry out an operation.

        Raises:
            UsageError: There is no such operation.
            KnowledgeBaseError: As the operation says.
        """
        operation = self._table.get(name)
        if operation is None:
            raise UsageError(f"unknown operation {name!r}", hint=f"Known: {sorted(self._table)}.")
        return operation(Call(params, scope, emit, cancelled))

    def _search(self, call: Call) -> dict[str, object]:
        where = call.params.get("where")
        request = SearchRequest(
            query=call.text("query"),
            k=call.number("k", self.engines.settings.search.k),
            mode=call.text("mode", "hybrid"),
            rerank=_optional_flag(call.params.get("rerank")),
            min_relevance=_optional_number(
                call.params.get("min_relevance"), self.engines.settings.search.min_relevance
            ),
            max_tokens=_optional_int(call.params.get("max_tokens")),
            path=call.optional("path"),
            where={str(k): str(v) for k, v in where.items()} if isinstance(where, dict) else {},
            explain=call.flag("explain"),
        )
        return self.search.search(
            request,
            collections=call.texts("collections"),
            scope=call.scope,
            wait_for_model=call.flag("wait_for_model", default=True),
        ).to_json()

    def _ingest(self, call: Call) -> dict[str, object]:
        return self.ingestion.ingest(
            call.texts("paths"),
            collection=call.optional("collection"),
            options=call.params,
            scope=call.scope,
            emit=call.emit,
            cancelled=call.cancelled,
        ).to_json()

    def _get(self, call: Call) -> dict[str, object]:
        return self.documents.get(
            call.text("name"),
            lines=call.optional("lines"),
            collections=call.texts("collections"),
            scope=call.scope,
        )

    def _outline(self, call: Call) -> dict[str, object]:
        return self.documents.outline(
            call.text("name"), collections=call.texts("collections"), scope=call.scope
        )

    def _list(self, call: Call) -> dict[str, object]:
        return self.documents.listing(
            call.text("prefix"), collections=call.texts("collections"), scope=call.scope
        )

    def _grep(self, call: Call) -> dict[str, object]:
        return self.documents.grep(
            call.text("pattern"),
            path=call.optional("path"),
            ignore_case=call.flag("ignore_case"),
            fixed=call.flag("fixed"),
            limit=call.number("limit", 1_000),
            collections=call.texts("collections"),
            scope=call.scope,
        )

    def _verify(self, call: Call) -> dict[str, object]:
        return self.documents.verify(
            call.text("quote"),
            name=call.optional("name"),
            collections=call.texts("collections"),
            scope=call.scope,
        )

    def _remove(self, call: Call) -> dict[str, object]:
        return self.documents.remove(
            call.texts("names"),
            collections=call.texts("collections"),
            confirmed=call.flag("yes"),
            purge=call.flag("purge"),
            scope=call.scope,
        )

    def _roots(self, call: Call) -> dict[str, object]:
        return self.ingestion.roots(call.optional("collection"), scope=call.scope)

    def _remove_root(self, call: Call) -> dict[str, object]:
        return self.ingestion.remove_root(
            call.text("name"),
            collection=call.optional("collection"),
            delete_documents=call.flag("delete_documents"),
            scope=call.scope,
        )

    def _collections(self, call: Call) -> dict[str, object]:
        return self.collections.list(scope=call.scope)

    def _collection(self, call: Call) -> dict[str, object]:
        return self.collections.show(call.text("name"), scope=call.scope)

    def _create_collection(self, call: Call) -> dict[str, object]:
        return self.collections.create(call.text("name"), scope=call.scope)

    def _delete_collection(self, call: Call) -> dict[str, object]:
        return self.collections.delete(
            call.text("name"), confirmed=call.flag("yes"), scope=call.scope
        )

    def _evaluate(self, call: Call) -> dict[str, object]:
        return self.evaluation.evaluate(
            call.text("folder"), options=call.params, emit=call.emit, cancelled=call.cancelled
        )


def _optional_flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _optional_number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default


def _optional_int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
