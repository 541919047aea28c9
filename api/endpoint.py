"""Where the owner of a home listens: a Unix socket, or a loopback port with a token."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kb.errors import StoreError

HAS_UNIX_SOCKETS = hasattr(socket, "AF_UNIX")
_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket and the secret a caller must show (empty for Unix sockets)."""

    server: socket.socket
    token: str
    path: Path

    def close(self) -> None:
        """Stop listening and take the name away."""
        self.server.close()
        with suppress(OSError):
            self.path.unlink()


def socket_path(home: Path) -> Path:
    """Return the socket's place: a private folder, named by a hash of the home's real path.

    Deep homes would exceed the 108 bytes that a socket's path may have.
    """
    name = hashlib.sha256(os.fsencode(os.path.realpath(home))).hexdigest()[:20]
    return _runtime_folder() / f"{name}.sock"


def _runtime_folder() -> Path:
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and Path(base).is_dir():
        return Path(base) / "kb"
    return Path(tempfile.gettempdir()) / f"kb-{os.getuid()}"


def _private_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise StoreError(
            f"{folder} is not a private folder of this user",
            hint="Remove it, or set XDG_RUNTIME_DIR to a folder of your own.",
        )


def listen(home: Path) -> Listener:
    """Open the owner's socket; the caller holds the home's lock, so a leftover may go.

    Raises:
        StoreError: The folder of the socket belongs to somebody else.
    """
    if HAS_UNIX_SOCKETS:
        path = socket_path(home)
        _private_folder(path.parent)
        with suppress(FileNotFoundError):
            path.unlink()
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(str(path))
        path.chmod(0o600)
        server.listen(_BACKLOG)
        return Listener(server, "", path)
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.bind(("127.0.0.1", 0))
    server.listen(_BACKLOG)
    token = secrets.token_hex(32)
    path = home / "owner.json"
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"port": server.getsockname()[1], "token": token}, file)
    return Listener(server, token, path)


def connect(home: Path) -> tuple[socket.socket, str] | None:
    """Return a connection to the home's owner and the token to show, or None without one."""
    if HAS_UNIX_SOCKETS:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client.connect(str(socket_path(home)))
        except OSError:
            client.close()
            return None
        return client, ""
    try:
        facts = json.loads((home / "owner.json").read_text(encoding="utf-8"))
        client = socket.create_connection(("127.0.0.1", facts["port"]), timeout=5)
    except (OSError, ValueError, KeyError):
        return None
    client.settimeout(None)
    return client, str(facts["token"])
