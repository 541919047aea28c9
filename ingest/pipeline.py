"""From planned files to published documents: read, split, analyse, embed, publish in batches."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ingest.discover import Found
from ingest.passage import embedded_text, embedding_key, indexed_text
from ingest.plan import Plan, PlannedFile, SyncOptions
from ingest.reader import ReadDocument, read_document
from ingest.report import IngestReport
from ingest.split import ChunkRules, split
from ingest.workers import ParserPool
from kb.analyzer import Analyzer
from kb.errors import CancelledByUserError, DocumentError, KnowledgeBaseError, StoreError
from kb.ports import Embedder, Progress
from kb.store import DocumentFacts, Store
from kb.text import dominant_script
from kb.types import ChunkEntry, ParsedDocument, Receipt, Revision, Source, Vectors
from kb.uris import document_uri

logger = logging.getLogger(__name__)

BATCH_DOCUMENTS = 256
BATCH_CHUNKS = 2_000
BATCH_SECONDS = 1.0
EMBED_TEXTS = 64
"""Texts per call of the model: small enough that progress and Ctrl-C are felt."""


@dataclass(slots=True)
class _Batch:
    """Documents on their way to one publication."""

    revisions: list[Revision] = field(default_factory=list)
    texts: dict[bytes, str] = field(default_factory=dict)
    n_chunks: int = 0
    started_s: float = 0.0


class Ingestor:
    """Brings documents into one collection; one at a time per collection."""

    def __init__(
        self,
        store: Store,
        collection: str,
        *,
        embedder: Embedder,
        analyzer: Analyzer,
        rules: ChunkRules,
        pool: ParserPool,
        progress: Progress,
        cancelled: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._collection = collection
        self._embedder = embedder
        self._analyzer = analyzer
        self._rules = rules
        self._pool = pool
        self._progress = progress
        self._cancelled = cancelled
        self._clock = clock
        self._batch = _Batch()
        self.report = IngestReport(collection=collection)

    def run(self, plan: Plan, *, options: SyncOptions) -> IngestReport:
        """Carry out a plan; every published batch is durable when its events are sent.

        Raises:
            CancelledByUserError: On request; what was published stays.
            StoreError: The store cannot be written; what was published stays.
        """
        started = self._clock()
        self._note_plan(plan)
        if options.dry_run:
            self._preview(plan)
            return self.report
        for root_id, path in plan.lifted:
            self._store.lift_exclusion(root_id, path)
        self._progress({"event": "plan", "files": len(plan.files), "gone": len(plan.vanished)})
        for planned, outcome in self._read_all(plan.files, jobs=options.jobs):
            self._check_cancelled()
            if isinstance(outcome, ReadDocument):
                self._take(planned, outcome)
            else:
                self._fail(planned, outcome)
        self._publish()
        self._remove([document_id for document_id, _ in plan.vanished])
        for root_id in plan.synced_roots:
            self._store.touch_root(root_id)
        self.report.seconds = self._clock() - started
        return self.report

    def add_parsed(self, source: Source, parsed: ParsedDocument) -> Receipt:
        """Publish one document that is already read (an upload), as a batch of one."""
        self._add_revision(self._revision(source, parsed))
        receipts = self._publish()
        return receipts[0]

    def _note_plan(self, plan: Plan) -> None:
        self.report.unchanged = plan.n_unchanged
        for skipped in plan.skipped:
            self.report.skip(skipped.source, skipped.reason)
        for skipped in plan.unreadable:
            self.report.fail(
                skipped.source,
                DocumentError(
                    f"cannot be read: {skipped.reason}",
                    code="unreadable",
                    hint="Check its permissions and run the ingest again.",
                ),
            )

    def _preview(self, plan: Plan) -> None:
        self.report.dry_run = True
        self.report.added = sum(planned.known is None for planned in plan.files)
        self.report.updated = len(plan.files) - self.report.added
        self.report.deleted = len(plan.vanished)

    def _check_cancelled(self) -> None:
        if self._cancelled():
            raise CancelledByUserError(
                "stopped on request", hint="Run the same ingest again to go on where it stopped."
            )

    def _read_all(
        self, files: Sequence[PlannedFile], *, jobs: int
    ) -> Iterator[tuple[PlannedFile, ReadDocument | KnowledgeBaseError]]:
        """Read ahead in threads, a few files at a time, and hand over in order."""
        waiting: deque[tuple[PlannedFile, Future[ReadDocument]]] = deque()
        upcoming = iter(files)
        with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="parse") as threads:
            try:
                for planned in upcoming:
                    future = threads.submit(read_document, planned.found, self._pool, planned.known)
                    waiting.append((planned, future))
                    if len(waiting) >= 4 * jobs:
                        yield self._outcome(*waiting.popleft())
                while waiting:
                    yield self._outcome(*waiting.popleft())
            finally:
                for _, future in waiting:
                    future.cancel()

    def _outcome(
        self, planned: PlannedFile, future: Future[ReadDocument]
    ) -> tuple[PlannedFile, ReadDocument | KnowledgeBaseError]:
        try:
            return planned, future.result()
        except KnowledgeBaseError as error:
            return planned, error
        except Exception as error:
            logger.exception("unexpected error while reading a file")
            return planned, DocumentError(
                f"{type(error).__name__} while reading",
                code="damaged",
                hint="Run with --log-level debug to see where; the other files went on.",
            )

    def _take(self, planned: PlannedFile, read: ReadDocument) -> None:
        source = _source_of(planned, read)
        if read.skipped is not None:
            self.report.skip(planned.found.source, read.skipped)
            return
        if read.parsed is None:
            self._store.update_source(_known(planned).id, source)
            self.report.unchanged += 1
            return
        for warning in read.parsed.warnings:
            self.report.warn(planned.found.source, warning)
        try:
            revision = self._revision(source, read.parsed)
        except KnowledgeBaseError as error:
            if isinstance(error, StoreError):
                raise
            self._fail(planned, error)
            return
        self._add_revision(revision)
        batch = self._batch
        if (
            len(batch.revisions) >= BATCH_DOCUMENTS
            or batch.n_chunks >= BATCH_CHUNKS
            or self._clock() - batch.started_s >= BATCH_SECONDS
        ):
            self._publish()

    def _fail(self, planned: PlannedFile, error: KnowledgeBaseError) -> None:
        self.report.fail(planned.found.source, error)
        self._progress(
            {
                "event": "document",
                "uri": document_uri(self._collection, planned.path),
                "state": "failed",
                "revision": planned.known.revision if planned.known else None,
                "code": error.code,
            }
        )

    def _revision(self, source: Source, parsed: ParsedDocument) -> Revision:
        title = parsed.title or ""
        pieces = split(
            parsed.text,
            markup=parsed.markup,
            uri=document_uri(self._collection, source.path),
            title=title,
            pages=parsed.pages,
            rules=self._rules,
        )
        entries: list[ChunkEntry] = []
        for chunk in pieces.chunks:
            text = embedded_text(chunk, self._embedder)
            key = embedding_key(text)
            self._batch.texts[key] = text
            entries.append(
                ChunkEntry(
                    chunk=chunk,
                    terms=self._analyzer.passage_terms(indexed_text(chunk)),
                    script=dominant_script(chunk.core),
                    embedding_key=key,
                )
            )
        if not title.strip():
            headed = next((s.headings[-1] for s in pieces.sections if s.headings), "")
            title = headed or PurePosixPath(source.path).name
        return Revision(
            source=source,
            parsed=parsed,
            title=title,
            entries=tuple(entries),
            sections=pieces.sections,
        )

    def _add_revision(self, revision: Revision) -> None:
        if not self._batch.revisions:
            self._batch.started_s = self._clock()
        self._batch.revisions.append(revision)
        self._batch.n_chunks += len(revision.entries)

    def _publish(self) -> list[Receipt]:
        batch, self._batch = self._batch, _Batch()
        if not batch.revisions:
            return []
        vectors = self._embed(batch)
        receipts = self._store.publish(self._collection, batch.revisions, vectors=vectors)
        self.report.chunks_added += batch.n_chunks
        self.report.chunks_reused += batch.n_chunks - len(vectors)
        self._acknowledge(receipts)
        return receipts

    def _embed(self, batch: _Batch) -> dict[bytes, Vectors]:
        fingerprint = self._embedder.identity.fingerprint()
        used = {entry.embedding_key for r in batch.revisions for entry in r.entries}
        known = self._store.known_embeddings(fingerprint, sorted(used))
        missing = sorted(used - known, key=lambda key: len(batch.texts[key]))
        vectors: dict[bytes, Vectors] = {}
        for first in range(0, len(missing), EMBED_TEXTS):
            self._check_cancelled()
            keys = missing[first : first + EMBED_TEXTS]
            rows = self._embedder.embed_passages([batch.texts[key] for key in keys])
            vectors.update(zip(keys, rows, strict=True))
            self.report.embedded += len(keys)
            self._progress({"event": "embedded", "texts": len(keys)})
        return vectors

    def _remove(self, document_ids: Sequence[int]) -> None:
        for first in range(0, len(document_ids), BATCH_DOCUMENTS):
            self._check_cancelled()
            part = document_ids[first : first + BATCH_DOCUMENTS]
            self._acknowledge(self._store.publish(self._collection, [], vectors={}, deletions=part))

    def _acknowledge(self, receipts: Sequence[Receipt]) -> None:
        for receipt in receipts:
            setattr(self.report, receipt.state, getattr(self.report, receipt.state) + 1)
            self._progress(
                {
                    "event": "document",
                    "uri": document_uri(self._collection, receipt.path),
                    "state": receipt.state,
                    "revision": receipt.revision,
                }
            )


def _known(planned: PlannedFile) -> DocumentFacts:
    if planned.known is None:
        raise LookupError(planned.path)
    return planned.known


def _source_of(planned: PlannedFile, read: ReadDocument) -> Source:
    found: Found = planned.found
    return Source(
        path=planned.path,
        root_id=planned.root_id,
        source=found.source,
        size_bytes=read.size_bytes,
        mtime_ns=read.mtime_ns,
        inode=read.inode,
        read_at_ns=read.read_at_ns,
        content_hash=read.content_hash,
    )
