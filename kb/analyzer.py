"""Text to terms, the same way for passages and questions, in any script."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import Stemmer

from kb.errors import UsageError
from kb.traditional import simplify
from kb.types import TermIds

DEFAULT_ANALYZER = "multilingual/1"

# Runs that are told apart: Han, kana, Hangul, other scripts written without spaces, and
# words with the joints of identifiers, versions, addresses and paths inside.
_RUNS = re.compile(
    "(?P<han>[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]+)"
    "|(?P<kana>[\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff]+)"
    "|(?P<hangul>[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]+)"
    "|(?P<dense>[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)"
    r"|(?P<word>(?:[^\W_]|[\u0300-\u036f])+(?:[._\-/'’@:+#]+(?:[^\W_]|[\u0300-\u036f])+)*(?:\+\+|#)?|_+[^\W_]+(?:_+[^\W_]+)*)"
)
_NOT_LATIN_WORD = re.compile(
    "[\u3005-\u3007\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]"
)
_JOINTS = re.compile(r"[._\-/'’@:+#]+")
_JOINT_CHARACTERS = "._-/'’@:+#"
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ALNUM = re.compile(r"[^\W\d_]+|\d+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_POSSESSIVE = re.compile(r"['’]s\Z")

# Function words say nothing about what a question is about. In a large collection their idf
# shows it; in one of five chunks nothing does, so they are known by name.
_ENGLISH_FUNCTION_WORDS = frozenset(
    """
    a an the this that these those is are was were be been being am do does did doing done have
    has had having can could will would shall should may might must of in on at by for with
    about against between into through during to from up down out off over under and or but if
    because as until while so than too very not no nor only own same such both each few more
    most other some any all what which who whom whose when where why how i you he she it we they
    me him her us them my your his its our their there here s t don doesn didn isn aren won
    """.split()  # noqa: SIM905  a list would take a line a word
)
_CHINESE_FUNCTION_WORDS = frozenset(
    """
    的 了 是 在 和 与 及 或 吗 呢 吧 啊 么 什么 怎么 怎样 如何 哪 哪个 哪些 哪里 谁 几 多少 为
    为什么 有 被 把 对 从 到 由 于 以 而 之 其 这 那 这个 那个 个 们 我 你 他 她 它 我们 你们
    他们 会 能 可以 要 应 该 应该 请 请问 都 也 还 就 又 很 更 最 中 上 下 里 不 没 没有 一 一个
    时 时候
    """.split()  # noqa: SIM905
)
FUNCTION_WORD_WEIGHT = 0.15
STEM_WEIGHT = 0.9
PART_WEIGHT = 0.6
HAN_UNIGRAM_WEIGHT = 0.25


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One term of a question.

    Attributes:
        id: See `term_id`.
        text: The term as it is indexed.
        surface: The words of the question it comes from.
        weight: Relative to a full word; multiplies the idf.
        group: Terms of one surface word share a number; a word is covered by its best term.
    """

    id: int
    text: str
    surface: str
    weight: float
    group: int


@lru_cache(maxsize=200_000)
def term_id(term: str) -> int:
    """Return a term's 64-bit signed number: the first 8 bytes of its blake2b."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


class Analyzer:
    """Turns text into terms; safe for threads.

    Han runs give overlapping pairs and single characters: any two texts that share a word
    share a pair, whatever a segmenter would have cut. Words give their surface form, their
    English stem and, where they have joints, their parts.
    """

    name = DEFAULT_ANALYZER

    def __init__(self) -> None:
        self._local = threading.local()

    def passage_terms(self, text: str) -> TermIds:
        """Return a passage's term ids in text order, int64 (n,)."""
        ids = [term_id(term) for _, terms in self._runs(text) for term, _ in terms]
        return np.array(ids, dtype=np.int64)

    def query_terms(self, text: str) -> list[QueryTerm]:
        """Return a question's terms, each once, in order, with weights and groups."""
        found: dict[int, QueryTerm] = {}
        group = 0
        for surface, terms in self._runs(text):
            if _is_han(surface):
                group = self._han_query(surface, terms, found, group)
                continue
            folded = surface.casefold()
            scale = FUNCTION_WORD_WEIGHT if folded in _ENGLISH_FUNCTION_WORDS else 1.0
            for term, weight in terms:
                number = term_id(term)
                if number not in found:
                    found[number] = QueryTerm(number, term, surface, weight * scale, group)
            group += 1
        return list(found.values())

    def _han_query(
        self,
        surface: str,
        terms: Iterable[tuple[str, float]],
        found: dict[int, QueryTerm],
        group: int,
    ) -> int:
        function = _function_positions(simplify(surface))
        at = {"": 0}
        seen_pairs = len(surface) > 1
        for term, weight in terms:
            # Terms come as pair, single, pair, single …; a single belongs to its place.
            place = at[""]
            covered = function[place : place + len(term)]
            scale = FUNCTION_WORD_WEIGHT if all(covered) else (0.5 if any(covered) else 1.0)
            number = term_id(term)
            if number not in found:
                found[number] = QueryTerm(number, term, term, weight * scale, group)
                group += 1
            if len(term) == 1 or not seen_pairs:
                at[""] += 1
        return group

    def _runs(self, text: str) -> Iterable[tuple[str, list[tuple[str, float]]]]:
        folded = unicodedata.normalize("NFKC", text)
        for match in _RUNS.finditer(folded):
            kind = match.lastgroup
            run = match.group()
            if kind == "word":
                yield from _split_scripts(run)
            elif kind == "han":
                yield run, _han_terms(simplify(run))
            else:
                yield run, _gram_terms(run.casefold())


def _split_scripts(run: str) -> Iterable[tuple[str, list[tuple[str, float]]]]:
    # `[^\W_]` also matches CJK letters after a joint (`v2-版本`, `API接口`): cut them apart.
    if not run.isascii() and _NOT_LATIN_WORD.search(run):
        for match in _MIXED.finditer(run):
            piece = match.group()
            if _is_han(piece):
                yield piece, _han_terms(simplify(piece))
            elif _NOT_LATIN_WORD.search(piece):
                yield piece, _gram_terms(piece.casefold())
            else:
                yield piece, list(_word_terms(piece.rstrip(_JOINT_CHARACTERS) or piece))
        return
    yield run, list(_word_terms(run))


_MIXED = re.compile(
    "[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
    "|[\u3041-\u30ff\u31f0-\u31ff]+|[\u3130-\u318f\uac00-\ud7a3]+"
    "|(?:(?![\u3005-\u3007\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7a3"
    r"\uf900-\ufaff])[^\W_])(?:(?![\u3005-\u3007\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff"
    r"\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff])[\w._\-/'’@:+#])*"
)


def _is_han(run: str) -> bool:
    first = run[0]
    return (
        "\u3400" <= first <= "\u9fff"
        or "\u3005" <= first <= "\u3007"
        or ("\uf900" <= first <= "\ufaff" or first >= "\U00020000")
    )


def _han_terms(run: str) -> list[tuple[str, float]]:
    terms: list[tuple[str, float]] = []
    for at, char in enumerate(run):
        if at + 1 < len(run):
            terms.append((run[at : at + 2], 1.0))
        terms.append((char, HAN_UNIGRAM_WEIGHT if len(run) > 1 else 1.0))
    return terms


def _gram_terms(run: str) -> list[tuple[str, float]]:
    if len(run) == 1:
        return [(run, 1.0)]
    terms = [(run[at : at + 2], 0.7) for at in range(len(run) - 1)]
    if len(run) > 2:
        terms.append((run, 1.0))
    return terms


@lru_cache(maxsize=100_000)
def _word_terms(word: str) -> tuple[tuple[str, float], ...]:
    """Return a word's terms, the surface form first, none twice."""
    folded = _POSSESSIVE.sub("", word).casefold()
    terms: dict[str, float] = {folded: 1.0}
    parts = [part for part in _JOINTS.split(word) if part]
    pieces: list[str] = []
    for part in parts:
        camel = _CAMEL.findall(part) if part.isascii() else []
        mixed = camel if len(camel) > 1 and _is_camel(part) else _ALNUM.findall(part)
        pieces += mixed if len(mixed) > 1 else []
        if len(parts) > 1:
            pieces.append(part)
    for piece in pieces:
        if len(piece) > 1 or len(parts) > 1:
            terms.setdefault(_bare(piece.casefold()), PART_WEIGHT)
    if len(parts) > 1:
        terms.setdefault("".join(parts).casefold(), PART_WEIGHT)
    bare = _bare(folded)
    terms.setdefault(bare, STEM_WEIGHT)
    for term, weight in list(terms.items()):
        stem = _stem(term)
        if stem != term:
            terms.setdefault(stem, weight * STEM_WEIGHT)
    return tuple(terms.items())


def _is_camel(part: str) -> bool:
    return not (part.isupper() or part.islower() or part.istitle())


def _bare(word: str) -> str:
    """Return a word without accents."""
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word)))


_stemmers = threading.local()


def _stem(word: str) -> str:
    # Snowball's English: one stemmer a thread, since it keeps its own buffer.
    if not (word.isascii() and word.isalpha() and len(word) > 2):
        return word
    stemmer = getattr(_stemmers, "english", None)
    if stemmer is None:
        stemmer = _stemmers.english = Stemmer.Stemmer("english")
    stemmed: str = stemmer.stemWord(word)
    return stemmed


def _function_positions(run: str) -> list[bool]:
    """Return for each Han character whether it lies in a function word."""
    flags = [False] * len(run)
    for length in (3, 2, 1):
        for at in range(len(run) - length + 1):
            if run[at : at + length] in _CHINESE_FUNCTION_WORDS and not any(
                flags[at : at + length]
            ):
                flags[at : at + length] = [True] * length
    return flags


_ANALYZERS = {DEFAULT_ANALYZER: Analyzer()}


def analyzer_for(name: str) -> Analyzer:
    """Return the analyzer of that name and version.

    Raises:
        UsageError: There is none.
    """
    if name not in _ANALYZERS:
        known = ", ".join(sorted(_ANALYZERS))
        raise UsageError(
            f"unknown analyzer {name!r}",
            hint=f"This kb has {known}; `kb reindex` moves a collection to it.",
        )
    return _ANALYZERS[name]
