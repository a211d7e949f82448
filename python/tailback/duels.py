"""`tailback duel`: each of some congestion controls against each other, at one bottleneck.

Two hosts send through one router to one server, one flow each, with the same round-trip time. The share of a control in
a duel is its goodput divided by that of both flows, a mean over the repetitions with its 95 % interval. A control
against itself shows how far chance carries a share from one half. The first flow of a pair is the row of the matrix,
and each pair is run once: the share of the other is what is left.
"""

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from tailback import plots, scenario
from tailback.analysis.intervals import t_interval
from tailback.analysis.rows import records
from tailback.plots import heatmap, labels, style
from tailback.results import Results, RunResult
from tailback.results.provenance import tailback_version
from tailback.scenario import CoreRegistry, Experiment, own_controls
from tailback.tc import units
from tailback.tc.errors import WordError

FRAME = 1514
"""Bytes of a full frame with an Ethernet header, which a FIFO counts."""

AGAINST = "against"

TITLE = "each control against each other"
"""The title of every duel. It is part of a run, so it does not name the controls: duels of other controls can then
reuse the runs of the pairs that they have in common.
"""


class WrongDuel(Exception):
    """These controls cannot duel; the message says why."""


@dataclass(frozen=True)
class Bottleneck:
    """The path of all duels."""

    rate: str
    rtt: str
    buffer: float
    """Length of the queue in bandwidth-delay products."""
    qdisc: str | None = None
    """The discipline instead of a FIFO of that length."""

    @property
    def discipline(self) -> str:
        """The discipline at the bottleneck, as `qdiscs` takes it."""
        if self.qdisc is not None:
            return self.qdisc
        try:
            product = units.rate(self.rate) * units.time(self.rtt) / (8 * 10**9)
        except WordError as error:
            raise WrongDuel(f"{error.message}\n  hint: {error.hint}") from None
        return f"pfifo limit {max(2, math.ceil(self.buffer * product / FRAME))}p"


@dataclass(frozen=True)
class Length:
    """How long, and how often."""

    duration: str
    warmup: str
    repeat: int


def experiment(controls: Sequence[str], path: Bottleneck, length: Length, settings: Sequence[str] = ()) -> Experiment:
    """The experiment of all duels. A control is a word (`cubic`, `bbr`) or a file (`tcp_mine.c`, `mine.py`), with its
    parameters: `cubic hystart 0`, `mine.py beta 0.7`.
    """
    for control in controls:
        _check(control)
    names = [name_of(control) for control in controls]
    if len(set(names)) < len(names):
        raise WrongDuel("two controls have the same name\n  hint: name each once; rename one of the files")
    if len(names) < 2:
        raise WrongDuel("a duel needs two controls\n  hint: tailback duel cubic bbr")
    return scenario.loads(text_of(dict(zip(names, controls, strict=True)), path, length), settings, file="duel.yaml")


def name_of(control: str) -> str:
    """The name of a control in the matrix: its words, of a file the name without suffix: `mine beta 0.7`."""
    first, *rest = control.split()
    return " ".join([Path(first).stem if own_controls.in_words(control) else first, *rest])


def _check(control: str) -> None:
    """Raises `WrongDuel` for what is not a control: the user has no file with a line to be named."""
    try:
        own_controls.read(control, Path(), CoreRegistry().congestion_controls)
    except WordError as error:
        raise WrongDuel(f"{error.message}\n  hint: {error.hint}") from None


def text_of(controls: Mapping[str, str], path: Bottleneck, length: Length) -> str:
    """The experiment file of all duels."""
    pairs = "".join(
        f"    {json.dumps(f'{one} {AGAINST} {other}')}: "
        f'{{"traffic[0].cc": {_value(controls[one])}, "traffic[1].cc": {_value(controls[other])}}}\n'
        for one, other in itertools.combinations_with_replacement(controls, 2)
    )
    return f"""\
title: {TITLE}
hosts:                                # socket buffers that do not limit the flows
  left: &large {{sysctl: {{net.ipv4.tcp_wmem: [4096, 16384, 100000000], net.ipv4.tcp_rmem: [4096, 131072, 100000000]}}}}
  right: *large
  router:
  middle:
  server: *large
links:
  - {{ends: [left, router]}}
  - {{ends: [right, router]}}
  - {{ends: [router, middle], rate: {path.rate}}}
  - {{ends: [middle, server], delay: [0us, {path.rtt}]}}
qdiscs:
  router -> middle: {path.discipline}
traffic:
  - {{tcp: left -> server, name: one, jitter: 100ms}}
  - {{tcp: right -> server, name: two, jitter: 100ms}}
  - {{ping: left -> server, interval: 100ms}}
duration: {length.duration}
measure: {{warmup: {length.warmup}}}
vary:
  duel:
{pairs}repeat: {length.repeat}
"""


def _value(control: str) -> str:
    """The control in the experiment, with the whole path of its file."""
    own = own_controls.in_words(control)
    if own is None:
        return json.dumps(control)
    file = next(iter(own))
    return json.dumps({**own, file: str(Path(str(own[file])).resolve())})


def matrix(results: Results) -> pd.DataFrame:
    """One row per ordered pair: `control`, `against`, `n`, `mean`, `low`, `high` of the share of `control` (0 to 1),
    and `goodput` of both flows in Mbit/s.
    """
    shares: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for run in results.runs:
        one, _, other = run.axes["duel"].partition(f" {AGAINST} ")
        share, total = _share(run)
        shares.setdefault((one, other), []).append((share, total))
        if one != other:
            shares.setdefault((other, one), []).append((1 - share, total))
    names = list(dict.fromkeys(one for one, _ in shares))
    return pd.DataFrame([
        {"control": one, AGAINST: other, **_summary(shares[one, other])}
        for one in names for other in names if (one, other) in shares
    ])  # fmt: skip


def document(results: Results, title: str) -> dict[str, Any]:
    """`{"tailback", "title", "dir", "duels": [{"control", "against", "n", "share", "interval", "goodput_mbps"}]}`: the
    mean share of `control` (0 to 1) over n repetitions with its 95 % interval, which is absent with one, and the
    goodput of both flows.
    """
    rows = [
        {
            "control": row["control"],
            AGAINST: row[AGAINST],
            "n": row["n"],
            "share": row["mean"],
            **({} if math.isnan(row["low"]) else {"interval": [row["low"], row["high"]]}),
            "goodput_mbps": row["goodput"],
        }
        for row in records(matrix(results))
    ]
    return {"tailback": tailback_version(), "title": title, "dir": str(results.path), "duels": rows}


def _share(run: RunResult) -> tuple[float, float]:
    flows = run.summary["goodput_mbps"]["flows"]
    total = flows["one"] + flows["two"]
    return (flows["one"] / total if total else math.nan), total


def _summary(found: Sequence[tuple[float, float]]) -> dict[str, float]:
    values = np.array([share for share, _ in found], dtype=np.float64)
    low, high = t_interval(values, 0.0, 1.0)
    total = float(np.mean([total for _, total in found]))
    return {"n": len(found), "mean": float(values.mean()), "low": low, "high": high, "goodput": total}


def sentences(table: pd.DataFrame) -> Iterator[str]:
    """Who takes most from whom: the most unequal pair of each control that is clearly unequal."""
    for control, rows in table.groupby("control", sort=False):
        taken = rows[(rows["low"] > 0.5) & (rows[AGAINST] != control)]
        if len(taken):
            most = taken.sort_values("mean").iloc[-1]
            others = f", and more than half against {len(taken)} of {len(rows) - 1}" if len(taken) > 1 else ""
            yield f"{control} gets {100 * most['mean']:.0f} % against {most[AGAINST]}{others}"


SHADES = heatmap.Shades(Normalize(0, 100), heatmap.DIVERGING)
"""Equal shares are white, in every figure."""


def draw(table: pd.DataFrame, _choice: plots.Choice = plots.AUTOMATIC) -> Figure:
    """The matrix: the share of the row against the column, in percent."""
    percent = table.assign(**{name: 100 * table[name] for name in ("mean", "low", "high")})
    names = list(dict.fromkeys(table["control"]))
    side = 1.6 + 0.75 * len(names)
    with mpl.rc_context({**style.STYLE, "axes.grid": False}):
        figure = Figure(figsize=(side + 0.8, side), layout="constrained")
        labels.widen(figure, names)
        axes = figure.subplots()
        image, along = heatmap.on(axes, percent, (AGAINST, "control"), SHADES)
        axes.set_xlabel(labels.sentence(AGAINST))
        axes.set_ylabel("Share of")
        figure.colorbar(image, ax=axes, shrink=0.9).set_label("Share of the goodput (%)")
        labels.finish(figure, [*along.explained(), *heatmap.explained(percent)], along.height)
    return figure


def _data(results: Results, _choice: plots.Choice = plots.AUTOMATIC) -> pd.DataFrame:
    return matrix(results)


PLOT = plots.Plot("duel", "share of each control against each other", _data, draw)
"""The figure, with its table as CSV beside it."""
