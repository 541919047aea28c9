"""`kb get`, `outline`, `ls`, `grep` and `verify`: read what is stored."""

from __future__ import annotations

import argparse
from typing import Any

from api.cli.context import CommandContext


def get(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print a document, some lines of it, or a chunk."""
    found = context.call(
        "documents.get",
        name=arguments.name,
        lines=arguments.lines,
        collections=arguments.collection,
    )
    context.show(found, lines=[str(found["text"]).removesuffix("\n")])
    return 0


def outline(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print a document's headings with their lines."""
    found: dict[str, Any] = context.call(
        "documents.outline", name=arguments.name, collections=arguments.collection
    )
    lines = [
        f"{'  ' * (entry['level'] - 1)}{entry['title']}  (line {entry['line']}"
        + (f", p. {entry['pages'][0]})" if entry["pages"] else ")")
        for entry in found["outline"]
    ]
    context.show(found, lines=lines or ["(no headings)"])
    return 0


def ls(arguments: argparse.Namespace, context: CommandContext) -> int:
    """List documents."""
    found: dict[str, Any] = context.call(
        "documents.list", prefix=arguments.prefix, collections=arguments.collection
    )
    lines = [
        f"{entry['uri']}  {entry['title']}{'  (source has changed)' if entry['stale'] else ''}"
        for entry in found["documents"]
    ]
    context.show(found, lines=lines)
    return 0


def grep(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print exact lines that match a pattern."""
    found: dict[str, Any] = context.call(
        "documents.grep",
        pattern=arguments.pattern,
        path=arguments.path,
        ignore_case=arguments.ignore_case,
        fixed=arguments.fixed,
        limit=arguments.limit,
        collections=arguments.collection,
    )
    lines = [f"{m['uri']}#L{m['line']}: {m['text']}" for m in found["matches"]]
    context.show(found, lines=lines)
    if found["truncated"]:
        context.say(f"only the first {arguments.limit} matches are shown; --limit shows more")
    return 0


def verify(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Say where a quote stands, or what comes nearest."""
    found: dict[str, Any] = context.call(
        "documents.verify",
        quote=arguments.quote,
        name=arguments.uri,
        collections=arguments.collection,
    )
    if found["found"]:
        lines = [
            f"found in {match['citation']}" + ("  (source has changed)" if match["stale"] else "")
            for match in found["matches"]
        ]
    else:
        lines = ["not found"]
        nearest = found.get("nearest")
        if nearest:
            lines += [f"nearest: {nearest['citation']}", nearest["text"], nearest["difference"]]
    context.show(found, lines=lines)
    return 0
