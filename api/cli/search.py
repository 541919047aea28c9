"""`kb search`: prints cited passages, or that nothing in here answers."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from api.cli.context import CommandContext
from kb.errors import UsageError


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Search and print the results."""
    bad = [pair for pair in arguments.where if "=" not in pair or pair.startswith("=")]
    if bad:
        raise UsageError(f"--where {bad[0]!r} is no KEY=VALUE", hint="Such as --where lang=zh")
    result = context.call(
        "search",
        query=arguments.query,
        collections=arguments.collection,
        k=arguments.k,
        mode=arguments.mode,
        rerank=arguments.rerank,
        min_relevance=arguments.min_relevance,
        max_tokens=arguments.max_tokens,
        path=arguments.path,
        where=dict(pair.split("=", 1) for pair in arguments.where),
        explain=arguments.explain,
    )
    context.show(result, lines=_lines(result))
    return 0


def _lines(result: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for number, found in enumerate(result["results"], start=1):
        lines.append(f"{number}. {found['citation']}   [{found['relevance']:.2f}]")
        lines.append(f"   {found['uri']}{'  (source has changed)' if found['stale'] else ''}")
        lines.append(textwrap.indent(found["text"].strip("\n"), "   │ ", lambda line: True))
        if found["also_in"]:
            lines.append(f"   also in: {', '.join(found['also_in'])}")
        if "explain" in found:
            lines.append(f"   explain: {found['explain']}")
        lines.append("")
    omitted = result["omitted"]
    if result["answerable"] is None:
        lines.append("Could not judge whether anything in here answers this.")
    elif not result["results"]:
        lines.append(
            f"Nothing in here answers this (no passage reaches relevance "
            f"{result['min_relevance']:.2f}; {omitted['below_threshold']} looked at)."
        )
        lines.append("--min-relevance 0 shows the nearest passages all the same.")
    lines += [f"degraded: {reason}" for reason in result["degraded"]]
    return lines
