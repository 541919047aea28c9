"""The grammar of the command line; commands themselves are imported when they run."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable

import kb


def build() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="kb",
        description="A local knowledge service: folders in, cited passages out.",
        epilog="Errors name what to do next. Results go to stdout, all else to stderr.",
    )
    parser.add_argument("--version", action="version", version=f"kb {kb.__version__}")
    parser.add_argument("--home", metavar="DIR", help="the folder of this installation (KB_HOME)")
    parser.add_argument(
        "--log-level",
        default="warning",
        choices=["debug", "info", "warning", "error"],
        help="how much is logged to stderr",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (_ingest, _search, _read, _manage, _state, _evaluate):
        add(commands)
    return parser


def load(target: str) -> Callable[..., int]:
    """Return the function `module:name` of `api.cli`."""
    module, name = target.split(":")
    function: Callable[..., int] = getattr(importlib.import_module(f"api.cli.{module}"), name)
    return function


Commands = argparse._SubParsersAction  # noqa: SLF001  argparse offers no public name


def _command(
    commands: Commands[argparse.ArgumentParser], name: str, run: str, description: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=description, description=description
    )
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", help="print exactly one JSON value")
    return parser


def _collections(parser: argparse.ArgumentParser, *, many: bool) -> None:
    if many:
        parser.add_argument(
            "-c",
            "--collection",
            action="append",
            default=[],
            metavar="NAME",
            help="collection (again for more); all by default",
        )
    else:
        parser.add_argument("-c", "--collection", metavar="NAME", help="collection")


def _ingest(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "ingest", "ingest:run", "bring files and folders in, or sync them")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="file or folder; - for stdin")
    _collections(parser, many=False)
    parser.add_argument("--name", help="the document's name, with -")
    parser.add_argument("--include", action="append", default=[], metavar="GLOB")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB")
    parser.add_argument("--no-prune", action="store_true", help="keep documents of vanished files")
    parser.add_argument("--yes", action="store_true", help="confirm a mass deletion")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="files parsed at once")
    parser.add_argument("--receipts", metavar="FILE", help="append a line per document; - stderr")
    parser.add_argument("--checksum", action="store_true", help="hash every file")


def _search(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "search", "search:run", "find cited passages that answer")
    parser.add_argument("query", metavar="QUERY")
    _collections(parser, many=True)
    parser.add_argument("-k", type=int, default=None, metavar="N", help="how many results")
    parser.add_argument("--mode", choices=["hybrid", "lexical", "dense"], default="hybrid")
    parser.add_argument("--rerank", action=argparse.BooleanOptionalAction, default=None)
    parser.add_argument("--min-relevance", type=float, metavar="X", help="0..1; 0 for no threshold")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="budget of the whole answer")
    parser.add_argument("--path", metavar="GLOB", help="only documents whose path matches")
    parser.add_argument("--where", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--explain", action="store_true", help="say why, and why not")


def _read(commands: Commands[argparse.ArgumentParser]) -> None:
    get = _command(commands, "get", "read:get", "print a document, some lines of it, or a chunk")
    get.add_argument("name", metavar="URI_OR_ID")
    get.add_argument("--lines", metavar="A:B")
    outline = _command(commands, "outline", "read:outline", "print a document's headings")
    outline.add_argument("name", metavar="URI")
    listing = _command(commands, "ls", "read:ls", "list documents")
    listing.add_argument("prefix", nargs="?", default="", metavar="PREFIX")
    grep = _command(commands, "grep", "read:grep", "print exact lines that match a pattern")
    grep.add_argument("pattern", metavar="PATTERN")
    grep.add_argument("--path", metavar="GLOB")
    grep.add_argument("-i", "--ignore-case", action="store_true")
    grep.add_argument("--fixed", action="store_true", help="the pattern is plain text")
    grep.add_argument("--limit", type=int, default=1_000, metavar="N")
    verify = _command(commands, "verify", "read:verify", "check that a quote stands in a document")
    verify.add_argument("quote", metavar="QUOTE")
    verify.add_argument("--uri", metavar="URI")
    for parser in (get, outline, listing, grep, verify):
        _collections(parser, many=True)


def _manage(commands: Commands[argparse.ArgumentParser]) -> None:
    remove = _command(commands, "rm", "manage:remove", "remove documents")
    remove.add_argument("names", nargs="+", metavar="URI_OR_PREFIX")
    remove.add_argument("--yes", action="store_true", help="confirm a prefix of several documents")
    remove.add_argument("--purge", action="store_true", help="leave none of its words on the disk")
    _collections(remove, many=True)
    collections = _command(commands, "collections", "manage:collections", "manage collections")
    collections.add_argument(
        "action", nargs="?", default="list", choices=["list", "create", "delete", "show"]
    )
    collections.add_argument("name", nargs="?", metavar="NAME")
    collections.add_argument("--yes", action="store_true", help="confirm a deletion")
    roots = _command(commands, "roots", "manage:roots", "list or forget synced folders")
    roots.add_argument("action", nargs="?", default="list", choices=["list", "remove"])
    roots.add_argument("name", nargs="?", metavar="NAME")
    roots.add_argument("--delete-documents", action="store_true")
    _collections(roots, many=False)


def _state(commands: Commands[argparse.ArgumentParser]) -> None:
    _command(commands, "status", "state:status", "what this home holds")
    doctor = _command(commands, "doctor", "state:doctor", "check every invariant")
    doctor.add_argument("--repair", action="store_true", help="mend what the catalog can mend")
    models = _command(commands, "models", "state:models", "embedding models on this machine")
    models.add_argument("action", nargs="?", default="list", choices=["list"])
    config = _command(commands, "config", "state:config", "effective settings and their origins")
    config.add_argument("action", nargs="?", default="show", choices=["show"])


def _evaluate(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "eval", "evaluate:run", "measure retrieval on a judged folder")
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--mode", choices=["hybrid", "lexical", "dense"], default="hybrid")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N queries")
    parser.add_argument("--keep-home", metavar="DIR", help="keep the measured home for a rerun")
