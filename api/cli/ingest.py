"""`kb ingest`: syncs folders and files, with progress, receipts and a summary."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from api.cli.context import CommandContext
from kb.errors import UsageError

EXIT_SOME_FAILED = 1


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Ingest and print the receipt."""
    if "-" in arguments.paths:
        return _standard_input(arguments, context)
    # A relative path means the caller's folder, not the owner's; symlinks stay to be resolved
    # by the service, which records the real path.
    paths = [str(Path.cwd() / path) for path in arguments.paths]
    with _Receipts(arguments.receipts) as receipts:
        progress = _Progress(receipts, context)
        report = context.connection().call(
            "ingest",
            {
                "paths": paths,
                "collection": arguments.collection,
                "include": arguments.include,
                "exclude": arguments.exclude,
                "prune": not arguments.no_prune,
                "yes": arguments.yes,
                "dry_run": arguments.dry_run,
                "jobs": arguments.jobs,
                "checksum": arguments.checksum,
            },
            emit=progress.on_event,
        )
        progress.finish()
    return _finish(report, context)


def _finish(report: dict[str, object], context: CommandContext) -> int:
    context.show(report, lines=summary(report))
    return EXIT_SOME_FAILED if report["failed"] else 0


def _standard_input(arguments: argparse.Namespace, context: CommandContext) -> int:
    if len(arguments.paths) != 1:
        raise UsageError("- cannot be mixed with paths", hint="Run two commands.")
    if not arguments.name:
        raise UsageError("- needs a name", hint="Add --name NAME, such as --name notes/today.md")
    import base64

    data = sys.stdin.buffer.read()
    with _Receipts(arguments.receipts) as receipts:
        report = context.connection().call(
            "ingest.upload",
            {
                "name": arguments.name,
                "data": base64.b64encode(data).decode("ascii"),
                "collection": arguments.collection,
            },
            emit=_Progress(receipts, context).on_event,
        )
    return _finish(report, context)


class _Receipts:
    """Appends a JSON line for each document, flushed to the disk when it is acknowledged."""

    def __init__(self, target: str | None) -> None:
        self._target = target
        self._file: TextIO | None = None

    def __enter__(self) -> _Receipts:
        if self._target == "-":
            self._file = sys.stderr
        elif self._target:
            try:
                self._file = Path(self._target).open("a", encoding="utf-8")
            except OSError as error:
                raise UsageError(
                    f"receipts cannot be written to {self._target}: {error.strerror}",
                    hint="Name a file in a folder that exists and may be written.",
                ) from error
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None and self._file is not sys.stderr:
            self._file.close()

    def write(self, event: Mapping[str, object]) -> None:
        if self._file is None:
            return
        receipt = {key: event[key] for key in ("uri", "state", "revision", "code") if key in event}
        self._file.write(json.dumps(receipt, ensure_ascii=False) + "\n")
        self._file.flush()


class _Progress:
    """Shows a bar on a terminal and nothing elsewhere."""

    _WIDTH = 24

    def __init__(self, receipts: _Receipts, context: CommandContext) -> None:
        self._receipts = receipts
        self._context = context
        self._is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._total = 0
        self._done = 0
        self._embedded = 0

    def on_event(self, event: Mapping[str, object]) -> None:
        kind = event.get("event")
        if kind == "document":
            self._done += 1
            self._receipts.write(event)
        elif kind == "plan":
            self._total += _count(event, "files") + _count(event, "gone")
        elif kind == "embedded":
            self._embedded += _count(event, "texts")
        elif kind == "notice":
            self._clear()
            self._context.say_once(str(event["message"]))
        self._draw()

    def finish(self) -> None:
        self._clear()

    def _draw(self) -> None:
        if not self._is_terminal or not self._total:
            return
        filled = min(self._WIDTH, self._WIDTH * self._done // self._total)
        bar = "█" * filled + "░" * (self._WIDTH - filled)
        sys.stderr.write(
            f"\r{bar} {self._done}/{self._total} documents, {self._embedded} passages embedded "
        )
        sys.stderr.flush()

    def _clear(self) -> None:
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _count(event: Mapping[str, object], name: str) -> int:
    value = event.get(name)
    return value if isinstance(value, int) else 0


def summary(report: dict[str, object]) -> list[str]:
    """Return a receipt for people."""
    lines = [
        f"{report['added']} added, {report['updated']} updated, {report['unchanged']} unchanged, "
        f"{report['deleted']} deleted in {report['seconds']:.1f} s"
        f" ({report['chunks_added']} passages, {report['embedded']} embedded)"
    ]
    if report.get("dry_run"):
        lines[0] = "dry run, nothing was changed: " + lines[0]
    skipped, failed, warnings = (_entries(report, n) for n in ("skipped", "failed", "warnings"))
    if skipped:
        reasons: dict[str, int] = {}
        for entry in skipped:
            reasons[str(entry["reason"])] = reasons.get(str(entry["reason"]), 0) + 1
        counted = ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items()))
        lines.append(f"skipped: {counted}")
    for entry in warnings:
        lines.append(f"warning: {_name(entry)}: {entry['code']}: {entry['message']}")
    for entry in failed:
        lines.append(f"failed: {_name(entry)}: {entry['code']}: {entry['error']}. {entry['hint']}")
    return lines


def _entries(report: dict[str, object], name: str) -> list[dict[str, object]]:
    value = report[name]
    return value if isinstance(value, list) else []


def _name(entry: Mapping[str, object]) -> str:
    return str(entry["source"])
