"""What every vector engine must do, tried on the exact one, Chroma and the reference."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.errors import DamagedError, StoreError
from kb.indexes.chroma import ChromaIndex
from kb.indexes.exact import ExactIndex
from kb.indexes.reference import ReferenceVectorIndex
from kb.ports import VectorIndex
from kb.types import Ordinals, Vectors

ENGINES = ("exact", "chroma", "reference")
DIMENSION = 16


class Rows:
    """The catalog's part: the stored vectors by ordinal."""

    def __init__(self) -> None:
        self.by_ordinal: dict[int, Vectors] = {}

    def load(self, ordinals: Ordinals) -> Vectors:
        return np.array([self.by_ordinal[o] for o in ordinals.tolist()], dtype=np.float32)

    def add_to(self, index: VectorIndex, ordinals: Ordinals, vectors: Vectors) -> None:
        self.by_ordinal.update(zip(ordinals.tolist(), vectors, strict=True))
        index.add(ordinals, vectors)


def opened(engine: str, folder: Path, rows: Rows, dimension: int = DIMENSION) -> VectorIndex:
    if engine == "chroma":
        return ChromaIndex(folder, dimension, rows.load)
    kind = ExactIndex if engine == "exact" else ReferenceVectorIndex
    return kind(dimension, rows.load)


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture(params=ENGINES)
def index(request: pytest.FixtureRequest, tmp_path: Path, rows: Rows) -> Iterator[VectorIndex]:
    made = opened(request.param, tmp_path / "vectors", rows)
    yield made
    made.close()


def unit_vectors(n: int, *, seed: int = 0, dimension: int = DIMENSION) -> Vectors:
    made = np.random.default_rng(seed).standard_normal((n, dimension)).astype(np.float32)
    unit: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


def numbers(*values: int) -> Ordinals:
    return np.array(values, dtype=np.int64)


def test_an_empty_index_finds_nothing(index: VectorIndex) -> None:
    index.add(numbers(), np.empty((0, DIMENSION), np.float32))
    index.remove(numbers(3))
    assert len(index.search(unit_vectors(1)[0], k=5)) == 0
    assert index.count() == 0


def test_a_vector_is_nearest_to_itself_with_cosine_one(index: VectorIndex, rows: Rows) -> None:
    vectors = unit_vectors(40)
    rows.add_to(index, np.arange(100, 140), vectors)
    ranking = index.search(vectors[7], k=1)
    assert ranking.ordinals.tolist() == [107]
    assert ranking.scores.tolist() == pytest.approx([1.0], abs=1e-6)
    assert index.count() == 40


def test_scores_are_the_exact_cosines_best_first(index: VectorIndex, rows: Rows) -> None:
    vectors, question = unit_vectors(40), unit_vectors(1, seed=9)[0]
    rows.add_to(index, np.arange(40), vectors)
    ranking = index.search(question, k=40)
    expected = (vectors @ question)[ranking.ordinals]
    assert sorted(ranking.ordinals.tolist()) == list(range(40))
    np.testing.assert_allclose(ranking.scores, expected, atol=1e-6)
    assert ranking.scores.tolist() == sorted(ranking.scores.tolist(), reverse=True)


def test_equal_vectors_stand_by_ordinal(index: VectorIndex, rows: Rows) -> None:
    rows.add_to(index, numbers(5, 3, 9, 1), np.repeat(unit_vectors(1), 4, axis=0))
    assert index.search(unit_vectors(1)[0], k=4).ordinals.tolist() == [1, 3, 5, 9]


def test_at_most_k_rows_come_and_none_for_k_zero(index: VectorIndex, rows: Rows) -> None:
    rows.add_to(index, np.arange(10), unit_vectors(10))
    question = unit_vectors(1, seed=3)[0]
    assert [len(index.search(question, k=k)) for k in (0, 3, 10, 50)] == [0, 3, 10, 10]


def test_adding_an_ordinal_again_replaces_its_vector(index: VectorIndex, rows: Rows) -> None:
    old, new = unit_vectors(2)
    rows.add_to(index, numbers(1, 2), np.array([old, -new]))
    rows.add_to(index, numbers(1), new.reshape(1, -1))
    ranking = index.search(new, k=2)
    assert ranking.ordinals.tolist() == [1, 2]
    assert ranking.scores.tolist() == pytest.approx([1.0, -1.0], abs=1e-6)
    assert index.count() == 2


def test_removed_rows_are_not_found_and_unknown_ones_are_ignored(
    index: VectorIndex, rows: Rows
) -> None:
    vectors = unit_vectors(6)
    rows.add_to(index, np.arange(6), vectors)
    index.remove(numbers(0, 2, 4, 99))
    assert sorted(index.search(vectors[2], k=6).ordinals.tolist()) == [1, 3, 5]
    assert index.count() == 3


def test_a_removed_row_can_come_back(index: VectorIndex, rows: Rows) -> None:
    vectors = unit_vectors(6)
    rows.add_to(index, np.arange(6), vectors)
    index.remove(numbers(2))
    rows.add_to(index, numbers(2), vectors[2:3])
    assert index.search(vectors[2], k=1).ordinals.tolist() == [2]
    assert index.count() == 6


def test_only_allowed_rows_that_are_held_appear(index: VectorIndex, rows: Rows) -> None:
    rows.add_to(index, np.arange(20), unit_vectors(20))
    index.remove(numbers(4))
    question = unit_vectors(1, seed=3)[0]
    ranking = index.search(question, k=10, allowed=numbers(2, 4, 11, 77))
    assert sorted(ranking.ordinals.tolist()) == [2, 11]
    assert len(index.search(question, k=10, allowed=numbers())) == 0


CLUSTERED = unit_vectors(3_000, dimension=64) + 2 * np.repeat(
    unit_vectors(60, seed=1, dimension=64), 50, axis=0
)
CLUSTERED /= np.linalg.norm(CLUSTERED, axis=1, keepdims=True)


@pytest.mark.parametrize("share", [None, 0.01, 0.4, 0.95])
@pytest.mark.parametrize("engine", ["exact", "chroma"])
def test_the_best_ten_are_those_of_the_reference_whatever_is_allowed(
    engine: str, share: float | None, tmp_path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that filters go through the engines' own search, as they do in large collections.
    monkeypatch.setattr("kb.indexes.exact.DIRECT_UP_TO", 100)
    monkeypatch.setattr("kb.indexes.chroma.DIRECT_UP_TO", 100)
    ordinals = np.arange(3_000)
    index = opened(engine, tmp_path, rows, 64)
    reference = ReferenceVectorIndex(64, rows.load)
    rows.add_to(index, ordinals, CLUSTERED)
    rows.add_to(reference, ordinals, CLUSTERED)
    generator = np.random.default_rng(5)
    allowed = None if share is None else ordinals[generator.random(3_000) < share]
    recalls = []
    for row in range(0, 3_000, 100):
        question = CLUSTERED[row] + 0.1 * unit_vectors(1, seed=row, dimension=64)[0]
        question /= np.linalg.norm(question)
        expected = reference.search(question, k=10, allowed=allowed).ordinals.tolist()
        ranking = index.search(question, k=10, allowed=allowed)
        assert len(ranking) == 10
        assert allowed is None or set(ranking.ordinals.tolist()) <= set(allowed.tolist())
        recalls.append(len({*expected} & {*ranking.ordinals.tolist()}) / 10)
    index.close()
    assert np.mean(recalls) >= 0.99


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(
    before=st.sets(st.integers(0, 15)),
    removed=st.sets(st.integers(0, 20)),
    after=st.sets(st.integers(0, 15)),
    allowed=st.none() | st.sets(st.integers(0, 20)),
    k=st.integers(1, 20),
)
def test_any_history_answers_as_in_the_reference(
    before: set[int], removed: set[int], after: set[int], allowed: set[int] | None, k: int
) -> None:
    first, second = unit_vectors(16), unit_vectors(16, seed=1)
    visible = None if allowed is None else numbers(*sorted(allowed))
    with tempfile.TemporaryDirectory() as folder:
        answers = []
        for engine in ENGINES:
            rows = Rows()
            index = opened(engine, Path(folder), rows)
            rows.add_to(index, numbers(*sorted(before)), first[sorted(before)])
            index.remove(numbers(*sorted(removed)))
            rows.add_to(index, numbers(*sorted(after)), second[sorted(after)])
            ranking = index.search(unit_vectors(1, seed=2)[0], k=k, allowed=visible)
            answers.append((ranking.ordinals.tolist(), index.count()))
            index.close()
    assert answers == [answers[-1]] * len(ENGINES)


def test_exact_answers_stay_right_after_most_rows_are_gone(rows: Rows) -> None:
    vectors = unit_vectors(200)
    index = ExactIndex(DIMENSION, rows.load)
    rows.add_to(index, np.arange(200), vectors)
    index.remove(np.arange(150))
    assert index.search(vectors[180], k=1).ordinals.tolist() == [180]
    assert index.search(vectors[20], k=200).ordinals.min() == 150


def test_chroma_finds_its_rows_again_after_it_was_closed(tmp_path: Path, rows: Rows) -> None:
    vectors = unit_vectors(30)
    first = ChromaIndex(tmp_path, DIMENSION, rows.load)
    rows.add_to(first, np.arange(30), vectors)
    first.remove(numbers(3))
    first.close()
    second = ChromaIndex(tmp_path, DIMENSION, rows.load)
    assert second.count() == 29
    assert second.search(vectors[8], k=1).ordinals.tolist() == [8]
    second.close()


def test_chroma_takes_more_rows_than_one_of_its_batches_holds(tmp_path: Path, rows: Rows) -> None:
    vectors = unit_vectors(5_600, dimension=4)
    index = ChromaIndex(tmp_path, 4, rows.load)
    rows.add_to(index, np.arange(5_600), vectors)
    index.remove(np.arange(5_500))
    assert index.count() == 100
    assert sorted(index.search(vectors[0], k=200).ordinals.tolist()) == list(range(5_500, 5_600))
    index.close()


@pytest.mark.parametrize("damage", ["chroma.sqlite3", "index_metadata.pickle"])
def test_chroma_starts_empty_when_its_files_are_damaged(
    damage: str, tmp_path: Path, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    # The graph is written out after some thousand rows.
    vectors = unit_vectors(2_000)
    first = ChromaIndex(tmp_path, DIMENSION, rows.load)
    rows.add_to(first, np.arange(2_000), vectors)
    first.close()
    for file in tmp_path.rglob(damage):
        file.write_bytes(b"no such format")
    second = ChromaIndex(tmp_path, DIMENSION, rows.load)
    assert second.count() == 0
    assert "damaged" in caplog.text
    rows.add_to(second, np.arange(2_000), vectors)
    assert second.search(vectors[8], k=1).ordinals.tolist() == [8]
    second.close()


def test_trouble_of_chroma_itself_is_told_as_ours(tmp_path: Path, rows: Rows) -> None:
    index = ChromaIndex(tmp_path, DIMENSION, rows.load)
    rows.add_to(index, np.arange(30), unit_vectors(30))
    index._client.delete_collection("vectors")
    with pytest.raises(DamagedError, match="cannot be read") as caught:
        index.search(unit_vectors(1)[0], k=3)
    assert "kb doctor --repair" in caught.value.hint
    with pytest.raises(StoreError, match="cannot be written"):
        index.add(numbers(31), unit_vectors(1))
    with pytest.raises(StoreError, match="cannot be written"):
        index.remove(numbers(3))
    index.close()


def open_files(folder: Path) -> list[str]:
    """Return this process's open files in a folder; none where /proc does not tell."""
    targets = []
    for descriptor in Path("/proc/self/fd").glob("*"):
        with contextlib.suppress(OSError):  # closed since it was listed
            targets.append(str(descriptor.readlink()))
    return [target for target in targets if target.startswith(str(folder))]


def test_a_closed_chroma_lets_go_of_its_files(tmp_path: Path, rows: Rows) -> None:
    folder = tmp_path / "vectors"
    index = ChromaIndex(folder, DIMENSION, rows.load)
    rows.add_to(index, np.arange(30), unit_vectors(30))
    if Path("/proc/self/fd").is_dir():
        assert open_files(folder)
    index.close()
    index.close()
    # Chroma's own threads close the last files, a millisecond or two later.
    assert any(not open_files(folder) for _ in range(100_000))
    shutil.rmtree(folder)
    fresh = ChromaIndex(folder, DIMENSION, rows.load)
    assert fresh.count() == 0
    fresh.close()


def test_chroma_is_not_configured_by_a_file_in_the_working_folder(
    tmp_path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("CHROMA_SERVER_HTTP_PORT=none\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    index = ChromaIndex(tmp_path / "vectors", DIMENSION, rows.load)
    assert index.count() == 0
    index.close()
