"""How a command reaches the knowledge base: through the owner, or by becoming it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import kb
from api.endpoint import connect
from api.problems import from_wire
from kb.errors import HomeLockedError, KnowledgeBaseError
from kb.home import HomeLock
from kb.settings import Settings

if TYPE_CHECKING:
    from api.owner import Owner

Emit = Callable[[Mapping[str, object]], None]

_PATIENCE_S = 20.0
_PAUSE_S = 0.02
PROTOCOL = 1


class Connection(Protocol):
    """Calls operations by name."""

    def call(self, op: str, params: Mapping[str, object], *, emit: Emit) -> dict[str, object]:
        """Carry out one operation.

        Raises:
            KnowledgeBaseError: As the operation raised it.
        """

    def close(self) -> None:
        """Let go of the home."""


class RemoteConnection:
    """Speaks to the owner over its socket, one connection an operation."""

    def __init__(self, home: Path, notice: Callable[[str], None]) -> None:
        self._home = home
        self._notice = notice

    def call(self, op: str, params: Mapping[str, object], *, emit: Emit) -> dict[str, object]:
        """Carry out one operation in the owner.

        Raises:
            HomeLockedError: The owner went away before it answered.
            KnowledgeBaseError: As the operation raised it.
        """
        opened = connect(self._home)
        if opened is None:
            raise HomeLockedError(
                "the process that owns this home does not answer",
                hint="Try again; `kb serve --status` shows who owns it.",
            )
        client, token = opened
        request = {
            "op": op,
            "params": params,
            "token": token,
            "version": kb.__version__,
            "protocol": PROTOCOL,
        }
        with client, client.makefile("rb") as reader:
            client.sendall(json.dumps(request).encode() + b"\n")
            for line in reader:
                frame = json.loads(line)
                for notice in frame.get("notices", ()):
                    self._notice(notice)
                if "event" in frame:
                    emit(frame["event"])
                elif "error" in frame:
                    raise from_wire(frame["error"])
                else:
                    result: dict[str, object] = frame["result"]
                    return result
        raise OwnerGoneError("the process that owned this home ended before it answered")

    def close(self) -> None:
        """Nothing is held between operations."""


class OwnerGoneError(HomeLockedError):
    """The owner ended in the middle of an operation; what it acknowledged is kept."""

    def __init__(
        self, message: str, *, hint: str = "Run the command again.", code: str = ""
    ) -> None:
        super().__init__(message, hint=hint, code=code)


class LocalConnection:
    """This process owns the home for the length of a command."""

    def __init__(self, owner: Owner, notice: Callable[[str], None]) -> None:
        self.owner = owner
        self._notice = notice

    def call(self, op: str, params: Mapping[str, object], *, emit: Emit) -> dict[str, object]:
        """Carry out one operation here.

        Raises:
            KnowledgeBaseError: As the operation raised it.
        """
        from api.scope import EVERYTHING

        try:
            return self.owner.operations.call(
                op, dict(params), scope=EVERYTHING, emit=emit, cancelled=lambda: False
            )
        finally:
            for notice in self.owner.engines.take_notices():
                self._notice(notice)

    def close(self) -> None:
        """Free the home; others' running operations are let end first."""
        self.owner.close()


def open_home(
    home: Path, settings: Settings, *, notice: Callable[[str], None], kind: str = "command"
) -> Connection:
    """Return a way to the home: its owner's socket, or ownership.

    Raises:
        HomeLockedError: Somebody holds the lock and does not answer.
        StoreError: The home cannot be used.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        opened = connect(home)
        if opened is not None:
            opened[0].close()
            return RemoteConnection(home, notice)
        lock = HomeLock(home)
        if lock.try_acquire():
            return LocalConnection(_become_owner(home, lock, settings=settings, kind=kind), notice)
        if time.monotonic() > deadline:
            raise HomeLockedError(
                f"{home} is owned by a process that does not answer",
                hint="It may be shutting down: try again. Else end that process.",
            )
        time.sleep(_PAUSE_S)


def _become_owner(home: Path, lock: HomeLock, *, settings: Settings, kind: str) -> Owner:
    from api.owner import Owner

    owner: Owner | None = None
    try:
        owner = Owner(home, lock, settings=settings, kind=kind)
        owner.__enter__()
    except BaseException:
        with suppress(KnowledgeBaseError, OSError):
            if owner is not None:
                owner.engines.close()
        lock.release()
        raise
    return owner
