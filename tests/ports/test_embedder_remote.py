"""What only the embedder behind an endpoint must do, tried on a real HTTP server."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kb.errors import ModelError
from kb.models.bundled import BundledEmbedder
from kb.models.remote import ATTEMPTS, RemoteEmbedder
from kb.types import ModelIdentity

from .conftest import Endpoint

KEY = "sk-a-key-that-nobody-has"


def connected(endpoint: Endpoint, waits: list[float] | None = None) -> RemoteEmbedder:
    made = RemoteEmbedder(
        "small",
        base_url=endpoint.url,
        api_key=KEY,
        sleep=(waits if waits is not None else []).append,
    )
    endpoint.requests.clear()
    return made


def unit(vector: list[float]) -> np.ndarray:
    return (np.array(vector) / np.linalg.norm(vector)).astype(np.float32)


def test_its_identity_names_the_model_and_where_it_is(endpoint: Endpoint) -> None:
    place = endpoint.url.removeprefix("http://")
    assert connected(endpoint).identity == ModelIdentity(
        name="openai:small", revision=place, dimension=12, max_tokens=8192
    )
    assert RemoteEmbedder("small", base_url=endpoint.url + "/", api_key="").identity.revision == (
        place
    )


def test_vectors_are_the_endpoints_brought_to_length_one(endpoint: Endpoint) -> None:
    rows = connected(endpoint).embed_passages(["tea", "茶"])
    expected = np.vstack([unit(endpoint.vector("tea")), unit(endpoint.vector("茶"))])
    np.testing.assert_allclose(rows, expected, atol=1e-6)


def test_texts_go_in_batches_of_64_and_none_makes_no_request(endpoint: Endpoint) -> None:
    embedder = connected(endpoint)
    embedder.embed_passages([])
    assert endpoint.requests == []
    texts = [f"text {n}" for n in range(130)]
    rows = embedder.embed_passages(texts)
    assert [len(request["input"]) for request in endpoint.requests] == [64, 64, 2]
    np.testing.assert_allclose(rows[129], unit(endpoint.vector("text 129")), atol=1e-6)


def test_the_request_is_as_the_interface_wants_it(endpoint: Endpoint) -> None:
    connected(endpoint).embed_query("a\x00\ud800b")
    assert endpoint.requests == [
        {"model": "small", "input": ["a\ufffd\ufffdb"], "encoding_format": "float"}
    ]
    assert endpoint.headers[-1]["Authorization"] == f"Bearer {KEY}"


def test_without_a_key_no_authorization_is_sent(endpoint: Endpoint) -> None:
    RemoteEmbedder("small", base_url=endpoint.url, api_key="")
    assert "Authorization" not in endpoint.headers[-1]


def test_rows_are_put_in_the_order_of_their_index(endpoint: Endpoint) -> None:
    embedder = connected(endpoint)
    endpoint.faults = [lambda rows: rows[::-1]]
    rows = embedder.embed_passages(["tea", "coffee", "cocoa"])
    np.testing.assert_allclose(rows[0], unit(endpoint.vector("tea")), atol=1e-6)


def test_rows_without_an_index_stand_in_order(endpoint: Endpoint) -> None:
    embedder = connected(endpoint)
    endpoint.faults = [lambda rows: [{"embedding": row["embedding"]} for row in rows]]
    rows = embedder.embed_passages(["tea", "coffee"])
    np.testing.assert_allclose(rows[1], unit(endpoint.vector("coffee")), atol=1e-6)


def with_first(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[list[Any]], Any]:
    return lambda rows: [change(rows[0]), *rows[1:]]


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (lambda rows: rows[:-1], "1 vectors for 2 texts"),
        (lambda rows: [*rows, rows[0]], "3 vectors for 2 texts"),
        (lambda _: {"tea": 1}, "without a list"),
        (lambda _: None, "without a list"),
        (lambda _: ["tea", "coffee"], "without a list"),
        (with_first(lambda row: {**row, "index": 1}), "numbered"),
        (with_first(lambda row: {**row, "index": 7}), "numbered"),
        (with_first(lambda row: {**row, "index": "0"}), "numbered"),
        (with_first(lambda row: {**row, "index": 0.0}), "numbered"),
        (with_first(lambda row: {**row, "index": []}), "numbered"),
        (with_first(lambda row: {**row, "embedding": row["embedding"][:-1]}), "lists of numbers"),
        (with_first(lambda row: {**row, "embedding": "AAAAAA=="}), "lists of numbers"),
        (with_first(lambda row: {"index": 0}), "lists of numbers"),
        (lambda rows: [{**row, "embedding": []} for row in rows], "lists of numbers"),
        (lambda rows: [{**row, "embedding": 3} for row in rows], "lists of numbers"),
        (lambda rows: [{**row, "embedding": [1.0] * 13} for row in rows], "13 values, 12 before"),
        (with_first(lambda row: {**row, "embedding": [math.nan] * 12}), "not finite"),
        (with_first(lambda row: {**row, "embedding": [math.inf] * 12}), "not finite"),
        (with_first(lambda row: {**row, "embedding": [0.0] * 12}), "zeros"),
        ((200, {}, b"<html>tea</html>"), "not JSON"),
        ((200, {}, b"\xff\xfe\xfd"), "not JSON"),
        ((200, {}, b"[]"), "without a list"),
        ((302, {"Location": "http://127.0.0.1:9/"}, b""), "HTTP 302"),
    ],
)
def test_an_answer_that_is_not_what_was_asked_for_is_refused(
    endpoint: Endpoint, fault: Any, problem: str
) -> None:
    embedder = connected(endpoint)
    endpoint.faults = [fault]
    with pytest.raises(ModelError, match=problem):
        embedder.embed_passages(["tea", "coffee"])
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 0])
def test_passing_trouble_is_waited_out(endpoint: Endpoint, status: int) -> None:
    waits: list[float] = []
    embedder = connected(endpoint, waits)
    endpoint.faults = [(status, {}, b"busy")] * 3
    vector = embedder.embed_query("tea")
    np.testing.assert_allclose(vector, unit(endpoint.vector("tea")), atol=1e-6)
    assert waits == [0.5, 1.0, 2.0]


def test_the_endpoint_says_how_long_to_wait_up_to_half_a_minute(endpoint: Endpoint) -> None:
    waits: list[float] = []
    embedder = connected(endpoint, waits)
    endpoint.faults = [
        (429, {"Retry-After": "7"}, b""),
        (429, {"Retry-After": "3600"}, b""),
        (429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, b""),
    ]
    embedder.embed_query("tea")
    assert waits == [7.0, 30.0, 2.0]


def test_lasting_trouble_is_given_up_and_the_setting_named(endpoint: Endpoint) -> None:
    waits: list[float] = []
    embedder = connected(endpoint, waits)
    endpoint.faults = [(503, {}, b'{"error": {"message": "out of\\n memory"}}')] * 9
    with pytest.raises(ModelError, match="HTTP 503: out of memory") as caught:
        embedder.embed_query("tea")
    assert len(endpoint.requests) == ATTEMPTS
    assert waits == [0.5, 1.0, 2.0, 4.0]
    assert f"embedding.base_url = '{endpoint.url}'" in caught.value.hint


def test_a_wrong_request_is_not_sent_again(endpoint: Endpoint) -> None:
    embedder = connected(endpoint)
    endpoint.faults = [(404, {}, b'{"error": {"message": "no model \'small\'"}}')]
    with pytest.raises(ModelError, match="HTTP 404: no model 'small'"):
        embedder.embed_query("tea")
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_the_key_stands_in_no_message(endpoint: Endpoint, status: int) -> None:
    embedder = connected(endpoint)
    said = ("x" * 190 + KEY).encode()  # where a message is cut
    endpoint.faults = [(status, {}, said), (status, {}, KEY.encode())] * ATTEMPTS
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            embedder.embed_query("tea")
        told = caught.value.message + caught.value.hint
        assert KEY not in told
        assert "sk-a" not in told


def test_a_server_that_is_not_there_is_named_at_once() -> None:
    waits: list[float] = []
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:9/v1 .* cannot be reached"):
        RemoteEmbedder("small", base_url="http://127.0.0.1:9/v1", api_key=KEY, sleep=waits.append)
    assert waits == []


def test_a_server_that_does_not_answer_in_time_is_not_asked_again(endpoint: Endpoint) -> None:
    waits: list[float] = []
    endpoint.faults = [lambda rows: rows if endpoint.release.wait() else None]
    with pytest.raises(ModelError, match="timed out"):
        RemoteEmbedder(
            "small", base_url=endpoint.url, api_key="", sleep=waits.append, timeout_s=0.2
        )
    assert waits == []


def test_a_proxy_is_not_asked_for_this_machine(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert connected(endpoint).identity.dimension == 12
    by_name = endpoint.url.replace("127.0.0.1", "localhost")
    assert RemoteEmbedder("small", base_url=by_name, api_key="").identity.dimension == 12
    with pytest.raises(ModelError, match="cannot be reached"):
        RemoteEmbedder("small", base_url="http://kb.invalid/v1", api_key="")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:11434",
        "file:///etc/passwd",
        "http://",
        "http://[::1/v1",
        "http://127.0.0.1:x/v1",
        "http://127.0.0.1/v 1",
        f"http://me:{KEY}@127.0.0.1/v1",
        f"http://{KEY}@127.0.0.1/v1",
        f"http://127.0.0.1/v1?key={KEY}",
    ],
)
def test_what_is_no_http_url_is_refused_without_a_word_of_its_key(url: str) -> None:
    with pytest.raises(ModelError, match="base_url") as caught:
        RemoteEmbedder("small", base_url=url, api_key="")
    assert KEY not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "The tea harvest begins.",
        "茶叶的采摘从四月初开始。",
        "kb-2.4.1 → 接口 v2",
        "齉龘",
    ],
)
def test_tokens_are_estimated_from_above(
    remote: RemoteEmbedder, bundled: BundledEmbedder, text: str
) -> None:
    marks_and_prefix = bundled.count_tokens("")
    assert remote.count_tokens(text) >= bundled.count_tokens(text) - marks_and_prefix + 2


@pytest.mark.parametrize("key", ["two words", "line\nend", "钥匙"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(
    endpoint: Endpoint, key: str
) -> None:
    with pytest.raises(ModelError, match="characters that no key has") as caught:
        RemoteEmbedder("small", base_url=endpoint.url, api_key=key)
    assert key not in caught.value.message + caught.value.hint
    assert endpoint.requests == []


def test_an_answer_without_end_is_refused(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = connected(endpoint)
    monkeypatch.setattr("kb.models.remote.MAX_ANSWER_BYTES", 100)
    with pytest.raises(ModelError, match="more than 100 bytes"):
        embedder.embed_query("tea")


def test_an_error_that_breaks_off_is_still_told(endpoint: Endpoint) -> None:
    embedder = connected(endpoint)
    endpoint.faults = [(400, {"Content-Length": "5000"}, b"half a")]
    with pytest.raises(ModelError, match="HTTP 400"):
        embedder.embed_query("tea")
