"""Collections as callers see them."""

from __future__ import annotations

from api.scope import Scope, unknown_collection
from api.wiring import Engines
from kb.catalog.records import CollectionRecord
from kb.errors import ConflictError, UsageError


class CollectionService:
    """Lists, shows, creates and deletes collections."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    def list(self, *, scope: Scope) -> dict[str, object]:
        """Return the collections the caller may see."""
        records = [r for r in self._engines.store.collections() if scope.sees(r.name)]
        return {"collections": [_as_json(record) for record in records]}

    def show(self, name: str, *, scope: Scope) -> dict[str, object]:
        """Return one collection.

        Raises:
            NotFoundError: It does not exist for this caller.
        """
        return _as_json(self.record(name, scope=scope))

    def record(self, name: str, *, scope: Scope) -> CollectionRecord:
        """Return one collection's record.

        Raises:
            NotFoundError: It does not exist for this caller.
        """
        known = {r.name: r for r in self._engines.store.collections() if scope.sees(r.name)}
        if name not in known:
            raise unknown_collection(name, sorted(known))
        return known[name]

    def create(self, name: str, *, scope: Scope) -> dict[str, object]:
        """Create an empty collection under the present settings.

        Raises:
            UsageError: The name is not allowed.
            ConflictError: It exists already.
        """
        scope.check_write()
        if not scope.sees(name):
            raise unknown_collection(name, [])
        if any(r.name == name for r in self._engines.store.collections()):
            raise ConflictError(
                f"collection {name!r} exists already",
                hint="Choose another name, or use it as it is.",
            )
        return _as_json(self._engines.collection_for_writing(name))

    def delete(self, name: str, *, confirmed: bool, scope: Scope) -> dict[str, object]:
        """Delete a collection with all its documents.

        Raises:
            NotFoundError: It does not exist for this caller.
            UsageError: It holds documents and that was not confirmed.
        """
        scope.check_write()
        record = self.record(name, scope=scope)
        if record.n_documents and not confirmed:
            raise UsageError(
                f"collection {name!r} holds {record.n_documents} documents",
                code="confirm",
                hint="Add --yes to delete it with all of them.",
            )
        self._engines.store.delete_collection(name)
        return {"deleted": name, "documents": record.n_documents}


def _as_json(record: CollectionRecord) -> dict[str, object]:
    return {
        "name": record.name,
        "documents": record.n_documents,
        "chunks": record.n_chunks,
        "model": record.model.name,
        "model_revision": record.model.revision,
        "dimension": record.model.dimension,
        "analyzer": record.analyzer,
        "chunk_rules": record.chunk_rules,
        "created_at": record.created_at,
    }
