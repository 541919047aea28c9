"""Walks folders: which files are there, and which a rule leaves out."""

from __future__ import annotations

import os
import stat
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pathspec

IGNORE_FILES = (".gitignore", ".kbignore")


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file that no rule leaves out.

    Attributes:
        relative: Path below the root, `/` between names, undecodable bytes as `\\xff`.
        source: Its `file:` URL.
        path: Where it lies.
        size_bytes: When it was looked at.
        mtime_ns: When it was looked at.
        inode: When it was looked at.
    """

    relative: str
    source: str
    path: Path
    size_bytes: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is left out.

    Attributes:
        relative: See `Found`.
        source: Its `file:` URL.
        reason: `hidden`, `ignored`, `symlink`, `special`, `temporary`, or the error's words.
        failed: Whether it could not be looked at, rather than being left out by a rule.
    """

    relative: str
    source: str
    reason: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _Rules:
    """The ignore file(s) of one folder."""

    folder: Path
    spec: pathspec.GitIgnoreSpec


def file_url(path: Path) -> str:
    """Return the `file:` URL of an absolute path, percent-encoded from its bytes."""
    return "file://" + urllib.parse.quote(os.fsencode(path.as_posix()), safe="/:~")


def discover(root: Path) -> Iterator[Found | Skipped]:
    """Yield every file below a folder and what was left out, in the order of names.

    `.gitignore` and `.kbignore` hold as git reads them, also those above the root inside the
    same repository. A hidden or ignored folder is one entry. Symbolic links are not followed.
    """
    stack: list[tuple[Path, tuple[_Rules, ...]]] = [(root, _rules_above(root))]
    while stack:
        folder, inherited = stack.pop()
        relative = _relative(root, folder)
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(relative, file_url(folder), error.strerror or "unreadable", failed=True)
            continue
        rules = (*inherited, *_rules_of(folder))
        folders: list[tuple[Path, tuple[_Rules, ...]]] = []
        for entry in listed:
            reason = _left_out(entry, rules)
            path = Path(entry.path)
            if reason:
                yield Skipped(_relative(root, path), file_url(path), reason)
            elif entry.is_dir(follow_symlinks=False):
                folders.append((path, rules))
            else:
                yield _looked_at(path, _relative(root, path))
        stack += reversed(folders)


def found_file(path: Path) -> Found | Skipped:
    """Look at a file that was named itself: no ignore rule applies."""
    return _looked_at(path, printable_name(path.name))


def printable_name(name: str) -> str:
    """Return a name as text; bytes that are no UTF-8 show as `\\xff`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _relative(root: Path, path: Path) -> str:
    return printable_name(path.relative_to(root).as_posix())


def _looked_at(path: Path, relative: str) -> Found | Skipped:
    try:
        status = path.stat()
    except OSError as error:
        return Skipped(relative, file_url(path), error.strerror or "unreadable", failed=True)
    if not stat.S_ISREG(status.st_mode):
        return Skipped(relative, file_url(path), "special")
    return Found(
        relative=relative,
        source=file_url(path),
        path=path,
        size_bytes=status.st_size,
        mtime_ns=status.st_mtime_ns,
        inode=status.st_ino,
    )


def _left_out(entry: os.DirEntry[str], rules: Sequence[_Rules]) -> str:
    if entry.name.startswith("."):
        return "hidden"
    if entry.is_symlink():
        return "symlink"
    is_folder = entry.is_dir(follow_symlinks=False)
    if not is_folder and not entry.is_file(follow_symlinks=False):
        return "special"
    if not is_folder and entry.name.startswith("~$"):
        return "temporary"  # the lock file of an open Office document
    return "ignored" if _is_ignored(Path(entry.path), rules, is_folder=is_folder) else ""


def _is_ignored(path: Path, rules: Sequence[_Rules], *, is_folder: bool) -> bool:
    # As git does it: the innermost file that says anything decides.
    for rule in reversed(rules):
        name = path.relative_to(rule.folder).as_posix() + ("/" if is_folder else "")
        verdict = rule.spec.check_file(name).include
        if verdict is not None:
            return verdict
    return False


def _rules_of(folder: Path) -> list[_Rules]:
    found: list[_Rules] = []
    for name in IGNORE_FILES:
        try:
            lines = (folder / name).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        found.append(_Rules(folder, pathspec.GitIgnoreSpec.from_lines(lines)))
    return found


def _rules_above(root: Path) -> tuple[_Rules, ...]:
    """Return the rules of the folders above a root up to the top of its repository."""
    if (root / ".git").exists():
        return ()
    above: list[Path] = []
    for parent in root.parents:
        above.append(parent)
        if (parent / ".git").exists():
            return tuple(rule for folder in reversed(above) for rule in _rules_of(folder))
    return ()
