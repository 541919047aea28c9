"""The one process that owns a home: it holds the lock, the engines and the socket."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import kb
from api.endpoint import Listener, listen
from api.problems import to_wire
from api.scope import EVERYTHING
from api.services.operations import Operations
from api.wiring import Engines
from kb.errors import CancelledByUserError, UsageError
from kb.home import HomeLock
from kb.settings import Settings

logger = logging.getLogger(__name__)

PROTOCOL = 1
_GARBAGE_EVERY_S = 5.0

Session = Callable[["Owner", BinaryIO, BinaryIO, Mapping[str, object]], None]


class Owner:
    """Answers operations on one home, from this process and over its socket.

    Args:
        home: The home; the lock is already held.
        lock: Released on close.
        settings: Effective settings.
        kind: `command`, `background` or `serve`: what holds the home.
    """

    def __init__(self, home: Path, lock: HomeLock, *, settings: Settings, kind: str) -> None:
        self.home = home
        self.kind = kind
        self.engines = Engines(home, settings)
        self.operations = Operations(self.engines)
        self.sessions: dict[str, Session] = {}
        self.draining = threading.Event()
        self._lock = lock
        self._active = 0
        self._last_active_s = time.monotonic()
        self._changed = threading.Condition()
        self._listener: Listener | None = None
        self._connections: set[socket.socket] = set()
        self._stop_garbage = threading.Event()
        self._garbage = threading.Thread(target=self._collect, name="garbage", daemon=True)

    def __enter__(self) -> Owner:
        """Start listening."""
        self._listener = listen(self.home)
        threading.Thread(target=self._accept, name="owner-accept", daemon=True).start()
        self._garbage.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Drain and close."""
        self.close()

    def idle_for_s(self) -> float:
        """Return how long nobody has been connected; 0 while somebody is."""
        with self._changed:
            return 0.0 if self._active else time.monotonic() - self._last_active_s

    def close(self, *, patience_s: float = 30.0) -> None:
        """Stop listening, let running operations end, close the engines, free the home."""
        self.draining.set()
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        with self._changed:
            self._changed.wait_for(lambda: self._active == 0, timeout=patience_s)
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._stop_garbage.set()
        if self._garbage.is_alive():
            self._garbage.join(timeout=patience_s)
        self.engines.close()
        self._lock.release()

    def _collect(self) -> None:
        while not self._stop_garbage.wait(_GARBAGE_EVERY_S):
            try:
                self.engines.store.collect_garbage(max_chunks=2_000)
            except Exception:
                logger.exception("garbage collection failed")

    def _accept(self) -> None:
        listener = self._listener
        while listener is not None:
            try:
                connection, _ = listener.server.accept()
            except OSError:
                return
            self._connections.add(connection)
            threading.Thread(
                target=self._serve, args=(connection, listener.token), daemon=True
            ).start()

    def _serve(self, connection: socket.socket, token: str) -> None:
        reader, writer = connection.makefile("rb"), connection.makefile("wb")
        try:
            self._converse(reader, writer, token)
        except (OSError, ValueError):
            # The caller went away; what it asked for is over or cancelled by then.
            logger.debug("connection ended")
        finally:
            for end in (writer, reader, connection):
                with suppress(OSError, ValueError):
                    end.close()
            self._connections.discard(connection)

    def _converse(self, reader: BinaryIO, writer: BinaryIO, token: str) -> None:
        line = reader.readline(64_000_000)
        if not line:
            return
        request = json.loads(line)
        if request.get("token", "") != token:
            return
        if request.get("version") != kb.__version__ or request.get("protocol") != PROTOCOL:
            error = UsageError(
                f"the running server is kb {kb.__version__}, this command is "
                f"kb {request.get('version')}",
                code="version_mismatch",
                hint="Stop the server (`kb serve --stop`) and try again.",
            )
            if request["op"] not in {"server.stop", "server.status"}:
                _send(writer, {"error": to_wire(error)})
                return
        session = self.sessions.get(request["op"])
        self._enter(is_session=session is not None)
        try:
            if session is not None:
                session(self, reader, writer, request["params"])
            else:
                self._operate(request, reader, writer)
        finally:
            self._leave()

    def _operate(self, request: dict[str, object], reader: BinaryIO, writer: BinaryIO) -> None:
        gone = threading.Event()

        def watch() -> None:
            # One operation a connection: bytes or an end after the request mean "stop".
            with suppress(OSError, ValueError):
                reader.read(1)
            gone.set()

        threading.Thread(target=watch, daemon=True).start()

        def emit(event: Mapping[str, object]) -> None:
            if gone.is_set():
                raise CancelledByUserError("the caller went away")
            _send(writer, {"event": event})

        params = request["params"]
        if not isinstance(params, dict):
            raise TypeError(params)
        try:
            result = self.operations.call(
                str(request["op"]), params, scope=EVERYTHING, emit=emit, cancelled=gone.is_set
            )
            notices = self.engines.take_notices()
            _send(writer, {"result": result, "notices": notices})
        except Exception as error:  # noqa: BLE001
            logger.debug("operation failed", exc_info=True)
            with suppress(OSError):
                _send(writer, {"error": to_wire(error), "notices": self.engines.take_notices()})

    def _enter(self, *, is_session: bool) -> None:  # noqa: ARG002
        with self._changed:
            self._active += 1

    def _leave(self) -> None:
        with self._changed:
            self._active -= 1
            self._last_active_s = time.monotonic()
            self._changed.notify_all()


def _send(writer: BinaryIO, frame: Mapping[str, object]) -> None:
    writer.write(json.dumps(frame, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    writer.flush()
