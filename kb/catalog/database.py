"""The SQLite file of a home: opened, migrated, written by one thread at a time, read by many."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from kb.catalog.schema import FORMAT_VERSION, MIGRATIONS
from kb.errors import DamagedError, DiskFullError, NewerFormatError, StoreError

BUSY_TIMEOUT_S = 30.0
WRITER_CACHE_KIB = 65_536
READER_CACHE_KIB = 8_192
MAX_IDLE_READERS = 8
WAL_KEPT_BYTES = 64 * 2**20
"""What the log's file is cut back to after a large publication."""

_APPLICATION_ID = 0x6B620001
_NO_ROOM_BYTES = 65_536

Rows = list[Any]


class RowSource(Protocol):
    """Something that answers queries: the database as it is now, or a snapshot of it."""

    def rows(self, query: str, parameters: Sequence[object] = ()) -> Rows:
        """Return all rows of a query."""


class Snapshot:
    """The database as it was at one moment; safe for threads."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._lock = threading.Lock()

    def rows(self, query: str, parameters: Sequence[object] = ()) -> Rows:
        """Return all rows of a query."""
        with self._lock, translated_errors(self._path):
            return self._connection.execute(query, parameters).fetchall()


class Database:
    """One writer connection behind a lock, and a pool of reader connections.

    A commit of the writer is durable when it returns: WAL with `synchronous=FULL`.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the file and bring it to the present format.

        Raises:
            NewerFormatError: Written by a newer kb.
            DamagedError: It is no catalog, or not sound.
            DiskFullError: There is no room.
            StoreError: It cannot be used.
        """
        self._path = path
        self._write_lock = threading.RLock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        with translated_errors(path):
            # The log and the shared memory take the file's mode, so it is right from the start.
            path.touch(mode=0o600)
            self._writer = self._connect(WRITER_CACHE_KIB)
            try:
                self._migrate()
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the writer inside one transaction, committed at the end, undone on an error.

        Raises:
            DiskFullError: There is no room.
            DamagedError: The file is not sound.
        """
        with self._write_lock, translated_errors(self._path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._writer.execute("ROLLBACK")
                raise

    def rows(self, query: str, parameters: Sequence[object] = ()) -> Rows:
        """Return all rows of a query, read from the last committed state."""
        with translated_errors(self._path), self._borrowed() as connection:
            return connection.execute(query, parameters).fetchall()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Yield the database as it is now; what is committed later does not show in it."""
        with self._borrowed() as connection:
            with translated_errors(self._path):
                connection.execute("BEGIN")
                # A deferred transaction begins with its first read.
                connection.execute("SELECT 1 FROM meta LIMIT 1").fetchall()
            try:
                yield Snapshot(self._path, connection)
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")

    def vacuum(self) -> None:
        """Rewrite the file, so that nothing deleted is left in it."""
        with self._write_lock, translated_errors(self._path):
            # The copy is as large as the catalog: it goes to an unlinked file, not to memory.
            self._writer.execute("PRAGMA temp_store=FILE")
            try:
                self._writer.execute("VACUUM")
            finally:
                self._writer.execute("PRAGMA temp_store=MEMORY")

    def truncate_log(self) -> bool:
        """Fold the log into the file and empty it; False if a reader was in the way."""
        with self._write_lock, translated_errors(self._path):
            busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            return not busy

    def close(self) -> None:
        """Close every connection; the last one folds the log into the file."""
        self._closed = True
        while self._idle:
            with suppress(sqlite3.Error):
                self._idle.pop().close()
        with self._write_lock, suppress(sqlite3.Error):
            self._writer.close()

    @contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Connection]:
        # A list's append and pop are atomic; the last one given back has the warmest cache.
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect(READER_CACHE_KIB)
            connection.execute("PRAGMA query_only=ON")
        try:
            yield connection
        finally:
            if self._closed or len(self._idle) >= MAX_IDLE_READERS:
                connection.close()
            else:
                self._idle.append(connection)

    def _connect(self, cache_kib: int) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA cache_size=-{cache_kib}")
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA temp_store=MEMORY")
        return connection

    def _migrate(self) -> None:
        writer = self._writer
        application = int(writer.execute("PRAGMA application_id").fetchone()[0])
        n_tables = int(writer.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
        if n_tables and application != _APPLICATION_ID:
            raise DamagedError(
                f"{self._path.name} is no catalog of kb",
                hint="Choose another home (--home DIR), or move that file away.",
            )
        version = int(writer.execute("PRAGMA user_version").fetchone()[0])
        if version > FORMAT_VERSION:
            raise NewerFormatError(
                f"the home has format {version}, this kb knows up to {FORMAT_VERSION}",
                hint="Use the newer kb that wrote it, or another home (--home DIR).",
            )
        if str(writer.execute("PRAGMA journal_mode=WAL").fetchone()[0]) != "wal":
            raise StoreError(
                f"{self._path.parent} cannot hold a write-ahead log",
                hint="Network file systems often cannot: choose a home on a local disk.",
            )
        writer.execute(f"PRAGMA journal_size_limit={WAL_KEPT_BYTES}")
        for number in range(version, FORMAT_VERSION):
            script = f"BEGIN IMMEDIATE;{MIGRATIONS[number]};PRAGMA user_version={number + 1};"
            script += f"PRAGMA application_id={_APPLICATION_ID};COMMIT;"
            writer.executescript(script)


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about the file at `path` into ours.

    Raises:
        DiskFullError: There is no room.
        DamagedError: The file is not sound.
        StoreError: Anything else.
    """
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise  # a mistake of ours, no state of the home
    except sqlite3.Error as error:
        raise _translated(error, path) from error
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise no_room(path.parent) from error
        raise StoreError(
            f"{path} cannot be used: {error.strerror}",
            hint="Check the permissions of the home, or choose another with --home DIR.",
        ) from error


def no_room(folder: Path) -> DiskFullError:
    """Return the error for a full disk."""
    return DiskFullError(
        f"no room left on the disk of {folder}",
        hint="Free some space and run the same command again; everything acknowledged is kept.",
    )


def _translated(error: sqlite3.Error, path: Path) -> StoreError:
    # The low byte is the kind; the rest says more about it.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path.parent)):
        return no_room(path.parent)
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return DamagedError(
            f"the catalog {path.name} is damaged: {error}",
            hint="Restore a snapshot (`kb snapshot restore FILE`) into a new home, or ingest the "
            "folders again there (--home DIR).",
        )
    return StoreError(
        f"the catalog cannot be used: {error}",
        hint="Check the permissions and the free space of the home.",
    )


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _NO_ROOM_BYTES
    except OSError:
        return False
