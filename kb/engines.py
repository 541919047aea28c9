"""The open lexical and vector engines of each generation, kept in step with the catalog."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from kb.catalog.database import Database, RowSource, translated_errors
from kb.catalog.reading import terms_of, vectors_of
from kb.errors import DamagedError
from kb.faults import reach
from kb.ports import LexicalIndex, VectorIndex, VectorLoader
from kb.types import Ordinals, TermIds

logger = logging.getLogger(__name__)

LexicalFactory = Callable[[Path], LexicalIndex]
VectorFactory = Callable[[Path, int, VectorLoader], VectorIndex]

_BATCH = 5_000
_BESIDE = ".building"


class Engine:
    """The two indexes of one generation; safe for threads.

    They hold more than is visible: staged chunks, and dead ones until they are collected.

    Attributes:
        lexical: Holds the terms of every chunk row.
    """

    def __init__(
        self,
        database: Database,
        generation_id: int,
        *,
        folder: Path,
        lexical: LexicalIndex,
        vectors: VectorIndex,
    ) -> None:
        self._database = database
        self._generation_id = generation_id
        self._folder = folder
        self._vectors = vectors
        self._is_filled = False
        self._filling = threading.Lock()
        self.lexical = lexical

    def index(self, ordinals: Sequence[int], terms: Sequence[TermIds], *, dimension: int) -> None:
        """Add staged chunks: to the lexical index durably, to the vectors if they are filled.

        Raises:
            DiskFullError: There is no room.
        """
        with translated_errors(self._folder):
            self.lexical.add(ordinals, terms)
            self.lexical.commit()
        with self._filling:
            if self._is_filled:
                self._is_filled = False
                rows = np.array(ordinals, dtype=np.int64)
                self._vectors.add(rows, vectors_of(self._database, rows, dimension=dimension))
                self._is_filled = True

    def unindex(self, ordinals: Sequence[int]) -> None:
        """Take chunks out of both indexes, durably."""
        self.lexical.remove(ordinals)
        self.lexical.commit()
        with self._filling:
            self._vectors.remove(np.array(ordinals, dtype=np.int64))

    def vectors(self, dimension: int) -> VectorIndex:
        """Return the vector index, filled from the catalog when first asked for."""
        with self._filling:
            if not self._is_filled:
                ordinals = chunk_ordinals(self._database, self._generation_id)
                # An engine with files of its own may hold them already.
                if self._vectors.count() != len(ordinals):
                    for first in range(0, len(ordinals), _BATCH):
                        part = ordinals[first : first + _BATCH]
                        vectors = vectors_of(self._database, part, dimension=dimension)
                        self._vectors.add(part, vectors)
                self._is_filled = True
            return self._vectors

    def close(self) -> None:
        """Close both indexes."""
        self.lexical.close()
        self._vectors.close()


class EngineTable:
    """Opens engines when they are first needed and rebuilds those that do not fit the catalog."""

    def __init__(
        self,
        home: Path,
        database: Database,
        *,
        lexical_factory: LexicalFactory,
        vector_factory: VectorFactory,
    ) -> None:
        self._home = home
        self._database = database
        self._lexical_factory = lexical_factory
        self._vector_factory = vector_factory
        self._lock = threading.RLock()
        self._open: dict[int, Engine] = {}

    def of(self, generation_id: int) -> Engine:
        """Return a generation's engines, in step with the catalog."""
        engine = self._open.get(generation_id)
        if engine is not None:
            return engine
        with self._lock:
            if generation_id not in self._open:
                self._open[generation_id] = self._opened(generation_id)
            return self._open[generation_id]

    def unindex_unopened(self, generation_id: int, ordinals: Sequence[int]) -> None:
        """Take chunks out of an index that is not open yet, without a look at the rest."""
        try:
            lexical = self._lexical_factory(self._lexical_folder(generation_id))
        except DamagedError:
            return  # rebuilt when it is opened
        lexical.remove(ordinals)
        lexical.commit()
        lexical.close()

    def rebuild(self, generation_id: int) -> Engine:
        """Throw a generation's indexes away and build them anew from the catalog."""
        with self._lock:
            self.drop(generation_id)
            reach("rebuild.cleared")
            return self.of(generation_id)

    def build_beside(self, generation_id: int) -> None:
        """Write a fresh lexical index, without a trace of removed chunks, beside the old one."""
        folder = self._beside(generation_id)
        shutil.rmtree(folder, ignore_errors=True)
        lexical = self._lexical_factory(folder)
        self._add_all(lexical, generation_id)
        lexical.close()

    def swap(self, generation_id: int) -> None:
        """Put the index that was built beside in the old one's place; no view may be held."""
        folder = self._lexical_folder(generation_id)
        with self._lock:
            engine = self._open.get(generation_id)
            if engine is not None:
                engine.lexical.close()
            shutil.rmtree(folder, ignore_errors=True)
            reach("purge.dropped")
            self._beside(generation_id).rename(folder)
            if engine is not None:
                engine.lexical = self._lexical_factory(folder)

    def drop(self, generation_id: int) -> None:
        """Close and delete a generation's indexes."""
        with self._lock:
            engine = self._open.pop(generation_id, None)
            if engine is not None:
                engine.close()
            shutil.rmtree(self._lexical_folder(generation_id), ignore_errors=True)
            shutil.rmtree(self._vector_folder(generation_id), ignore_errors=True)

    def drop_unknown(self) -> None:
        """Delete the indexes of generations that the catalog does not know (any more)."""
        known = {str(number) for number in self.generation_ids()}
        for kind in ("lexical", "vectors"):
            folder = self._home / kind
            for child in folder.iterdir() if folder.is_dir() else ():
                if child.name not in known:
                    shutil.rmtree(child, ignore_errors=True)

    def close(self) -> None:
        """Close all engines."""
        with self._lock:
            for engine in self._open.values():
                engine.close()
            self._open.clear()

    def generation_ids(self) -> list[int]:
        """Return the generations that the catalog knows."""
        rows = self._database.rows("SELECT id FROM generations ORDER BY id")
        return [int(row[0]) for row in rows]

    def _opened(self, generation_id: int) -> Engine:
        folder = self._lexical_folder(generation_id)
        lexical = self._lexical_of(folder)
        expected = count_chunks(self._database, generation_id)
        held = lexical.count()
        if held != expected:
            if held:
                logger.warning(
                    "lexical index is out of step and is rebuilt",
                    extra={"generation": generation_id, "held": held, "expected": expected},
                )
                lexical.close()
                shutil.rmtree(folder, ignore_errors=True)
                lexical = self._lexical_factory(folder)
            self._add_all(lexical, generation_id)
        rows = self._database.rows(
            "SELECT json_extract(model, '$.dimension') FROM generations WHERE id = ?",
            (generation_id,),
        )
        dimension = int(rows[0][0])
        vectors = self._vector_factory(
            self._vector_folder(generation_id),
            dimension,
            lambda ordinals: vectors_of(self._database, ordinals, dimension=dimension),
        )
        return Engine(
            self._database, generation_id, folder=folder, lexical=lexical, vectors=vectors
        )

    def _lexical_of(self, folder: Path) -> LexicalIndex:
        try:
            return self._lexical_factory(folder)
        except DamagedError as error:
            logger.warning("lexical index is damaged and is rebuilt", extra={"why": error.message})
            shutil.rmtree(folder, ignore_errors=True)
            return self._lexical_factory(folder)

    def _add_all(self, lexical: LexicalIndex, generation_id: int) -> None:
        ordinals = chunk_ordinals(self._database, generation_id)
        for first in range(0, len(ordinals), _BATCH):
            part = ordinals[first : first + _BATCH]
            flat, offsets = terms_of(self._database, part)
            lexical.add(part.tolist(), np.split(flat, offsets[1:-1]))
        lexical.commit()

    def _lexical_folder(self, generation_id: int) -> Path:
        return self._home / "lexical" / str(generation_id)

    def _vector_folder(self, generation_id: int) -> Path:
        return self._home / "vectors" / str(generation_id)

    def _beside(self, generation_id: int) -> Path:
        return self._home / "lexical" / f"{generation_id}{_BESIDE}"


def chunk_ordinals(source: RowSource, generation_id: int) -> Ordinals:
    """Return every chunk row of a generation, sorted: visible, staged, or dead but there yet."""
    rows = source.rows(
        "SELECT ordinal FROM chunks WHERE generation_id = ? ORDER BY ordinal", (generation_id,)
    )
    return np.array([row[0] for row in rows], dtype=np.int64)


def count_chunks(source: RowSource, generation_id: int) -> int:
    """Return how many chunk rows a generation has, from the counters alone."""
    rows = source.rows(
        "SELECT g.n_chunks + (SELECT coalesce(sum(r.n_chunks), 0) FROM revisions r "
        "WHERE r.generation_id = g.id AND r.state <> 'live') FROM generations g WHERE g.id = ?",
        (generation_id,),
    )
    return int(rows[0][0]) if rows else 0
