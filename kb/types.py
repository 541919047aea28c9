"""The words of the knowledge base as frozen values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NewType

import numpy as np
import numpy.typing as npt

ChunkId = NewType("ChunkId", str)
"""Public name of a chunk, stable while its own text and section stay the same."""

Ordinal = NewType("Ordinal", int)
"""Number of one stored chunk row, never used again; what the indexes speak of."""

Ordinals = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
TermIds = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PageSpan:
    """The characters `[start, end)` of a text that came from page `number` (1-based).

    A page is a PDF page, a slide, or a sheet, whichever the format has.
    """

    start: int
    end: int
    number: int


@dataclass(frozen=True, slots=True)
class DocumentWarning:
    """Something a reader of a document should know although it was taken in.

    Attributes:
        code: A stable word such as `no_text`, `encoding`, `pages_without_text`.
        message: One sentence for people.
        pages: The 1-based pages concerned, or None when it is about the whole.
    """

    code: str
    message: str
    pages: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """What a parser read from one source.

    Attributes:
        text: Line ends are line feeds, no BOM, no NUL; Markdown when `markup` says so.
        markup: `markdown`, `plain` or `code`: how the outline of `text` is found.
        title: The document's own title, or None to take its first heading or file name.
        media_type: Such as `text/markdown` or `application/pdf`.
        parser: Name and version of what read it, such as `pymupdf4llm 2.0.1`.
        pages: In order, not overlapping; empty for formats without pages.
        n_pages: Pages, slides or sheets in the source, None where there is no such thing.
        encoding: The encoding used for text formats, None for binary formats.
        metadata: Front matter, e-mail headers and the like; JSON values.
        warnings: What the receipt must say.
        n_images: Pictures met in the source, whether or not they left text.
        n_source_characters: Characters of the source's own text layer, None if unknown.
    """

    text: str
    markup: str
    media_type: str
    parser: str
    title: str | None = None
    pages: tuple[PageSpan, ...] = ()
    n_pages: int | None = None
    encoding: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[DocumentWarning, ...] = ()
    n_images: int = 0
    n_source_characters: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its body.

    Attributes:
        headings: Titles from the outermost to this one; empty for text before any heading.
        level: 1..6 as written, 0 for text before any heading.
        start: Where its heading line begins, code points into the text.
        end: Where the next section (of any level) begins.
        line: 1-based line of `start`.
    """

    headings: tuple[str, ...]
    level: int
    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document's text: what is indexed and ranked.

    Attributes:
        id: See `ChunkId`.
        headings: The path of headings it stands under (the common parent when merged).
        core: Exactly `text[start:end]`.
        start: Code points into the document's text.
        end: Exclusive.
        lines: First and last line, 1-based, inclusive.
        pages: First and last page, or None.
        prefix: Repeated context before a piece of a table or fence; not part of the text.
        suffix: What closes such a piece; not part of the text.
        overlap: Whole sentences from the end of the chunk before it, under the same path.
    """

    id: ChunkId
    headings: tuple[str, ...]
    core: str
    start: int
    end: int
    lines: tuple[int, int]
    pages: tuple[int, int] | None = None
    prefix: str = ""
    suffix: str = ""
    overlap: str = ""


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Everything that decides which vector a text gets; pinned in a collection.

    Attributes:
        name: As the user writes it, such as `BAAI/bge-m3` or `bundled`.
        revision: Version or content hash of the weights.
        dimension: Length of a vector.
        max_tokens: Longest text the model takes without being windowed.
        query_prefix: Put before a question (also when the engine adds it itself).
        passage_prefix: Put before a passage.
        pooling: `mean`, `cls` or `unknown` (remote).
        normalized: Whether vectors have length 1.
    """

    name: str
    revision: str
    dimension: int
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: str = "unknown"
    normalized: bool = True

    def fingerprint(self) -> str:
        """Return a short hash; vectors of different fingerprints never meet."""
        facts = json.dumps(
            [
                self.name,
                self.revision,
                self.dimension,
                self.max_tokens,
                self.query_prefix,
                self.passage_prefix,
                self.pooling,
                self.normalized,
            ],
            ensure_ascii=False,
        )
        return hashlib.sha256(facts.encode("utf-8")).hexdigest()[:16]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """What ONE scorer answered, best first.

    Attributes:
        ordinals: int64 (n,), no repeats.
        scores: float64 (n,), not increasing; equal scores stand by ordinal.
    """

    ordinals: Ordinals
    scores: Scores

    def __len__(self) -> int:
        """Return how many chunks are ranked."""
        return int(self.ordinals.shape[0])

    @classmethod
    def of(cls, ordinals: Ordinals, scores: Scores, *, k: int | None = None) -> Ranking:
        """Sort pairs into a ranking, best first, ties by ordinal, cut at `k`."""
        order = np.lexsort((ordinals, -scores))
        if k is not None:
            order = order[:k]
        return cls(ordinals[order].astype(np.int64), scores[order].astype(np.float64))

    @classmethod
    def empty(cls) -> Ranking:
        """Return a ranking of nothing."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float64))


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """One visible document of a collection, as the catalog knows it.

    Attributes:
        id: Catalog row, never used again.
        collection: Name of its collection.
        path: The part of the uri after the collection, decoded, `/` between names.
        root_id: The recorded root it was synced from, or None (uploads, single files).
        source: `file:///…` (percent-encoded real path) or None for uploads.
        size_bytes: Of the source when it was read.
        mtime_ns: Of the source when it was read; 0 for uploads.
        inode: Of the source when it was read; 0 for uploads.
        read_at_ns: Wall clock when reading began.
        content_hash: sha-256 hex of the source's bytes.
        revision: 1, 2, 3 … per document.
        title: Shown to people; never empty.
        media_type: Such as `text/markdown`.
        markup: `markdown`, `plain` or `code`.
        parser: Name and version of what read it.
        encoding: For text formats.
        n_chunks: How many chunks its visible revision has.
        n_characters: Length of its text in code points.
        n_pages: Or None.
        n_images: Pictures met in the source.
        n_source_characters: Of the source's text layer, None if unknown.
        metadata: JSON values.
        warnings: What the receipt said.
        indexed_at: RFC 3339 UTC, when the visible revision was published.
    """

    id: int
    collection: str
    path: str
    root_id: int | None
    source: str | None
    size_bytes: int
    mtime_ns: int
    inode: int
    read_at_ns: int
    content_hash: str
    revision: int
    title: str
    media_type: str
    markup: str
    parser: str
    encoding: str | None
    n_chunks: int
    n_characters: int
    n_pages: int | None
    n_images: int
    n_source_characters: int | None
    metadata: Mapping[str, object]
    warnings: tuple[DocumentWarning, ...]
    indexed_at: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A stored chunk with the document it belongs to.

    Attributes:
        ordinal: Its number in the indexes.
        sequence: 0-based place among the chunks of its document.
        chunk: The chunk; `core` has passed its checksum.
        document: The document's visible record.
    """

    ordinal: Ordinal
    sequence: int
    chunk: Chunk
    document: DocumentRecord


@dataclass(frozen=True, slots=True)
class Source:
    """Where a document comes from and how its file looked when it was read.

    Attributes:
        path: The uri's path, decoded.
        root_id: See `DocumentRecord`.
        source: `file:///…` or None.
        size_bytes: See `DocumentRecord`.
        mtime_ns: See `DocumentRecord`.
        inode: See `DocumentRecord`.
        read_at_ns: See `DocumentRecord`.
        content_hash: sha-256 hex of the bytes.
    """

    path: str
    root_id: int | None
    source: str | None
    size_bytes: int
    mtime_ns: int
    inode: int
    read_at_ns: int
    content_hash: str


@dataclass(frozen=True, slots=True, eq=False)
class ChunkEntry:
    """A chunk ready to be stored.

    Attributes:
        chunk: What the splitter made.
        terms: The analyzer's term ids of path + prefix + overlap + core, in text order.
        script: Dominant script of the core, one of `kb.text.SCRIPTS`.
        embedding_key: sha-256 of the exact text(s) that are embedded, 32 bytes.
    """

    chunk: Chunk
    terms: TermIds
    script: str
    embedding_key: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Revision:
    """A new version of one document, parsed, split and ready to publish.

    Attributes:
        source: Where it comes from.
        parsed: What the parser read; its `text` equals the chunks' cores joined, or is blank
            when there are no chunks.
        title: Never empty.
        entries: In text order.
        sections: The outline, in text order.
    """

    source: Source
    parsed: ParsedDocument
    title: str
    entries: tuple[ChunkEntry, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was made durable for one document.

    Attributes:
        path: The uri's path, decoded.
        state: `added`, `updated` or `deleted`.
        revision: The revision that is visible now (the last one when deleted).
    """

    path: str
    state: str
    revision: int
