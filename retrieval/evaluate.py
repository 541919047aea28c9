"""Answers to judged questions as figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from retrieval.judged import GoldSpan, JudgedSet, Query
from retrieval.metrics import (
    Span,
    auroc,
    cut_at,
    interval,
    mean,
    ndcg,
    recall,
    reciprocal_rank,
    span_scores,
)

CHARACTER_BUDGETS = (1_000, 2_000, 4_000, 6_000)
FIRST = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """One passage of an answer: its document, its characters and its relevance."""

    document: str
    start: int
    end: int
    relevance: float


Ask = Callable[[Query], Sequence[Answer]]
"""Answers a question with every candidate, best first, without a threshold."""


def evaluate(judged: JudgedSet, ask: Ask, *, threshold: float) -> dict[str, object]:
    """Ask every question of a set and return its figures.

    Args:
        judged: The set.
        ask: Answers a question.
        threshold: What `kept` and `refused` hold the best relevance against.
    """
    answers = [(query, ask(query)) for query in judged.queries]
    answerable = [(query, found) for query, found in answers if query.answerable]
    measure = {"passages": _passages, "spans": _spans, "documentation": _documentation}
    metrics, values = measure[judged.kind](answerable)
    result: dict[str, object] = {
        "set": judged.name,
        "kind": judged.kind,
        "n": len(answers),
        "metrics": metrics,
    }
    if len(answerable) < len(answers):
        result |= _abstention(answers, threshold=threshold)
    languages = sorted({query.language for query, _ in answers if query.language})
    if len(languages) > 1:
        result["by_language"] = {
            language: _of_language(language, answers, measure[judged.kind], threshold=threshold)
            for language in languages
        }
    result["intervals"] = {name: interval(each) for name, each in values.items()}
    return result


Answers = Sequence[tuple[Query, Sequence[Answer]]]
Values = dict[str, list[float]]


def _of_language(
    language: str,
    answers: Answers,
    measure: Callable[[Answers], tuple[dict[str, object], Values]],
    *,
    threshold: float,
) -> dict[str, object]:
    mine = [(query, found) for query, found in answers if query.language == language]
    metrics, _ = measure([(query, found) for query, found in mine if query.answerable])
    return {"n": len(mine), "metrics": metrics, **_abstention(mine, threshold=threshold)}


def documents_in_order(answers: Sequence[Answer]) -> list[str]:
    """Return documents by their best passage."""
    return list(dict.fromkeys(answer.document for answer in answers))


def _passages(answers: Answers) -> tuple[dict[str, object], Values]:
    values: Values = {"ndcg@10": [], "recall@5": [], "recall@10": [], "mrr@10": []}
    for query, found in answers:
        ranking = documents_in_order(found)
        values["ndcg@10"].append(ndcg(ranking, query.qrels, k=10))
        values["recall@5"].append(recall(ranking, query.qrels, k=5))
        values["recall@10"].append(recall(ranking, query.qrels, k=10))
        values["mrr@10"].append(reciprocal_rank(ranking, query.qrels, k=10))
    return {name: mean(each) for name, each in values.items()}, values


def _spans(answers: Answers) -> tuple[dict[str, object], Values]:
    values: Values = {"span_recall": [], "precision": [], "iou": []}
    by_budget: dict[int, Values] = {
        budget: {"span_recall": [], "precision": [], "iou": []} for budget in CHARACTER_BUDGETS
    }
    for query, found in answers:
        returned = [(answer.document, answer.start, answer.end) for answer in found]
        _add(values, _best_scores(query, returned[:FIRST]))
        for budget, each in by_budget.items():
            _add(each, _best_scores(query, cut_at(returned, budget)))
    metrics: dict[str, object] = {name: mean(each) for name, each in values.items()}
    metrics["at_characters"] = {
        str(budget): {name: mean(each) for name, each in of_budget.items()}
        for budget, of_budget in by_budget.items()
    }
    return metrics, values


def _add(values: Values, scores: tuple[float, float, float]) -> None:
    for name, score in zip(("span_recall", "precision", "iou"), scores, strict=True):
        values[name].append(score)


def _best_scores(query: Query, returned: Sequence[Span]) -> tuple[float, float, float]:
    """Return the scores where each gold span stands at the place that suits best."""
    gold = [_best_place(query.document, span, returned) for span in query.spans]
    return span_scores(gold, returned)


def _best_place(document: str, span: GoldSpan, returned: Sequence[Span]) -> Span:
    length = span.end - span.start
    places = [(document, start, start + length) for start in (span.start, *span.also)]
    return max(places, key=lambda place: span_scores([place], returned)[0])


def _documentation(answers: Answers) -> tuple[dict[str, object], Values]:
    values: Values = {"document@1": [], "document@5": [], "span_recall@5": [], "span@5": []}
    for query, found in answers:
        first = found[:FIRST]
        accepted = _other_languages(query, [query for query, _ in answers])
        names = [answer.document for answer in first]
        values["document@1"].append(float(bool(names) and names[0] in accepted))
        values["document@5"].append(float(bool(accepted & set(names))))
        returned = [(a.document, a.start, a.end) for a in first]
        score = _best_scores(query, returned)[0]
        values["span_recall@5"].append(score)
        values["span@5"].append(float(score >= 0.5))
    return {name: mean(each) for name, each in values.items()}, values


def _other_languages(query: Query, queries: Sequence[Query]) -> set[str]:
    """Return the page and the pages of the same path under the set's other languages."""
    languages = {other.language for other in queries if other.language}
    head, _, rest = query.document.partition("/")
    if head in languages and rest:
        return {f"{language}/{rest}" for language in languages}
    return {query.document}


def _abstention(answers: Answers, *, threshold: float) -> Mapping[str, object]:
    best = [
        (query.answerable, max((answer.relevance for answer in found), default=0.0))
        for query, found in answers
    ]
    positives = [value for is_answerable, value in best if is_answerable]
    negatives = [value for is_answerable, value in best if not is_answerable]
    return {
        "auroc": round(auroc(positives, negatives), 4),
        "kept": mean([float(value >= threshold) for value in positives]),
        "refused": mean([float(value < threshold) for value in negatives]),
    }
