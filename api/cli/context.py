"""What every command needs: the home, its settings, a connection, and how to print."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from kb.home import resolve_home
from kb.settings import Settings, load_settings

if TYPE_CHECKING:
    from api.client import Connection


class CommandContext:
    """Opens the home when a command first needs it, and lets it go at the end."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.home: Path = resolve_home(arguments.home)
        self._connection: Connection | None = None
        self._said: set[str] = set()

    def __enter__(self) -> CommandContext:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let the home go."""
        if self._connection is not None:
            self._connection.close()

    @property
    def as_json(self) -> bool:
        """Whether exactly one JSON value goes to stdout."""
        return bool(getattr(self.arguments, "json", False))

    def settings(self, flags: Mapping[str, object] | None = None) -> Settings:
        """Return the effective settings."""
        return load_settings(self.home, flags=flags)

    def connection(self) -> Connection:
        """Return the way to the home, opened once."""
        from api.client import open_home

        if self._connection is None:
            self._connection = open_home(self.home, self.settings(), notice=self.say_once)
        return self._connection

    def call(self, op: str, **params: object) -> dict[str, object]:
        """Carry out an operation; its notices go to stderr."""
        return self.connection().call(op, params, emit=self._on_event)

    def _on_event(self, event: Mapping[str, object]) -> None:
        if event.get("event") == "notice":
            self.say_once(str(event["message"]))

    def say(self, line: str) -> None:
        """Print a line for people to stderr."""
        print(line, file=sys.stderr)

    def say_once(self, line: str) -> None:
        """Print a line to stderr the first time it comes."""
        if line not in self._said:
            self._said.add(line)
            self.say(line)

    def show(self, value: object, *, lines: list[str]) -> None:
        """Print one JSON value with `--json`, else lines for people."""
        if self.as_json:
            print(json.dumps(value, ensure_ascii=False))
            return
        for line in lines:
            print(printable(line))


def printable(text: str) -> str:
    """Return text without control characters, so that no document can move the cursor."""
    return "".join(ch if ch in "\n\t" or ch.isprintable() else _shown(ch) for ch in text)


def _shown(char: str) -> str:
    # Zero-width joiners and the like are part of words; escapes and overrides are not.
    return char if char in "\u200c\u200d\ufe0f\u3000\u00a0" else f"\\u{ord(char):04x}"
