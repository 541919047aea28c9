"""Embeds through an OpenAI-compatible endpoint, `POST {base_url}/embeddings`."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from http.client import HTTPException
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from kb.errors import ModelError
from kb.models.guards import encodable, unit_rows
from kb.text import collapse_whitespace, n_cjk
from kb.types import ModelIdentity, Vectors

BATCH = 64
"""Texts in one request; hosted services allow 100 to 2,048, small local ones choke above."""

ATTEMPTS = 5
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
TIMEOUT_S = 120.0
"""64 chunks take a model of bge-m3's size 80 s on two cores; a late answer is not asked again."""

MAX_ANSWER_BYTES = 256_000_000
MAX_SAID_BYTES = 4_000
MAX_SAID_CHARACTERS = 200

MAX_TOKENS = 8_192
"""Of OpenAI's embedding models; an endpoint does not tell its own."""

_PROBE = "dimension"
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_LASTING = (ConnectionRefusedError, TimeoutError, socket.gaierror, ssl.SSLError)


class RemoteEmbedder:
    """Asks an endpoint for vectors; safe for threads. Texts leave this machine."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str,
        sleep: Callable[[float], None] = time.sleep,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Learn the dimension by embedding one word.

        Args:
            model: As the endpoint calls it.
            base_url: Such as `http://127.0.0.1:11434/v1`.
            api_key: Sent as a bearer token; empty for none.
            sleep: Waits so many seconds between attempts.
            timeout_s: For connecting and for each read.

        Raises:
            ModelError: The url is no http(s) url, or the endpoint does not answer as it should.
        """
        if not _is_http(base_url):
            raise ModelError(
                f"embedding.base_url {_shown(base_url)!r} is not an http or https url",
                hint="Write it as http://HOST:PORT/v1, the key in a variable (api_key_env).",
            )
        if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
            raise ModelError(
                "the key of the embedding endpoint has characters that no key has",
                hint="Look for spaces, quotes or line ends in the variable embedding.api_key_env.",
            )
        parts = urlsplit(base_url)
        self._url = base_url.rstrip("/") + "/embeddings"
        self._shown_url = _shown(base_url)
        self._model = model
        self._api_key = api_key
        self._sleep = sleep
        self._timeout_s = timeout_s
        self._opener = _opener(parts.hostname or "")
        self._dimension = 0
        self._dimension = int(self._embed([_PROBE]).shape[1])
        self._identity = ModelIdentity(
            name=f"openai:{model}",
            revision=f"{parts.netloc}{parts.path.rstrip('/')}",
            dimension=self._dimension,
            max_tokens=MAX_TOKENS,
        )

    @property
    def identity(self) -> ModelIdentity:
        """What is pinned in a collection that this model embeds."""
        return self._identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim), rows of length 1; (0, dim) for no texts.

        Raises:
            ModelError: The endpoint refused, did not answer, or gave something else.
        """
        rows = np.empty((len(texts), self._dimension), np.float32)
        for first in range(0, len(texts), BATCH):
            batch = texts[first : first + BATCH]
            rows[first : first + len(batch)] = self._embed(batch)
        return rows

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 (dim,) of length 1.

        Raises:
            ModelError: See `embed_passages`.
        """
        row: npt.NDArray[np.float32] = self._embed([text])[0]
        return row

    def count_tokens(self, text: str) -> int:
        """Return an upper estimate: 2 per CJK character, 1 per 2 others, 2 for the marks."""
        cjk = n_cjk(text)
        return 2 * cjk + -(-(len(text) - cjk) // 2) + 2

    def _embed(self, texts: Sequence[str]) -> Vectors:
        # Most endpoints refuse an empty input, so that a blank text is asked as one space.
        asked = [encodable(text) or " " for text in texts]
        content = self._asked({"model": self._model, "input": asked, "encoding_format": "float"})
        return unit_rows(self._matrix(content, len(texts)), model=f"openai:{self._model}")

    def _asked(self, body: dict[str, object]) -> object:
        wait_s, attempt = FIRST_WAIT_S, 1
        while True:
            try:
                return json.loads(self._post(body))
            except urllib.error.HTTPError as error:
                with error:
                    problem, after_s = self._refusal(error), _retry_after_s(error)
                    is_passing = error.code in _RETRIED
            except (HTTPException, OSError) as error:
                reason = error.reason if isinstance(error, urllib.error.URLError) else error
                problem, after_s = f"cannot be reached: {reason or type(error).__name__}", 0.0
                is_passing = not isinstance(reason, _LASTING)
            except ValueError as error:
                raise self._error("answered with something that is not JSON") from error
            if not is_passing or attempt == ATTEMPTS:
                raise self._error(problem)
            self._sleep(min(max(wait_s, after_s), LONGEST_WAIT_S))
            wait_s, attempt = wait_s * 2, attempt + 1

    def _post(self, body: dict[str, object]) -> bytes:
        request = urllib.request.Request(  # noqa: S310  # the scheme was checked
            self._url,
            data=json.dumps(body).encode("ascii"),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
            method="POST",
        )
        if self._api_key:
            request.add_unredirected_header("Authorization", f"Bearer {self._api_key}")
        with self._opener.open(request, timeout=self._timeout_s) as response:
            content: bytes = response.read(MAX_ANSWER_BYTES + 1)
        if len(content) > MAX_ANSWER_BYTES:
            raise self._error(f"answered with more than {MAX_ANSWER_BYTES} bytes")
        return content

    def _refusal(self, error: urllib.error.HTTPError) -> str:
        # Some services repeat the key in what they say about it.
        if error.code in {401, 403}:
            return f"refused the key (HTTP {error.code}); see embedding.api_key_env"
        said = ""
        with contextlib.suppress(OSError, HTTPException):
            said = error.read(MAX_SAID_BYTES).decode("utf-8", errors="replace")
        with contextlib.suppress(ValueError, TypeError, KeyError):
            said = json.loads(said)["error"]["message"]
        said = collapse_whitespace(str(said))
        if self._api_key:
            said = said.replace(self._api_key, "***")
        return f"answered HTTP {error.code}: {said[:MAX_SAID_CHARACTERS]}"

    def _matrix(self, content: object, n_texts: int) -> npt.NDArray[np.float64]:
        found = content.get("data") if isinstance(content, dict) else None
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise self._error("answered without a list `data` of vectors")
        if len(found) != n_texts:
            raise self._error(f"answered {len(found)} vectors for {n_texts} texts")
        places = [row.get("index", place) for place, row in enumerate(found)]
        if not all(type(p) is int for p in places) or set(places) != set(range(n_texts)):
            raise self._error("numbered its vectors wrongly")
        by_place = dict(zip(places, found, strict=True))
        rows = [by_place[place].get("embedding") for place in range(n_texts)]
        try:
            matrix = np.array(rows, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._error("answered vectors that are not lists of numbers") from error
        if matrix.ndim != 2 or not matrix.shape[1]:
            raise self._error("answered vectors that are not lists of numbers")
        if self._dimension not in {0, matrix.shape[1]}:
            raise self._error(
                f"answered vectors of {matrix.shape[1]} values, {self._dimension} before"
            )
        return matrix

    def _error(self, problem: str) -> ModelError:
        return ModelError(
            f"embedding endpoint {self._shown_url} (model {self._model!r}) {problem}",
            hint=f"Check embedding.base_url = {self._shown_url!r} and that its server runs and "
            f"serves {self._model!r}.",
        )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Turns a redirect into an error: a POST would arrive elsewhere as a GET."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Follow nothing."""


def _opener(host: str) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
    if _is_loopback(host):
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _is_http(base_url: str) -> bool:
    try:
        parts = urlsplit(base_url)
        has_place = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    has_more = parts.username is not None or parts.query or parts.fragment or " " in base_url
    return has_place and parts.scheme in {"http", "https"} and not has_more


def _shown(base_url: str) -> str:
    """Return a url without what may be secret in it."""
    try:
        parts = urlsplit(base_url)
    except ValueError:
        return "…"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _retry_after_s(error: urllib.error.HTTPError) -> float:
    told = error.headers.get("Retry-After", "")
    return float(told) if told.isascii() and told.isdigit() else 0.0
