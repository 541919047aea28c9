"""`kb eval`: measures retrieval on a judged folder, in a home of its own."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from api.cli.context import CommandContext


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Measure one folder and print its figures."""
    found: dict[str, Any] = context.call(
        "evaluate",
        folder=str(Path.cwd() / arguments.folder),
        mode=arguments.mode,
        limit=arguments.limit,
        keep_home=str(Path.cwd() / arguments.keep_home) if arguments.keep_home else None,
    )
    context.show(found, lines=_lines(found))
    return 0


def _lines(found: Mapping[str, Any]) -> list[str]:
    lines = [f"{found['set']} ({found['kind']}), {found['n']} questions"]
    for name, value in found["metrics"].items():
        if isinstance(value, dict):
            lines += [
                f"  at {budget} characters: "
                + ", ".join(f"{inner} {figure:.3f}" for inner, figure in figures.items())
                for budget, figures in value.items()
            ]
            continue
        low, high = found["intervals"][name]
        lines.append(f"  {name}: {value:.3f}  [{low:.3f}, {high:.3f}]")
    for name in ("auroc", "kept", "refused"):
        if name in found:
            lines.append(f"  {name}: {found[name]:.3f}")
    for language, figures in found.get("by_language", {}).items():
        shown = ", ".join(f"{name} {value:.3f}" for name, value in figures["metrics"].items())
        lines.append(f"  {language}: {shown}")
    return lines
