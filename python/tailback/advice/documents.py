"""Answers as JSON documents; unknown values are absent."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tailback.advice.questions import Front, Recommendation
from tailback.analysis.metric import Column
from tailback.analysis.rows import records
from tailback.analysis.sensitivity import Sensitivity
from tailback.analysis.tradeoffs import Candidate, Number


def sensitivity_document(found: Sensitivity) -> dict[str, Any]:
    """`{"metric", "unit", "deviation", "repetitions", "missing", "axes": [{"axis", "first", "total", …}]}`."""
    return {
        "metric": found.column.title,
        "unit": found.column.unit,
        "deviation": found.deviation,
        "repetitions": found.between,
        "missing": found.missing,
        "axes": [_axis(row) for row in records(found.indices)],
    }


def front_document(found: Sequence[Front]) -> dict[str, Any]:
    """`{"fronts": [{"given", "because", "configurations": [{"axes", "runs", "pareto", "on_front", QUANTITY: …}]}]}`."""
    return {
        "fronts": [
            {"given": dict(front.given), "because": dict(front.because), "configurations": _configurations(front)}
            for front in found
        ]
    }


def recommendation_document(found: Sequence[Recommendation]) -> dict[str, Any]:
    """`{"recommendations": [{"given", "because", "bounds", "wanted", "better", "met", "best", "alike", "nearest",
    "counts"}]}`.
    """
    return {"recommendations": [_recommendation(each) for each in found]}


def _axis(row: Mapping[str, Any]) -> dict[str, Any]:
    ends = {end: {"value": row[end], "mean": row[f"{end} mean"]} for end in ("least", "most") if end in row}
    return {
        "axis": row["axis"], "values": row["values"],
        **{name: _index_with_interval(name, row) for name in ("first", "total")}, **ends,
    }  # fmt: skip


def _index_with_interval(name: str, row: Mapping[str, Any]) -> dict[str, float]:
    found = {"index": row[name], "low": row[f"{name} low"], "high": row[f"{name} high"]}
    return {key: float(value) for key, value in found.items() if not math.isnan(value)}


def _configurations(front: Front) -> list[dict[str, Any]]:
    columns = (front.cost, front.gain)
    numbers = {f"{column.title}{end}" for column in columns for end in ("", " low", " high")}
    axes = [name for name in map(str, front.table) if name not in numbers | {"runs", "pareto", "on front"}]
    return [
        {
            "axes": {axis: row[axis] for axis in axes},
            "runs": int(row["runs"]),
            "pareto": bool(row["pareto"]),
            **({} if math.isnan(row["on front"]) else {"on_front": float(row["on front"])}),
            **{column.title: _mean(row, column) for column in columns},
        }
        for row in records(front.table)
    ]


def _mean(row: Mapping[str, Any], column: Column) -> dict[str, Any]:
    name = column.title
    return _number(Number(column, float(row[name]), float(row[f"{name} low"]), float(row[f"{name} high"])))


def _number(number: Number) -> dict[str, Any]:
    found = {"mean": number.mean, "low": number.low, "high": number.high}
    return {"unit": number.column.unit, **{key: value for key, value in found.items() if not math.isnan(value)}}


def _recommendation(each: Recommendation) -> dict[str, Any]:
    answer = each.answer
    found = {
        "given": dict(each.given),
        "because": dict(each.because),
        "bounds": list(map(str, answer.bounds)),
        "wanted": answer.wanted.title,
        "better": answer.better,
        "met": "not" if answer.best is None else answer.best.met,
        "best": None if answer.best is None else _candidate(answer.best),
        "alike": [_candidate(other) for other in answer.alike],
        "nearest": None if answer.nearest is None else _candidate(answer.nearest),
        "counts": dict(answer.counts),
    }
    return {key: value for key, value in found.items() if value is not None}


def _candidate(candidate: Candidate) -> dict[str, Any]:
    numbers = {number.column.title: _number(number) for number in (candidate.wanted, *candidate.bounded)}
    return {"axes": dict(candidate.axes), "repetitions": candidate.repetitions, "met": candidate.met, **numbers}
