"""The `kb` command: parses the line, calls one command, turns errors into exit codes."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import kb
from api.cli import parser as command_parser
from api.cli.context import CommandContext
from api.problems import problem_of
from kb.errors import KnowledgeBaseError, UsageError

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

Command = Callable[[argparse.Namespace, CommandContext], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    Args:
        argv: Arguments without the program's name; None for the process's own.
    """
    _tolerant_streams()
    try:
        arguments = command_parser.build().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0) if not isinstance(stop.code, str) else EXIT_USAGE
    logging.basicConfig(
        level=arguments.log_level.upper(),
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    try:
        _check_installation()
        command: Command = command_parser.load(arguments.run)
        with CommandContext(arguments) as context:
            return command(arguments, context)
    except KeyboardInterrupt:
        _say("interrupted; everything acknowledged is kept. Run the same command to go on.")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has enough; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KnowledgeBaseError as error:
        return _fail(error, as_json=getattr(arguments, "json", False))
    except Exception as error:
        if logging.getLogger().isEnabledFor(logging.DEBUG):
            raise
        _say(f"error: unexpected {type(error).__name__}: {error}")
        _say("hint: run again with --log-level debug to see where it arose.")
        return problem_of(error).exit_code


def _fail(error: KnowledgeBaseError, *, as_json: bool) -> int:
    logging.getLogger(__name__).debug("command failed", exc_info=error)
    problem = problem_of(error)
    _say(f"error: {error.message}")
    if error.hint:
        _say(f"hint: {error.hint}")
    if as_json:
        shown = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
        print(json.dumps(shown, ensure_ascii=False))
    return problem.exit_code


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _tolerant_streams() -> None:
    """Names on disk may hold bytes that are no UTF-8; printing them must not raise."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _check_installation() -> None:
    """All four packages must be ours: their names are common ones.

    Raises:
        UsageError: Another package of one of these names comes first on the path.
    """
    import importlib.util

    base = Path(kb.__file__).resolve().parent.parent
    for name in ("api", "ingest", "retrieval"):
        spec = importlib.util.find_spec(name)
        origin = Path(spec.origin).resolve().parent.parent if spec and spec.origin else None
        if origin != base:
            raise UsageError(
                f"the package {name!r} is found in {origin}, not beside kb in {base}",
                code="installation",
                hint="Install kb into a virtual environment of its own.",
            )


if __name__ == "__main__":
    sys.exit(main())
