"""Folders, files and uploads in; one service for every face that brings documents in."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from api.scope import Scope, unknown_collection
from api.wiring import DEFAULT_COLLECTION, Engines
from ingest.pipeline import Ingestor
from ingest.plan import SyncOptions, check_paths, plan_missing_root, plan_sync
from ingest.reader import parse_bytes
from ingest.report import IngestReport
from kb.analyzer import analyzer_for
from kb.errors import NotFoundError, UsageError
from kb.ports import Progress
from kb.store import RootRecord
from kb.text import content_hash
from kb.types import DocumentWarning, Receipt, Source


class IngestionService:
    """Syncs roots and takes in uploads."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    def ingest(
        self,
        paths: Sequence[str],
        *,
        collection: str | None,
        options: Mapping[str, object],
        scope: Scope,
        emit: Progress,
        cancelled: Callable[[], bool],
    ) -> IngestReport:
        """Sync paths into a collection; without paths, every recorded root.

        Raises:
            UsageError: A path is missing, a root is lost, a mass deletion is not confirmed.
            CancelledByUserError: On request; what was published stays.
        """
        scope.check_write()
        sync = sync_options(options)
        if not paths:
            return self._sync_recorded(
                collection, sync=sync, scope=scope, emit=emit, cancelled=cancelled
            )
        name = collection or DEFAULT_COLLECTION
        if not scope.sees(name):
            raise unknown_collection(name, [])
        real = check_paths(paths)
        return self._sync(name, real, [], sync=sync, emit=emit, cancelled=cancelled)

    def _sync_recorded(
        self,
        collection: str | None,
        *,
        sync: SyncOptions,
        scope: Scope,
        emit: Progress,
        cancelled: Callable[[], bool],
    ) -> IngestReport:
        roots = [r for r in self._engines.store.roots(collection) if scope.sees(r.collection)]
        if not roots:
            raise UsageError(
                "no folder has been ingested yet, so there is nothing to sync",
                code="no_roots",
                hint="Name a folder: kb ingest FOLDER",
            )
        names = sorted({root.collection for root in roots})
        total = IngestReport(collection=names[0] if len(names) == 1 else None)
        for name in names:
            mine = [root for root in roots if root.collection == name]
            present = [Path(r.path) for r in mine if Path(r.path).is_dir()]
            missing = [r for r in mine if not Path(r.path).is_dir()]
            total.add(self._sync(name, present, missing, sync=sync, emit=emit, cancelled=cancelled))
            total.dry_run = sync.dry_run
        return total

    def _sync(
        self,
        name: str,
        real: Sequence[Path],
        missing: Sequence[RootRecord],
        *,
        sync: SyncOptions,
        emit: Progress,
        cancelled: Callable[[], bool],
    ) -> IngestReport:
        engines = self._engines
        with engines.ingesting(name):
            record = engines.collection_for_writing(name)
            plan = plan_sync(engines.store, name, real, options=sync)
            for root in missing:
                plan.vanished += plan_missing_root(engines.store, root, options=sync).vanished
            for notice in plan.notices:
                emit({"event": "notice", "message": notice})
            # Nothing to read means nothing to embed: a no-op sync must not load the model.
            embedder = engines.embedder(record)
            ingestor = Ingestor(
                engines.store,
                name,
                embedder=embedder,
                analyzer=analyzer_for(record.analyzer),
                rules=engines.rules,
                pool=engines.pool,
                progress=emit,
                cancelled=cancelled,
            )
            return ingestor.run(plan, options=sync)

    def upload(
        self,
        name: str,
        data: bytes,
        *,
        collection: str | None,
        media_type: str | None,
        metadata: Mapping[str, object],
        scope: Scope,
    ) -> tuple[Receipt, tuple[DocumentWarning, ...]]:
        """Publish one document from bytes, under a name of the caller's.

        Raises:
            UsageError: The name cannot be a document's path.
            DocumentError: The bytes cannot be read.
        """
        scope.check_write()
        path = check_document_path(name)
        target = collection or DEFAULT_COLLECTION
        if not scope.sees(target):
            raise unknown_collection(target, [])
        engines = self._engines
        with engines.ingesting(target):
            record = engines.collection_for_writing(target)
            if engines.store.is_root_label(target, path.split("/", 1)[0]):
                raise UsageError(
                    f"{path!r} would lie among the documents of a synced folder",
                    hint="Choose a name that does not begin with that folder's name.",
                )
            parsed = parse_bytes(
                path, data, media_type=media_type, metadata=metadata, pool=engines.pool
            )
            source = Source(
                path=path,
                root_id=None,
                source=None,
                size_bytes=len(data),
                mtime_ns=0,
                inode=0,
                read_at_ns=time.time_ns(),
                content_hash=content_hash(data),
            )
            ingestor = Ingestor(
                engines.store,
                target,
                embedder=engines.embedder(record),
                analyzer=analyzer_for(record.analyzer),
                rules=engines.rules,
                pool=engines.pool,
                progress=lambda event: None,
            )
            return ingestor.add_parsed(source, parsed), parsed.warnings

    def roots(self, collection: str | None, *, scope: Scope) -> dict[str, object]:
        """Return the recorded roots."""
        roots = [r for r in self._engines.store.roots(collection) if scope.sees(r.collection)]
        return {
            "roots": [
                {
                    "collection": root.collection,
                    "name": root.label,
                    "path": root.path,
                    "last_synced_at": root.last_synced_at,
                    "exists": Path(root.path).is_dir(),
                }
                for root in roots
            ]
        }

    def remove_root(
        self, name: str, *, collection: str | None, delete_documents: bool, scope: Scope
    ) -> dict[str, object]:
        """Forget a root by its name or path; its documents stay unless asked otherwise.

        Raises:
            NotFoundError: There is no such root.
        """
        scope.check_write()
        roots = [r for r in self._engines.store.roots(collection) if scope.sees(r.collection)]
        real = str(Path(name).expanduser().resolve())
        matches = [r for r in roots if r.label == name or r.path in {name, real}]
        if not matches:
            known = ", ".join(r.label for r in roots) or "none"
            raise NotFoundError(f"no root {name!r}", hint=f"Recorded roots: {known}.")
        if len(matches) > 1:
            raise UsageError(
                f"{name!r} is a root of several collections",
                hint="Say which with -c NAME.",
            )
        self._engines.store.remove_root(
            matches[0].id, documents="delete" if delete_documents else "keep"
        )
        return {"removed": matches[0].label, "path": matches[0].path}


def sync_options(options: Mapping[str, object]) -> SyncOptions:
    """Return sync options from a call's parameters."""

    def globs(name: str) -> tuple[str, ...]:
        value = options.get(name)
        return tuple(str(v) for v in value) if isinstance(value, list | tuple) else ()

    jobs = options.get("jobs")
    return SyncOptions(
        include=globs("include"),
        exclude=globs("exclude"),
        prune=bool(options.get("prune", True)),
        confirmed=bool(options.get("yes", False)),
        checksum=bool(options.get("checksum", False)),
        dry_run=bool(options.get("dry_run", False)),
        jobs=jobs if isinstance(jobs, int) and jobs > 0 else 2,
    )


def check_document_path(name: str) -> str:
    """Return a caller's document name as a uri path.

    Raises:
        UsageError: It is empty, absolute, has `..` or control characters, or is too long.
    """
    parts = name.split("/")
    bad = (
        not name.strip()
        or any(part in {"", ".", ".."} for part in parts)
        or any(ord(ch) < 32 or ord(ch) == 127 for ch in name)
        or "\\" in name
        or len(name) > 1_000
    )
    if bad:
        raise UsageError(
            f"{name[:200]!r} cannot be a document's name",
            hint="Use names with / between them, such as notes/2026/plan.md.",
        )
    return name
