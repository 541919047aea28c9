"""Parser processes: one document at a time each, with a time limit and a memory limit."""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import os
import queue
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import connection
from pathlib import Path
from typing import TYPE_CHECKING

from kb.errors import DocumentError, KnowledgeBaseError, MissingExtraError
from kb.settings import LimitSettings
from kb.types import ParsedDocument

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

logger = logging.getLogger(__name__)

HEAVY_PARSERS = {
    "pdf": "ingest.parsers.pdf:PdfParser",
    "docx": "ingest.parsers.docx:DocxParser",
    "pptx": "ingest.parsers.pptx:PptxParser",
    "xlsx": "ingest.parsers.xlsx:XlsxParser",
    "odt": "ingest.parsers.odt:OdtParser",
    "epub": "ingest.parsers.epub:EpubParser",
    "email": "ingest.parsers.email:EmailParser",
    "notebook": "ingest.parsers.notebook:NotebookParser",
    "rtf": "ingest.parsers.rtf:RtfParser",
    "html": "ingest.parsers.html:HtmlParser",
}
"""Formats that are read in a process of their own; the others are plain text."""

DOCUMENTS_PER_PROCESS = 200
"""A process is replaced after so many: what a library leaks goes with it."""


class ParserPool:
    """Up to `n_processes` parser processes, started when they are needed; safe for threads.

    Processes are spawned, never forked: a fork would inherit locks and a loaded model.
    """

    def __init__(self, n_processes: int, limits: LimitSettings) -> None:
        self._limits = limits
        self._context = multiprocessing.get_context("spawn")
        self._slots: queue.LifoQueue[_Child | None] = queue.LifoQueue()
        for _ in range(n_processes):
            self._slots.put(None)
        self._n_processes = n_processes

    @property
    def limits(self) -> LimitSettings:
        """What a document may cost."""
        return self._limits

    def parse(self, name: str, path: Path) -> ParsedDocument:
        """Read a file with the parser of a format.

        Raises:
            DocumentError: The file cannot be read within the limits.
            MissingExtraError: The format needs an extra that is not installed.
        """
        child = self._slots.get()
        try:
            if child is None or not child.is_usable():
                child = _Child(self._context, self._limits)
            return child.parse(name, path, timeout_s=self._limits.parse_timeout_s)
        except BaseException:
            if child is not None and child.is_broken:
                child.stop()
                child = None
            raise
        finally:
            self._slots.put(child)

    def close(self) -> None:
        """Stop all processes."""
        for _ in range(self._n_processes):
            child = self._slots.get()
            if child is not None:
                child.stop()
            self._slots.put(None)


class _Child:
    """One parser process and the pipe to it."""

    def __init__(
        self, context: multiprocessing.context.SpawnContext, limits: LimitSettings
    ) -> None:
        ours, theirs = context.Pipe()
        self._pipe: Connection = ours
        self._process: SpawnProcess = context.Process(
            target=_serve, args=(theirs, limits), daemon=True, name="kb-parser"
        )
        self._process.start()
        theirs.close()
        self._n_parsed = 0
        self.is_broken = False

    def is_usable(self) -> bool:
        if self._n_parsed >= DOCUMENTS_PER_PROCESS or not self._process.is_alive():
            self.stop()
            return False
        return True

    def parse(self, name: str, path: Path, *, timeout_s: float) -> ParsedDocument:
        self._n_parsed += 1
        # Until the answer is here, the process must not be given another document.
        self.is_broken = True
        try:
            self._pipe.send((name, os.fsencode(path)))
            if not self._pipe.poll(timeout_s):
                raise DocumentError(
                    f"reading it took longer than {timeout_s:.0f} s",
                    code="timeout",
                    hint="Split the file, or raise limits.parse_timeout_s.",
                )
            answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(5)
            raise DocumentError(
                "the parser process ended while reading it "
                f"(exit code {self._process.exitcode})",
                code="memory",
                hint="The file is damaged or needs too much memory; limits.parse_memory_bytes "
                "sets how much a parser may use.",
            ) from error
        self.is_broken = False
        if isinstance(answer, ParsedDocument):
            return answer
        raise _as_error(answer)

    def stop(self) -> None:
        with suppress(OSError):
            self._pipe.close()
        self._process.kill()
        self._process.join(10)


def _as_error(answer: Mapping[str, str]) -> KnowledgeBaseError:
    if "extra" in answer:
        return MissingExtraError(answer["feature"], answer["extra"])
    return DocumentError(answer["message"], code=answer["code"], hint=answer["hint"])


def _serve(pipe: Connection, limits: LimitSettings) -> None:
    """Answer requests until the pipe closes; runs in the child."""
    _prepare(limits)
    options = {
        name: getattr(limits, name)
        for name in ("max_zip_members", "max_zip_ratio", "max_expanded_bytes", "max_pages")
    }
    parsers: dict[str, object] = {}
    while True:
        try:
            name, path = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(_answer(name, Path(os.fsdecode(path)), options=options, parsers=parsers))


def _answer(
    name: str, path: Path, *, options: Mapping[str, object], parsers: dict[str, object]
) -> object:
    try:
        if name not in parsers:
            module, class_name = HEAVY_PARSERS[name].split(":")
            parsers[name] = getattr(importlib.import_module(module), class_name)()
        parser = parsers[name]
        return parser.parse(path, options)  # type: ignore[attr-defined]  # a Parser of the table
    except MissingExtraError as error:
        # Its message is "FEATURE needs the extra [EXTRA]".
        feature, _, extra = error.message.partition(" needs the extra ")
        return {"feature": feature, "extra": extra.strip("[]")}
    except KnowledgeBaseError as error:
        return {"code": error.code, "message": error.message, "hint": error.hint}
    except (MemoryError, RecursionError):
        return {
            "code": "memory",
            "message": "reading it needs more memory than a parser may use",
            "hint": "Split the file, or raise limits.parse_memory_bytes.",
        }
    except Exception as error:
        logger.debug("parser failed", exc_info=True)
        return {
            "code": "damaged",
            "message": f"the {name} parser cannot read it ({type(error).__name__}: {error})"[:500],
            "hint": "Open it in its own program and save it again.",
        }


def _prepare(limits: LimitSettings) -> None:
    # A library's banner must reach neither the answer of a command nor an agent's protocol.
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  for life
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415  POSIX only

        resource.setrlimit(resource.RLIMIT_AS, (limits.parse_memory_bytes,) * 2)
        # A parser's core file would hold the document's text.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
