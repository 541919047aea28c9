"""E-mail messages: the text that people wrote, its headers as metadata."""

from __future__ import annotations

import email
import email.parser
import email.policy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage, Message
from pathlib import Path

from ingest.encodings import decode
from ingest.parsers.failures import reading
from kb.errors import DocumentError
from kb.text import collapse_whitespace, normalize_source
from kb.types import ParsedDocument

MEDIA_TYPE = "message/rfc822"
_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_LOCKED_TYPES = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_SIGNATURE_TYPES = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)
_PGP = "-----BEGIN PGP MESSAGE-----"
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
# Mailers write gb2312 and mean its supersets.
_NARROW_CHINESE = re.compile(rb"=\?(?:gb2312|gbk)\?", re.IGNORECASE)
_STATEFUL_CHARSETS = ("iso-2022-", "hz", "utf-7")
_OPENS_BLOCK = re.compile(r"#{1,6}\s|<(?:script|pre|style|textarea)\b|<[!?]", re.IGNORECASE)
_UNDERLINE = re.compile(r"(?:-+|=+)\s*")


@dataclass(slots=True)
class _Letter:
    """What was gathered from the parts of a message, in order."""

    texts: list[str] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)
    n_images: int = 0


class EmailParser:
    """Reads `.eml`. The plain form of a text is preferred to its HTML; attachments are named."""

    name = "email"

    def parse(self, path: Path, options: Mapping[str, object]) -> ParsedDocument:  # noqa: ARG002
        """Read a file.

        Args:
            path: The file.
            options: None are known.

        Raises:
            DocumentError: `encrypted`, `damaged`, `over_limit` or `unsupported`.
        """
        with reading(path, "an e-mail message"):
            content = path.read_bytes()
            if content.startswith((b"\xff\xfe", b"\xfe\xff")):
                content = content.decode("utf-16", errors="replace").encode("utf-8")
            content = _NARROW_CHINESE.sub(b"=?gb18030?", content.lstrip(b"\xef\xbb\xbf\r\n"))
            message = email.message_from_bytes(content, policy=email.policy.default)
            letter = _Letter()
            _gather(message, letter, path)
            return _document(_headers(content), letter)


def _document(headers: Mapping[str, str], letter: _Letter) -> ParsedDocument:
    subject = headers.get("subject", "")
    blocks = [f"# {subject}" if subject else "", *letter.texts]
    if letter.attachments:
        blocks.append("Attachments: " + ", ".join(letter.attachments))
    return ParsedDocument(
        text=normalize_source("\n\n".join(block for block in blocks if block.strip())),
        markup="markdown",
        media_type=MEDIA_TYPE,
        parser="email 1",
        title=subject or None,
        metadata=dict(headers),
        n_images=letter.n_images,
    )


def _headers(content: bytes) -> dict[str, str]:
    """Return the headers that readers see, decoded; raw bytes in them are guessed."""
    end = _END_OF_HEAD.search(content)
    head = decode(content[: end.start()] if end else content).text
    parser = email.parser.Parser(policy=email.policy.default)
    return _shown(parser.parsestr(head, headersonly=True))


def _shown(message: Message) -> dict[str, str]:
    raw = {name.lower(): str(value) for name, value in reversed(list(message.raw_items()))}
    found: dict[str, str] = {}
    for name in map(str.lower, _HEADERS):
        try:
            value = message[name]
            sent = getattr(value, "datetime", None)
            text = sent.isoformat() if sent is not None else str(value or "")
        except (AttributeError, IndexError, LookupError, TypeError, ValueError):
            # The strict header parser of the standard library fails on some broken headers.
            text = raw.get(name, "")
        if text.strip():
            found[name] = collapse_whitespace(normalize_source(text))
    return found


def _gather(part: Message, letter: _Letter, path: Path) -> None:
    kind = part.get_content_type()
    _refuse_locked(part, kind, path)
    if kind == "message/rfc822" and part.get_content_disposition() != "attachment":
        for forwarded in _subparts(part):
            letter.texts.append(_forwarded_head(forwarded))
            _gather(forwarded, letter, path)
    elif kind == "multipart/alternative":
        _gather(_best(part), letter, path)
    elif part.is_multipart() and kind.startswith("multipart/"):
        for below in _subparts(part):
            _gather(below, letter, path)
    elif kind in {"text/plain", "text/html"} and not _is_file(part):
        letter.texts.append(_body(part, path))
    elif kind not in _SIGNATURE_TYPES:
        letter.n_images += kind.startswith("image/")
        letter.attachments.append(_file_name(part))


def _refuse_locked(part: Message, kind: str, path: Path) -> None:
    smime_type = str(part.get_param("smime-type", "")).lower()
    if kind in _LOCKED_TYPES and smime_type in {"signed-data", "certs-only", "compressed-data"}:
        raise DocumentError(
            f"{path.name} is packed as S/MIME {smime_type}",
            code="unsupported",
            hint="Open it in a mail program and save its text.",
        )
    if kind == "multipart/encrypted" or kind in _LOCKED_TYPES:
        raise _encrypted(path)


def _encrypted(path: Path) -> DocumentError:
    return DocumentError(
        f"{path.name} is an encrypted message",
        code="encrypted",
        hint="Decrypt it in a mail program and save its text.",
    )


def _subparts(part: Message) -> Iterator[Message]:
    payload = part.get_payload()
    if isinstance(payload, list):
        yield from (below for below in payload if isinstance(below, Message))


def _best(part: Message) -> Message:
    """Return the form of a text to read: plain if it has any ink, else the richest."""
    forms = list(_subparts(part))
    if not forms:
        return EmailMessage()
    for form in forms:
        if form.get_content_type() == "text/plain" and _text(form).strip():
            return form
    return forms[-1]


def _is_file(part: Message) -> bool:
    disposition = part.get_content_disposition()
    return disposition == "attachment" or (disposition == "inline" and bool(part.get_filename()))


def _file_name(part: Message) -> str:
    named = part.get_filename()
    if not named and part.get_content_type() == "message/rfc822":
        named = next((str(below["subject"] or "") for below in _subparts(part)), "")
    return collapse_whitespace(str(named or part.get_content_type()))


def _forwarded_head(message: Message) -> str:
    shown = _shown(message)
    subject = shown.pop("subject", "")
    lines = [f"{name.capitalize()}: {value}" for name, value in shown.items()]
    return "\n\n".join(filter(None, [f"## {subject}" if subject else "", "\n".join(lines)]))


def _body(part: Message, path: Path) -> str:
    text = normalize_source(_text(part))
    if part.get_content_type() == "text/html":
        from ingest.parsers.html import html_to_markdown

        return html_to_markdown(text).strip("\n")
    if text.lstrip().startswith(_PGP):
        raise _encrypted(path)
    return _plain(text)


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    charset = str(part.get_content_charset() or "").lower()
    if charset.startswith(_STATEFUL_CHARSETS):
        # All their bytes are ASCII, so nothing but the header tells them.
        return payload.decode(charset, errors="replace")
    if charset in {"gb2312", "gbk"}:
        charset = "gb18030"
    return decode(payload, declared=charset or None).text


def _plain(text: str) -> str:
    """Return a plain text so that Markdown shows it as it is; quotes and lists stay such."""
    lines: list[str] = []
    for line in map(str.rstrip, text.strip("\n").split("\n")):
        if _UNDERLINE.fullmatch(line) and lines and lines[-1]:
            lines.append("")  # else the paragraph above would be a heading
        lines.append("\\" + line if _OPENS_BLOCK.match(line) else line)
    return "\n".join(lines)
