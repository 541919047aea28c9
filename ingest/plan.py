"""What a sync has to do: compare the files of roots with what the catalog knows of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ingest.discover import Found, Skipped, discover, file_url, found_file, printable_name
from kb.errors import UsageError
from kb.globs import path_filter
from kb.store import DocumentFacts, RootRecord, Store

SETTLED_NS = 2_000_000_000
"""A file changed less than 2 s before it was read may change again within its mtime's grain."""

GUARD_MIN_DOCUMENTS = 20
GUARD_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How a sync treats what it finds.

    Attributes:
        include: Globs; a file must match one, when there are any.
        exclude: Globs; a file must match none.
        prune: Whether documents whose file is gone leave.
        confirmed: Whether a mass deletion or an emptied root is wanted (`--yes`).
        checksum: Whether every file is hashed, whatever its times say.
        dry_run: Whether nothing is changed.
        jobs: Files parsed at once.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    prune: bool = True
    confirmed: bool = False
    checksum: bool = False
    dry_run: bool = False
    jobs: int = 2


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file that must be read, and what is known of its document."""

    found: Found
    path: str
    root_id: int | None
    known: DocumentFacts | None


@dataclass(slots=True)
class Plan:
    """Work for one collection, complete before anything is changed.

    Attributes:
        files: To be read.
        n_unchanged: Files whose document needs nothing.
        vanished: Document rows and paths to remove.
        skipped: Files left out by a rule.
        unreadable: Folders and files that could not be looked at.
        new_roots: Folders met for the first time.
        notices: For stderr.
        lifted: (root, path) exclusions to lift.
        synced_roots: Roots that were walked as a whole.
    """

    files: list[PlannedFile] = field(default_factory=list)
    n_unchanged: int = 0
    vanished: list[tuple[int, str]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    unreadable: list[Skipped] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    lifted: list[tuple[int, str]] = field(default_factory=list)
    synced_roots: list[int] = field(default_factory=list)


def check_paths(paths: Sequence[str]) -> list[Path]:
    """Return the real paths; nothing is changed when one of them does not exist.

    Raises:
        UsageError: A path is missing, or neither a file nor a folder.
    """
    missing = [path for path in paths if not os.path.lexists(path) or not Path(path).exists()]
    if missing:
        raise UsageError(
            f"no such file or folder: {', '.join(missing)}",
            code="path_missing",
            hint="Check the spelling; nothing was changed.",
        )
    return [Path(os.path.realpath(path)) for path in paths]


def plan_sync(
    store: Store, collection: str, paths: Sequence[Path], *, options: SyncOptions
) -> Plan:
    """Compare real paths with the catalog.

    Roots met for the first time are recorded, unless this is a dry run.

    Raises:
        UsageError: A root with documents is gone, empty or unreadable, or most of it
            vanished, and that was not confirmed. Nothing is changed then.
    """
    plan = Plan()
    taken: set[str] = set()
    for path in paths:
        if path.is_dir():
            root = store.root_for(collection, str(path)) or _new_root(
                store, collection, path, plan=plan, dry_run=options.dry_run
            )
            _plan_root(store, root, path, plan=plan, options=options)
        else:
            _plan_file(store, collection, path, plan=plan, options=options, taken=taken)
    return plan


def plan_missing_root(store: Store, root: RootRecord, *, options: SyncOptions) -> Plan:
    """Plan for a recorded root whose folder is gone: an error unless confirmed."""
    known = store.document_facts(root.id)
    if known and not (options.confirmed and options.prune):
        raise _lost_root(root, len(known), "is gone")
    return Plan(vanished=[(facts.id, path) for path, facts in sorted(known.items())])


def _new_root(
    store: Store, collection: str, path: Path, *, plan: Plan, dry_run: bool
) -> RootRecord:
    if dry_run:
        return RootRecord(
            id=0, collection=collection, path=str(path), label=path.name, last_synced_at=None
        )
    root = store.add_root(collection, str(path))
    if root.label != path.name:
        plan.notices.append(
            f"another root is named {path.name!r}; {path} is kept as {root.label!r}"
        )
    return root


def _plan_root(
    store: Store, root: RootRecord, path: Path, *, plan: Plan, options: SyncOptions
) -> None:
    root_path = Path(root.path)
    part = PurePosixPath(path.relative_to(root_path).as_posix())
    prefix = "" if str(part) == "." else f"{part}/"
    known = store.document_facts(root.id) if root.id else {}
    excluded = store.exclusions(root.id) if root.id else frozenset()
    present: set[str] = set()
    for entry in discover(root_path):
        relative = entry.relative
        if prefix and not f"{relative}/".startswith(prefix):
            continue
        if isinstance(entry, Skipped):
            if entry.failed and relative == "." and known and not options.confirmed:
                raise _lost_root(root, len(known), "cannot be read")
            (plan.unreadable if entry.failed else plan.skipped).append(entry)
            if entry.failed or entry.reason not in {"ignored", "hidden"}:
                present.add(relative)
            continue
        present.add(relative)
        if not _is_wanted(relative, options=options):
            plan.skipped.append(Skipped(relative=relative, source=entry.source, reason="excluded"))
            continue
        uri_path = f"{root.label}/{relative}"
        if uri_path in excluded:
            plan.skipped.append(Skipped(relative=relative, source=entry.source, reason="removed"))
            continue
        _plan_found(entry, uri_path, root.id, known=known.get(uri_path), plan=plan, options=options)
    _plan_vanished(root, prefix, present, known=known, plan=plan, options=options)
    if not prefix:
        plan.synced_roots.append(root.id)


def _is_wanted(relative: str, *, options: SyncOptions) -> bool:
    included = not options.include or any(path_filter(g)(relative) for g in options.include)
    return included and not any(path_filter(g)(relative) for g in options.exclude)


def _plan_found(
    found: Found,
    uri_path: str,
    root_id: int | None,
    *,
    known: DocumentFacts | None,
    plan: Plan,
    options: SyncOptions,
) -> None:
    if known is not None and not options.checksum and is_unchanged(found, known):
        plan.n_unchanged += 1
        return
    plan.files.append(PlannedFile(found=found, path=uri_path, root_id=root_id, known=known))


def is_unchanged(found: Found, known: DocumentFacts) -> bool:
    """Return whether size, mtime and inode say that a file is as it was read."""
    same = (found.size_bytes, found.mtime_ns, found.inode) == (
        known.size_bytes,
        known.mtime_ns,
        known.inode,
    )
    return same and known.mtime_ns + SETTLED_NS <= known.read_at_ns


def _plan_vanished(
    root: RootRecord,
    prefix: str,
    present: set[str],
    *,
    known: Mapping[str, DocumentFacts],
    plan: Plan,
    options: SyncOptions,
) -> None:
    if not options.prune or not known:
        return
    start = f"{root.label}/"
    unreadable = tuple(f"{s.relative}/" for s in plan.unreadable)
    gone: list[tuple[int, str]] = []
    for path, facts in sorted(known.items()):
        relative = path.removeprefix(start)
        in_part = relative.startswith(prefix)
        hidden_by_failure = any(u in {"./", "/"} or relative.startswith(u) for u in unreadable)
        if in_part and relative not in present and not hidden_by_failure:
            gone.append((facts.id, path))
    if not options.confirmed:
        if not prefix and not present and gone:
            raise _lost_root(root, len(gone), "is empty")
        if len(known) >= GUARD_MIN_DOCUMENTS and len(gone) > len(known) * GUARD_SHARE:
            raise UsageError(
                f"{len(gone)} of {len(known)} documents of {root.path} would be deleted",
                code="mass_deletion",
                hint="If that is right, run again with --yes; --no-prune keeps them.",
            )
    plan.vanished += gone


def _lost_root(root: RootRecord, n_documents: int, state: str) -> UsageError:
    return UsageError(
        f"{root.path} {state}, but {n_documents} documents were read from it",
        code="root_lost",
        hint="Mount or restore it. To forget its documents run again with --yes, or "
        f"`kb roots remove {root.label}`.",
    )


def _plan_file(
    store: Store,
    collection: str,
    path: Path,
    *,
    plan: Plan,
    options: SyncOptions,
    taken: set[str],
) -> None:
    entry = found_file(path)
    if isinstance(entry, Skipped):
        (plan.unreadable if entry.failed else plan.skipped).append(entry)
        return
    root = store.root_for(collection, str(path))
    if root is not None:
        relative = printable_name(path.relative_to(root.path).as_posix())
        uri_path = f"{root.label}/{relative}"
        root_id: int | None = root.id
        known = store.document_facts(root.id).get(uri_path)
        if uri_path in store.exclusions(root.id):
            plan.lifted.append((root.id, uri_path))
    else:
        root_id = None
        uri_path, known = _single_file_path(store, collection, path, taken=taken)
        if uri_path != entry.relative:
            plan.notices.append(
                f"another document is named {entry.relative!r}; {path} is kept as {uri_path!r}"
            )
    taken.add(uri_path)
    _plan_found(entry, uri_path, root_id, known=known, plan=plan, options=options)


def _single_file_path(
    store: Store, collection: str, path: Path, *, taken: set[str]
) -> tuple[str, DocumentFacts | None]:
    """Find the document of a lone file, or a free name for it (`name`, `name~2` and so on)."""
    source = file_url(path)
    stem, suffix = printable_name(path.stem), printable_name(path.suffix)
    number = 1
    while True:
        name = f"{stem}{suffix}" if number == 1 else f"{stem}~{number}{suffix}"
        known = store.facts_of(collection, name)
        if known is not None and known.source == source:
            return name, known
        if known is None and name not in taken and not store.is_root_label(collection, name):
            return name, None
        number += 1
