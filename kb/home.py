"""The folder that holds one installation, and the lock that says who owns it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType

import platformdirs

from kb.errors import StoreError

LOCK_NAME = "owner.lock"


def resolve_home(explicit: str | None = None) -> Path:
    """Return the home: the argument, else `KB_HOME`, else the user's data folder; made 0700.

    Raises:
        StoreError: It cannot be created or is no folder.
    """
    chosen = explicit or os.environ.get("KB_HOME")
    home = Path(chosen).expanduser() if chosen else _user_folder()
    try:
        if not home.exists():
            home.mkdir(mode=0o700, parents=True)
        if not home.is_dir():
            raise NotADirectoryError(20, "not a folder", str(home))
    except OSError as error:
        raise StoreError(
            f"the home {home} cannot be used: {error.strerror}",
            hint="Choose another with --home DIR or KB_HOME.",
        ) from error
    return home.resolve()


def _user_folder() -> Path:
    return Path(platformdirs.user_data_dir("kb", appauthor=False))


class HomeLock:
    """An operating-system lock on a home: it goes when its process does, however that ends."""

    def __init__(self, home: Path) -> None:
        self._path = home / LOCK_NAME
        self._descriptor: int | None = None

    def try_acquire(self) -> bool:
        """Take the lock if nobody holds it; return whether it is held now."""
        if self._descriptor is not None:
            return True
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be opened: {error.strerror}",
                hint="Check the permissions of the home, or choose another with --home DIR.",
            ) from error
        if not _lock(descriptor):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let the lock go; closing the file is what frees it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> HomeLock:
        """Take the lock.

        Raises:
            StoreError: Somebody holds it.
        """
        if not self.try_acquire():
            raise StoreError(f"{self._path.parent} is in use", hint="Try again when it is free.")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let the lock go."""
        self.release()


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
