"""`kb status`, `doctor`, `models` and `config`: the state of a home."""

from __future__ import annotations

import argparse
from typing import Any

from api.cli.context import CommandContext

EXIT_PROBLEMS = 1


def status(_: argparse.Namespace, context: CommandContext) -> int:
    """Say what the home holds."""
    found: dict[str, Any] = context.call("state.status")
    lines = [
        f"home: {found['home']}",
        f"kb {found['version']}, format {found['format']}",
        *(
            f"{c['name']}: {c['documents']} documents, {c['chunks']} passages, model {c['model']}"
            for c in found["collections"]
        ),
        *(f"{name}: {size / 1e6:.1f} MB" for name, size in found["sizes_bytes"].items()),
    ]
    context.show(found, lines=lines)
    return 0


def doctor(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Check every invariant; exit 1 when a problem is left."""
    found: dict[str, Any] = context.call("state.doctor", repair=arguments.repair)
    lines = [f"{p['code']}: {p['message']}  {p['hint']}" for p in found["problems"]]
    lines += [f"note: {note}" for note in found["notes"]]
    lines.append("all is well" if found["ok"] else f"{len(found['problems'])} problems")
    lines.append(f"digest {found['digest']}")
    context.show(found, lines=lines)
    return 0 if found["ok"] else EXIT_PROBLEMS


def models(_: argparse.Namespace, context: CommandContext) -> int:
    """List embedding models on this machine."""
    found: dict[str, Any] = context.call("state.models")
    lines = [
        f"{'*' if m['default'] else ' '} {m['name']}  {m['dimension']}-d  "
        f"{m['size_bytes'] / 1e6:.0f} MB  {m['where']}"
        for m in found["models"]
    ]
    context.show(found, lines=lines)
    return 0


def config(_: argparse.Namespace, context: CommandContext) -> int:
    """Print the effective value of each setting and where it came from."""
    settings = context.settings()
    values = settings.flat()
    shown = {
        name: {
            "value": list(value) if isinstance(value, tuple) else value,
            "origin": settings.origins[name],
        }
        for name, value in values.items()
    }
    lines = [f"{name} = {entry['value']!r}  ({entry['origin']})" for name, entry in shown.items()]
    context.show(shown, lines=lines)
    return 0
