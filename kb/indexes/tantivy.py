"""Lexical search on tantivy over term ids written as words."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kb.errors import DamagedError
from kb.types import Ordinals, Ranking, TermIds

MAX_TERMS = 256
FIRST_FETCH = 4
HEAP_BYTES = 30_000_000
"""tantivy's least heap is 15 MB a thread."""

_TOKENIZER = "ids"


class TantivyIndex:
    """One tantivy index in a folder; safe for threads.

    Its scores order the candidates; exact BM25 over the visible chunks is computed from the
    catalog afterwards, since the engine's own counters still hold what was deleted.
    """

    def __init__(self, folder: Path) -> None:
        import tantivy

        self._tantivy = tantivy
        self._folder = folder
        self._lock = threading.RLock()
        self._writer: Any = None
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("key", stored=True, tokenizer_name="raw", index_option="basic")
        builder.add_text_field(
            "terms", stored=False, tokenizer_name=_TOKENIZER, index_option="freq"
        )
        self._schema = builder.build()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._index = tantivy.Index(self._schema, path=str(folder), reuse=True)
        except (ValueError, OSError) as error:
            raise DamagedError(
                f"the lexical index in {folder.name} cannot be opened: {error}",
                hint="It is rebuilt from the catalog.",
            ) from error
        self._register()

    def _register(self) -> None:
        tokenizer = self._tantivy.Tokenizer.whitespace()
        self._index.register_tokenizer(
            _TOKENIZER, self._tantivy.TextAnalyzerBuilder(tokenizer).build()
        )

    def add(self, ordinals: Sequence[int], terms: Sequence[TermIds]) -> None:
        """Stage chunks; adding an ordinal again replaces it."""
        with self._lock:
            writer = self._open_writer()
            for ordinal, ids in zip(ordinals, terms, strict=True):
                writer.delete_documents_by_term("key", str(ordinal))
                document = self._tantivy.Document()
                document.add_text("key", str(ordinal))
                document.add_text("terms", _words(ids))
                writer.add_document(document)

    def remove(self, ordinals: Sequence[int]) -> None:
        """Stage removals; unknown ordinals are ignored."""
        if not ordinals:
            return
        with self._lock:
            writer = self._open_writer()
            for ordinal in ordinals:
                writer.delete_documents_by_term("key", str(ordinal))

    def commit(self) -> None:
        """Make everything staged durable and searchable, and let the writer's threads go."""
        with self._lock:
            if self._writer is None:
                return
            writer, self._writer = self._writer, None
            writer.commit()
            writer.wait_merging_threads()
            self._index.reload()

    def search(
        self, weights: Mapping[int, float], *, k: int, allowed: Ordinals | None = None
    ) -> Ranking:
        """Return the best `k` allowed chunks that hold at least one term."""
        if not weights or k <= 0 or (allowed is not None and not len(allowed)):
            return Ranking.empty()
        query = self._query(weights)
        searcher = self._index.searcher()
        total = searcher.num_docs
        fetch = min(max(k * FIRST_FETCH, k + 16), max(total, 1))
        while True:
            hits = searcher.search(query, limit=fetch, count=False).hits
            keys = [int(searcher.doc(address)["key"][0]) for _, address in hits]
            ordinals = np.array(keys, dtype=np.int64)
            scores = np.array([score for score, _ in hits], dtype=np.float64)
            if allowed is not None and len(ordinals):
                places = np.minimum(np.searchsorted(allowed, ordinals), len(allowed) - 1)
                keep = allowed[places] == ordinals
                ordinals, scores = ordinals[keep], scores[keep]
            if len(ordinals) >= k or len(hits) < fetch or fetch >= total:
                return Ranking.of(ordinals, scores, k=k)
            fetch = min(fetch * 4, total)

    def count(self) -> int:
        """Return how many chunks can be found."""
        return int(self._index.searcher().num_docs)

    def close(self) -> None:
        """Drop what was not committed and let go of the files."""
        with self._lock:
            if self._writer is not None:
                self._writer.rollback()
                self._writer = None

    def clear(self) -> None:
        """Remove every chunk, for a rebuild."""
        with self._lock:
            self.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            self._index = self._tantivy.Index(self._schema, path=str(self._folder), reuse=False)
            self._register()

    def _open_writer(self) -> Any:
        if self._writer is None:
            self._writer = self._index.writer(heap_size=HEAP_BYTES, num_threads=1)
        return self._writer

    def _query(self, weights: Mapping[int, float]) -> Any:
        tantivy = self._tantivy
        # The heaviest terms decide; a question of thousands of words must not cost seconds.
        chosen = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_TERMS]
        clauses = []
        for number, weight in chosen:
            term = tantivy.Query.term_query(
                self._schema, "terms", _word(number), index_option="freq"
            )
            clauses.append((tantivy.Occur.Should, tantivy.Query.boost_query(term, float(weight))))
        return tantivy.Query.boolean_query(clauses)


def _word(number: int) -> str:
    return f"{number & 0xFFFFFFFFFFFFFFFF:016x}"


def _words(ids: TermIds) -> str:
    # Big-endian bytes, so that the hex of the whole is the words one after another.
    text = ids.astype(">i8").tobytes().hex()
    return " ".join(text[at : at + 16] for at in range(0, len(text), 16))
