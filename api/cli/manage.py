"""`kb rm`, `collections` and `roots`: remove and manage."""

from __future__ import annotations

import argparse
from typing import Any

from api.cli.context import CommandContext
from kb.errors import UsageError


def remove(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Remove documents."""
    found: dict[str, Any] = context.call(
        "documents.remove",
        names=arguments.names,
        collections=arguments.collection,
        yes=arguments.yes,
        purge=arguments.purge,
    )
    context.show(found, lines=[f"removed {uri}" for uri in found["removed"]])
    return 0


def collections(arguments: argparse.Namespace, context: CommandContext) -> int:
    """List, show, create or delete collections."""
    if arguments.action == "list":
        found: dict[str, Any] = context.call("collections.list")
        lines = [_line(entry) for entry in found["collections"]]
        context.show(found, lines=lines or ["no collections yet: kb ingest FOLDER makes one"])
        return 0
    if not arguments.name:
        raise UsageError(
            f"collections {arguments.action} needs a name",
            hint=f"kb collections {arguments.action} NAME",
        )
    changed = context.call(
        f"collections.{arguments.action}", name=arguments.name, yes=arguments.yes
    )
    if arguments.action == "delete":
        context.show(changed, lines=[f"deleted {changed['deleted']}"])
    else:
        context.show(changed, lines=[_line(changed)])
    return 0


def roots(arguments: argparse.Namespace, context: CommandContext) -> int:
    """List or forget synced folders."""
    if arguments.action == "remove":
        if not arguments.name:
            raise UsageError("roots remove needs a name", hint="kb roots lists them.")
        removed = context.call(
            "roots.remove",
            name=arguments.name,
            collection=arguments.collection,
            delete_documents=arguments.delete_documents,
        )
        context.show(removed, lines=[f"forgot {removed['removed']} ({removed['path']})"])
        return 0
    found: dict[str, Any] = context.call("roots.list", collection=arguments.collection)
    lines = [
        f"{entry['collection']}/{entry['name']}  {entry['path']}"
        f"  last synced {entry['last_synced_at'] or 'never'}"
        + ("" if entry["exists"] else "  (folder is gone)")
        for entry in found["roots"]
    ]
    context.show(found, lines=lines or ["no folders yet: kb ingest FOLDER records one"])
    return 0


def _line(entry: dict[str, Any]) -> str:
    return (
        f"{entry['name']}  {entry['documents']} documents, {entry['chunks']} passages, "
        f"model {entry['model']} ({entry['dimension']}-d)"
    )
