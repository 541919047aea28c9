"""Reading, listing, searching by pattern and removing what is stored."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from contextlib import suppress

from api.freshness import is_stale
from api.scope import Scope, unknown_collection
from api.services.patterns import compile_pattern
from api.wiring import Engines
from kb.errors import NotFoundError, UsageError
from kb.globs import path_filter
from kb.text import line_of, line_starts
from kb.types import DocumentRecord, PageSpan
from kb.uris import SCHEME, document_uri, parse_uri

LIST_PAGE = 1_000


class DocumentService:
    """Documents as callers see them."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    def find(
        self, name: str, *, collections: Sequence[str] = (), scope: Scope
    ) -> tuple[DocumentRecord, str]:
        """Return the document that a uri (or a path in the default scope) names, and a fragment.

        Raises:
            NotFoundError: Nothing has that name.
        """
        for candidate in parse_uri(name):
            if not scope.sees(candidate.collection) or not candidate.path:
                continue
            with suppress(NotFoundError):
                record = self._engines.store.document(candidate.collection, candidate.path)
                return record, candidate.fragment
        if not name.startswith(SCHEME):
            for collection in self._names(collections, scope=scope):
                with suppress(NotFoundError):
                    return self._engines.store.document(collection, name), ""
        raise NotFoundError(
            f"no document {name!r}",
            code="unknown_document",
            hint="`kb ls` lists what is there; a search result's uri can be given as it is.",
        )

    def get(
        self, name: str, *, lines: str | None, collections: Sequence[str] = (), scope: Scope
    ) -> dict[str, object]:
        """Return a document's text, some of its lines or pages, or one chunk.

        Args:
            name: A uri with or without a fragment (`#L40-58`, `#p7`), or a chunk id.
            lines: `A:B`, `A:`, `:B` or `A`, 1-based and inclusive; wins over a fragment.
            collections: Where to look for a name that is not a uri.
            scope: The caller's rights.

        Raises:
            NotFoundError: Nothing has that name.
            UsageError: The lines make no sense.
        """
        if not name.startswith(SCHEME):
            chunk = self._chunk(name, scope=scope)
            if chunk is not None and lines is None:
                return chunk
        document, fragment = self.find(name, collections=collections, scope=scope)
        text = self._engines.store.document_text(document)
        starts = line_starts(text)
        first, last = 1, len(starts)
        pages = self._engines.store.document_pages(document)
        start, end = 0, len(text)
        if lines is not None:
            first, last = _line_range(lines, len(starts))
            start, end = _span_of_lines(first, last, starts, len(text))
        elif fragment:
            start, end = fragment_span(fragment, starts, pages, n_characters=len(text))
            first = line_of(starts, start)
            last = line_of(starts, max(start, end - 1))
        return {
            **document_json(document),
            "lines": [first, last],
            "chars": [start, end],
            "pages": _pages_of(pages, start, end),
            "text": text[start:end],
        }

    def outline(
        self, name: str, *, collections: Sequence[str] = (), scope: Scope
    ) -> dict[str, object]:
        """Return a document's headings with their lines.

        Raises:
            NotFoundError: Nothing has that name.
        """
        document, _ = self.find(name, collections=collections, scope=scope)
        sections = self._engines.store.document_sections(document)
        pages = self._engines.store.document_pages(document)
        return {
            **document_json(document),
            "outline": [
                {
                    "level": section.level,
                    "title": section.headings[-1],
                    "headings": list(section.headings),
                    "line": section.line,
                    "pages": _pages_of(pages, section.start, section.start + 1),
                }
                for section in sections
                if section.headings
            ],
        }

    def listing(
        self, prefix: str, *, collections: Sequence[str] = (), scope: Scope
    ) -> dict[str, object]:
        """Return the documents under a uri prefix or a path prefix, by collection and path.

        Raises:
            NotFoundError: The prefix names a collection that does not exist.
        """
        chosen, path_prefix = self._prefix(prefix, collections=collections, scope=scope)
        found = [
            document_json(document)
            for collection in chosen
            for document in self._documents(collection, path_prefix)
        ]
        return {"documents": found}

    def grep(
        self,
        pattern: str,
        *,
        path: str | None,
        ignore_case: bool = False,
        fixed: bool = False,
        limit: int = 1_000,
        collections: Sequence[str] = (),
        scope: Scope,
    ) -> dict[str, object]:
        """Return exact lines that match a pattern (RE2 syntax: linear time), with their places.

        Raises:
            UsageError: The pattern is no regular expression.
        """
        matcher = compile_pattern(pattern, fixed=fixed, ignore_case=ignore_case)
        keeps = path_filter(path)
        matches: list[dict[str, object]] = []
        truncated = False
        for document in self._all_documents(collections, scope=scope):
            if not keeps(document.path):
                continue
            text = self._engines.store.document_text(document)
            starts: Sequence[int] = ()
            for start, _ in matcher.spans(text):
                starts = starts or line_starts(text)
                line = line_of(starts, start)
                if (
                    matches
                    and matches[-1]["line"] == line
                    and matches[-1]["document"] == document.id
                ):
                    continue
                if len(matches) >= limit:
                    truncated = True
                    break
                matches.append(_match(document, text, starts, line))
            if truncated:
                break
        for match in matches:
            del match["document"]
        return {"matches": matches, "truncated": truncated}

    def remove(
        self,
        names: Sequence[str],
        *,
        collections: Sequence[str] = (),
        confirmed: bool,
        purge: bool,
        scope: Scope,
    ) -> dict[str, object]:
        """Remove documents by uri or prefix; when this returns they are invisible everywhere.

        A document that was synced from a root is excluded from it, so that the next sync
        does not bring it back.

        Raises:
            NotFoundError: A name names nothing; nothing is removed then.
            UsageError: A prefix covers several documents and that was not confirmed.
        """
        scope.check_write()
        targets: dict[int, DocumentRecord] = {}
        for name in names:
            found, is_prefix = self._targets(name, collections=collections, scope=scope)
            if is_prefix and len(found) > 1 and not confirmed:
                raise UsageError(
                    f"{name!r} covers {len(found)} documents",
                    code="confirm",
                    hint="Add --yes to remove all of them.",
                )
            targets |= {document.id: document for document in found}
        for collection in sorted({d.collection for d in targets.values()}):
            mine = [d for d in targets.values() if d.collection == collection]
            with self._engines.ingesting(collection):
                for document in mine:
                    if document.root_id is not None:
                        self._engines.store.add_exclusion(document.root_id, document.path)
                self._engines.store.publish(
                    collection, [], vectors={}, deletions=[d.id for d in mine]
                )
        if purge:
            self._engines.store.purge()
        uris = sorted(document_uri(d.collection, d.path) for d in targets.values())
        return {"removed": uris, "purged": purge}

    def verify(
        self,
        quote: str,
        *,
        name: str | None,
        collections: Sequence[str] = (),
        scope: Scope,
    ) -> dict[str, object]:
        """Return where the words of a quote stand, or the nearest passage and the difference."""
        from api.services.quotes import verify_quote

        if name:
            documents: Iterator[DocumentRecord] | list[DocumentRecord] = [
                self.find(name, collections=collections, scope=scope)[0]
            ]
        else:
            documents = self._all_documents(collections, scope=scope)
        return verify_quote(self._engines.store, quote, documents, is_stale=is_stale)

    def _targets(
        self, name: str, *, collections: Sequence[str], scope: Scope
    ) -> tuple[list[DocumentRecord], bool]:
        with suppress(NotFoundError):
            return [self.find(name, collections=collections, scope=scope)[0]], False
        chosen, prefix = self._prefix(name, collections=collections, scope=scope)
        found = [d for collection in chosen for d in self._documents(collection, prefix)]
        if not found:
            raise NotFoundError(
                f"nothing is named {name!r} or lies under it",
                code="unknown_document",
                hint="`kb ls` lists what is there; nothing was removed.",
            )
        return found, True

    def _chunk(self, chunk_id: str, *, scope: Scope) -> dict[str, object] | None:
        for passage in self._engines.store.find_chunk(chunk_id):
            if scope.sees(passage.document.collection):
                chunk = passage.chunk
                return {
                    **document_json(passage.document),
                    "id": chunk.id,
                    "headings": list(chunk.headings),
                    "lines": list(chunk.lines),
                    "chars": [chunk.start, chunk.end],
                    "pages": list(chunk.pages) if chunk.pages else None,
                    "text": chunk.core,
                }
        return None

    def _prefix(
        self, prefix: str, *, collections: Sequence[str], scope: Scope
    ) -> tuple[list[str], str]:
        if not prefix.startswith(SCHEME):
            return self._names(collections, scope=scope), prefix
        known = self._names((), scope=scope)
        for candidate in parse_uri(prefix):
            if candidate.collection in known:
                return [candidate.collection], candidate.path
        raise unknown_collection(parse_uri(prefix)[0].collection, known)

    def _names(self, collections: Sequence[str], *, scope: Scope) -> list[str]:
        known = scope.visible(r.name for r in self._engines.store.collections())
        for name in collections:
            if name not in known:
                raise unknown_collection(name, sorted(known))
        return list(collections) or sorted(known)

    def _all_documents(
        self, collections: Sequence[str], *, scope: Scope
    ) -> Iterator[DocumentRecord]:
        for collection in self._names(collections, scope=scope):
            yield from self._documents(collection, "")

    def _documents(self, collection: str, prefix: str) -> Iterator[DocumentRecord]:
        after: str | None = None
        while True:
            page = self._engines.store.documents(
                collection, prefix=prefix, after=after, limit=LIST_PAGE
            )
            yield from page
            if len(page) < LIST_PAGE:
                return
            after = page[-1].path


def document_json(document: DocumentRecord) -> dict[str, object]:
    """Return what every listing says of a document."""
    return {
        "uri": document_uri(document.collection, document.path),
        "collection": document.collection,
        "path": document.path,
        "title": document.title,
        "media_type": document.media_type,
        "source": document.source,
        "size_bytes": document.size_bytes,
        "characters": document.n_characters,
        "chunks": document.n_chunks,
        "n_pages": document.n_pages,
        "images": document.n_images,
        "source_characters": document.n_source_characters,
        "revision": document.revision,
        "indexed_at": document.indexed_at,
        "stale": is_stale(document),
        "parser": document.parser,
        "encoding": document.encoding,
        "metadata": dict(document.metadata),
        "warnings": [{"code": w.code, "message": w.message} for w in document.warnings],
    }


def fragment_span(
    fragment: str, starts: Sequence[int], pages: Sequence[PageSpan], *, n_characters: int
) -> tuple[int, int]:
    """Return the characters that `L40-58`, `L47`, `p7` or `p7-9` means.

    Raises:
        UsageError: The fragment is of no such form or outside the document.
    """
    kind, _, rest = fragment[:1], "", fragment[1:]
    first_text, _, last_text = rest.replace("L", "").replace("p", "").partition("-")
    if kind not in {"L", "p"} or not first_text.isdecimal():
        raise UsageError(
            f"fragment #{fragment} names no lines or pages", hint="Use #L40-58, #L47 or #p7."
        )
    first = int(first_text)
    last = int(last_text) if last_text.isdecimal() else first
    if kind == "L":
        first, last = _line_range(f"{first}:{last}", len(starts))
        return _span_of_lines(first, last, starts, n_characters)
    chosen = [page for page in pages if first <= page.number <= last]
    if not chosen:
        raise UsageError(f"there is no page {first} in this document", hint="See `kb outline`.")
    return min(p.start for p in chosen), max(p.end for p in chosen)


def _line_range(lines: str, n_lines: int) -> tuple[int, int]:
    first_text, colon, last_text = lines.partition(":")
    try:
        first = int(first_text) if first_text else 1
        last = int(last_text) if last_text else (n_lines if colon else first)
    except ValueError as error:
        raise UsageError(f"lines {lines!r} are no range", hint="Use A:B, such as 40:58.") from error
    if first < 1 or last < first or first > n_lines:
        raise UsageError(
            f"lines {lines} do not lie in 1:{n_lines}", hint="Lines are 1-based and inclusive."
        )
    return first, min(last, n_lines)


def _span_of_lines(
    first: int, last: int, starts: Sequence[int], n_characters: int
) -> tuple[int, int]:
    end = starts[last] if last < len(starts) else n_characters
    return starts[first - 1], end


def _pages_of(pages: Sequence[PageSpan], start: int, end: int) -> list[int] | None:
    if not pages:
        return None
    first = bisect.bisect_right([page.end for page in pages], start)
    touched = [p.number for p in pages[first:] if p.start < end]
    return [touched[0], touched[-1]] if touched else None


def _match(
    document: DocumentRecord, text: str, starts: Sequence[int], line: int
) -> dict[str, object]:
    start, end = _span_of_lines(line, line, starts, len(text))
    return {
        "document": document.id,
        "uri": document_uri(document.collection, document.path),
        "line": line,
        "text": text[start:end].rstrip("\n"),
    }
