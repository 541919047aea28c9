"""What one ingest did, as it is told to people and programs."""

from __future__ import annotations

from dataclasses import dataclass, field

from kb.errors import KnowledgeBaseError
from kb.types import DocumentWarning


@dataclass(slots=True)
class IngestReport:
    """Counts and lists that grow while an ingest runs.

    Attributes:
        collection: Where the documents went; None when several collections were synced.
        added: Documents that were not there before.
        updated: Documents whose text or metadata was replaced.
        unchanged: Documents that cost no parsing and no embedding.
        deleted: Documents removed because their file is gone or newly ignored.
        skipped: Files left out by a rule, with the rule.
        failed: Files that could not be read; their last good version stays.
        warnings: What is odd about documents that were taken in.
        chunks_added: Chunks published.
        chunks_reused: Of these, how many had their vector in the cache.
        embedded: Texts that went through the model.
        seconds: Wall time.
        dry_run: Whether nothing was changed.
    """

    collection: str | None
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    skipped: list[dict[str, object]] = field(default_factory=list)
    failed: list[dict[str, object]] = field(default_factory=list)
    warnings: list[dict[str, object]] = field(default_factory=list)
    chunks_added: int = 0
    chunks_reused: int = 0
    embedded: int = 0
    seconds: float = 0.0
    dry_run: bool = False

    def skip(self, source: str, reason: str) -> None:
        """Note a file that a rule left out."""
        self.skipped.append({"source": source, "reason": reason})

    def fail(self, source: str, error: KnowledgeBaseError) -> None:
        """Note a file that could not be read."""
        self.failed.append(
            {"source": source, "code": error.code, "error": error.message, "hint": error.hint}
        )

    def warn(self, source: str, warning: DocumentWarning) -> None:
        """Note something odd about a document that was taken in."""
        entry: dict[str, object] = {
            "source": source,
            "code": warning.code,
            "message": warning.message,
        }
        if warning.pages is not None:
            entry["pages"] = list(warning.pages)
        self.warnings.append(entry)

    def add(self, other: IngestReport) -> None:
        """Take in the counts and lists of another report."""
        for name in ("added", "updated", "unchanged", "deleted"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("chunks_added", "chunks_reused", "embedded"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.skipped += other.skipped
        self.failed += other.failed
        self.warnings += other.warnings
        self.seconds += other.seconds

    def to_json(self) -> dict[str, object]:
        """Return the receipt's JSON object, keys in the contract's order."""
        result: dict[str, object] = {
            "collection": self.collection,
            "added": self.added,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "deleted": self.deleted,
            "skipped": self.skipped,
            "failed": self.failed,
            "warnings": self.warnings,
            "chunks_added": self.chunks_added,
            "chunks_reused": self.chunks_reused,
            "embedded": self.embedded,
            "seconds": round(self.seconds, 3),
        }
        if self.dry_run:
            result["dry_run"] = True
        return result
