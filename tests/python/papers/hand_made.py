"""Runs, results and searches in memory, without a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from tailback.papers import Claim, Paper, Row
from tailback.papers.scorecard import Status
from tailback.papers.search import Search, Tried, candidates
from tailback.results import Results, RunFolder, RunResult


@dataclass(frozen=True)
class HandMade(RunFolder):
    """A run with the given tables."""

    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def table(self, name: str) -> pd.DataFrame:
        return self.tables[name]


def run(axes: dict[str, str], summary: dict[str, Any], repetition: int = 1, **tables: pd.DataFrame) -> HandMade:
    """A run measured from 0 to 10 s."""
    manifest = {"axes": axes, "repetition": repetition, "measure": {"window_ns": [0, 10_000_000_000]}}
    return HandMade(Path(), manifest, summary, tables)


def wireless(axes: dict[str, str], goodput: float, ping: float, repetition: int = 1, *, longest: int = 500) -> HandMade:
    """A run with goodput in Mbit/s, median ping in ms, and the most packets in a queue."""
    dropped = pd.DataFrame({"t": [1.0], "what": "drop", "flow": "upload", "reason": "tail"})
    queue = pd.DataFrame({"max_backlog_packets": [longest]})
    return run(
        axes, {"goodput_mbps": {"total": goodput}, "ping_ms": {"p50": ping}}, repetition, events=dropped, qdisc=queue
    )


def results(*runs: RunResult) -> Results:
    """These runs as one experiment."""
    axes: dict[str, list[str]] = {}
    for one in runs:
        for axis, value in one.axes.items():
            axes[axis] = list(dict.fromkeys([*axes.get(axis, []), value]))
    return Results(Path("hand-made"), "hand-made", axes, runs)


def tried(paper: Paper, held: list[set[str]]) -> Search:
    """A search in which these claims held under each candidate, in their order."""

    def rows(claims: set[str]) -> list[Row]:
        return [Row(claim, paper.paper, verdict(claim, claims), [], "") for claim in paper.claims]

    def verdict(claim: Claim, claims: set[str]) -> Status:
        return "pass" if claim.id in claims else "fail"

    return Search(paper, [Tried(one, rows(claims)) for one, claims in zip(candidates(paper), held, strict=False)])
