"""What every lexical engine must do, tried on tantivy and on the reference."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.indexes.reference import ReferenceLexicalIndex
from kb.indexes.tantivy import TantivyIndex
from kb.ports import LexicalIndex

ENGINES = ("tantivy", "reference")


def opened(engine: str, folder: Path) -> LexicalIndex:
    return TantivyIndex(folder) if engine == "tantivy" else ReferenceLexicalIndex()


@pytest.fixture(params=ENGINES)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LexicalIndex]:
    made = opened(request.param, tmp_path / "lexical")
    yield made
    made.close()


def fill(index: LexicalIndex, chunks: Mapping[int, Sequence[int]]) -> None:
    index.add(list(chunks), [np.array(terms, dtype=np.int64) for terms in chunks.values()])
    index.commit()


def found(index: LexicalIndex, *terms: int, k: int = 10) -> list[int]:
    ordinals: list[int] = index.search(dict.fromkeys(terms, 1.0), k=k).ordinals.tolist()
    return ordinals


def test_an_empty_index_finds_nothing(index: LexicalIndex) -> None:
    assert found(index, 1) == []
    assert index.count() == 0


def test_a_chunk_without_terms_is_counted_and_never_found(index: LexicalIndex) -> None:
    fill(index, {1: []})
    assert index.count() == 1
    assert found(index, 1) == []


def test_chunks_that_hold_any_of_the_terms_are_found(index: LexicalIndex) -> None:
    fill(index, {1: [7, 8], 2: [8, 9], 3: [9, 10]})
    assert sorted(found(index, 7, 8)) == [1, 2]
    assert found(index, 11) == []


def test_a_question_without_terms_finds_nothing(index: LexicalIndex) -> None:
    fill(index, {1: [7]})
    assert len(index.search({}, k=10)) == 0


def test_staged_chunks_are_found_only_after_commit(index: LexicalIndex) -> None:
    index.add([1], [np.array([7], dtype=np.int64)])
    assert found(index, 7) == []
    index.commit()
    assert found(index, 7) == [1]


def test_a_commit_of_nothing_changes_nothing(index: LexicalIndex) -> None:
    fill(index, {1: [7]})
    index.commit()
    assert found(index, 7) == [1]


def test_term_ids_are_any_64_bit_integers(index: LexicalIndex) -> None:
    extremes = [-(2**63), -1, 0, 2**62, 2**63 - 1]
    fill(index, {n: [term] for n, term in enumerate(extremes)})
    assert [found(index, term) for term in extremes] == [[n] for n in range(len(extremes))]


def test_adding_an_ordinal_again_replaces_its_terms(index: LexicalIndex) -> None:
    fill(index, {1: [7], 2: [8]})
    fill(index, {1: [9]})
    assert found(index, 7) == []
    assert found(index, 9) == [1]
    assert index.count() == 2


def test_adding_an_ordinal_twice_before_commit_keeps_the_last(index: LexicalIndex) -> None:
    index.add([1], [np.array([7], dtype=np.int64)])
    fill(index, {1: [9]})
    assert (found(index, 7), found(index, 9), index.count()) == ([], [1], 1)


def test_removed_chunks_are_not_found_and_unknown_ones_are_ignored(index: LexicalIndex) -> None:
    fill(index, {1: [7], 2: [7]})
    index.remove([1, 99])
    index.commit()
    assert found(index, 7) == [2]
    assert index.count() == 1


def test_removing_takes_effect_with_commit(index: LexicalIndex) -> None:
    fill(index, {1: [7]})
    index.remove([1])
    assert found(index, 7) == [1]
    index.commit()
    assert found(index, 7) == []


def test_at_most_k_chunks_come_best_first(index: LexicalIndex) -> None:
    fill(index, {n: [7] * n + [8] * (20 - n) for n in range(1, 20)})
    ranking = index.search({7: 1.0}, k=3)
    assert ranking.ordinals.tolist() == [19, 18, 17]
    assert ranking.scores.tolist() == sorted(ranking.scores.tolist(), reverse=True)
    assert len(index.search({7: 1.0}, k=0)) == 0


def test_chunks_that_score_alike_stand_by_ordinal(index: LexicalIndex) -> None:
    fill(index, {n: [7, 8] for n in (5, 3, 9, 1)})
    assert found(index, 7) == [1, 3, 5, 9]


def test_the_heavier_term_decides(index: LexicalIndex) -> None:
    fill(index, {1: [7, 1], 2: [8, 2]})
    assert index.search({7: 1.0, 8: 5.0}, k=2).ordinals.tolist() == [2, 1]
    assert index.search({7: 5.0, 8: 1.0}, k=2).ordinals.tolist() == [1, 2]


def test_a_shorter_chunk_beats_a_longer_one_with_the_same_term(index: LexicalIndex) -> None:
    fill(index, {1: [7, *range(100, 200)], 2: [7, *range(200, 210)]})
    assert found(index, 7) == [2, 1]


def test_only_allowed_chunks_appear(index: LexicalIndex) -> None:
    fill(index, {n: [7] for n in range(10)})
    allowed = np.array([2, 5, 77], dtype=np.int64)
    assert index.search({7: 1.0}, k=10, allowed=allowed).ordinals.tolist() == [2, 5]
    nothing = np.empty(0, np.int64)
    assert len(index.search({7: 1.0}, k=10, allowed=nothing)) == 0


def test_better_chunks_that_are_not_allowed_do_not_crowd_out_allowed_ones(
    index: LexicalIndex,
) -> None:
    fill(index, {n: [7] * 5 for n in range(500)} | {n: [7, 8, 9] for n in range(500, 503)})
    allowed = np.arange(500, 503, dtype=np.int64)
    assert index.search({7: 1.0}, k=3, allowed=allowed).ordinals.tolist() == [500, 501, 502]


def test_tantivy_keeps_what_was_committed_and_nothing_else(tmp_path: Path) -> None:
    first = TantivyIndex(tmp_path)
    fill(first, {1: [7]})
    first.add([2], [np.array([7], dtype=np.int64)])
    first.close()
    second = TantivyIndex(tmp_path)
    assert (found(second, 7), second.count()) == ([1], 1)
    fill(second, {3: [7]})
    assert found(second, 7) == [1, 3]
    second.close()


def corpus(n_chunks: int, seed: int) -> dict[int, list[int]]:
    """Return chunks of words as frequent as in natural text (Zipf)."""
    generator = np.random.default_rng(seed)
    return {
        n: (generator.zipf(1.3, generator.integers(20, 200)) % 5_000).tolist()
        for n in range(n_chunks)
    }


def idf(chunks: Mapping[int, Sequence[int]], terms: Sequence[int]) -> dict[int, float]:
    counts = Counter(term for words in chunks.values() for term in set(words))
    return {t: math.log(1 + (len(chunks) - counts[t] + 0.5) / (counts[t] + 0.5)) for t in terms}


def test_tantivy_ranks_first_nearly_what_the_reference_ranks_first(tmp_path: Path) -> None:
    chunks = corpus(600, seed=1)
    reference, tantivy = ReferenceLexicalIndex(), TantivyIndex(tmp_path)
    fill(reference, chunks)
    fill(tantivy, chunks)
    overlaps = []
    for start in range(0, 600, 20):
        weights = idf(chunks, list(dict.fromkeys(chunks[start]))[:6])
        best = set(reference.search(weights, k=10).ordinals.tolist())
        candidates = set(tantivy.search(weights, k=30).ordinals.tolist())
        overlaps.append(len(best & candidates) / len(best))
    tantivy.close()
    # It is a source of candidates: what it finds is scored anew afterwards.
    assert np.mean(overlaps) >= 0.97


TERMS = st.integers(min_value=-3, max_value=6)
CHUNKS = st.dictionaries(st.integers(0, 12), st.lists(TERMS, max_size=8), max_size=12)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(
    before=CHUNKS,
    after=CHUNKS,
    removed=st.lists(st.integers(0, 15), max_size=5),
    terms=st.sets(TERMS, min_size=1, max_size=4),
    allowed=st.none() | st.sets(st.integers(0, 15)),
)
def test_any_history_finds_the_same_chunks_as_in_the_reference(
    before: dict[int, list[int]],
    after: dict[int, list[int]],
    removed: list[int],
    terms: set[int],
    allowed: set[int] | None,
) -> None:
    visible = None if allowed is None else np.array(sorted(allowed), dtype=np.int64)
    with tempfile.TemporaryDirectory() as folder:
        engines = [opened(engine, Path(folder)) for engine in ENGINES]
        answers = []
        for engine in engines:
            fill(engine, before)
            engine.remove(removed)
            fill(engine, after)
            ranking = engine.search(dict.fromkeys(terms, 1.0), k=50, allowed=visible)
            answers.append((sorted(ranking.ordinals.tolist()), engine.count()))
            engine.close()
    assert answers[0] == answers[1]
