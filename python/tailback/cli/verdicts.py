"""Prints comparisons. Separate from `show`, because it imports plotting and statistics."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tailback.analysis.differences import METRICS
from tailback.analysis.digits import significant
from tailback.analysis.rows import records
from tailback.analysis.sentences import Extent
from tailback.cli import found, sheets, tables
from tailback.cli.console import MAX_NAMED, counted, stderr
from tailback.cli.sheets import Cell, Field, Interval, Sheet
from tailback.results.pairing import CANDIDATE, REFERENCE
from tailback.validation import Comparison, LeftOut, Twin, Validated, divergence, warned
from tailback.validation.twins import Distance
from tailback.validation.words import number, percent

MAX_CELLS_SHOWN = 60
"""Maximum number of rows of a validation; above it, only those not within tolerance are shown (the report has all)."""


def comparison(compared: Comparison, extent: Extent) -> None:
    """Prints all metrics of all configurations, what the differences amount to, and the number of runs that were not
    compared.
    """
    tables.show(_differences(compared, compared.judged), compared.overall)
    found.sentences(compared.findings, extent)
    _sides(compared)


def validated(done: Validated) -> None:
    """Prints the verdicts of a validation, the first divergence of each configuration, the share within tolerance."""
    _left_out(done.left_out)
    if done.comparison is None:
        return
    judged = done.comparison.judged
    shown = judged if len(judged) <= MAX_CELLS_SHOWN else judged[judged["outcome"].isin(["off", "undecided"])]
    tables.show(_differences(done.comparison, shown), *_shares(done.comparison), *_divergences(done.comparison))
    _sides(done.comparison)
    if done.comparison.instant:
        stderr().print(
            "over a link without a rate a burst arrives at one instant, in which each backend has an order of its own\n"
            "  hint: see whether what is off remains if every link has a rate, such as `rate: 1gbit`"
        )


def duels(table: pd.DataFrame, title: str) -> None:
    """Prints the matrix of duels: the share of the row against the column, and who takes most."""
    # Imported here, because a module that draws needs more than the rest of this one.
    from tailback.duels import sentences

    names = list(dict.fromkeys(table["control"]))
    fields = [Field("share of", "name"), *(Field(f"against {name}", spread=True) for name in names)]
    rows = [
        [*sheets.words(str(control)), *(_share_of(row) for row in records(rows))]
        for control, rows in table.groupby("control", sort=False)
    ]
    tables.show(Sheet(title, fields, rows), *(f"• {sentence}" for sentence in sentences(table)))


def _share_of(row: Mapping[str, Any]) -> Cell:
    """`87 % ±2`: the mean over the repetitions and half its interval."""
    mean, ends = 100 * row["mean"], (100 * row["low"], 100 * row["high"])
    text, ends_of_it = f"{mean:.0f} %", (float(row["low"]), float(row["high"]))
    return Cell(text, float(row["mean"]), ends_of_it, interval=Interval(mean, ends, ".0f"))


def twin(found: Twin) -> None:
    """Prints the distance of each configuration from one run of a kernel."""
    _left_out(found.left_out)
    titles = list(dict.fromkeys(each.title for each in found.distances))
    cells: dict[tuple[str, ...], dict[str, Distance]] = {}
    for each in found.distances:
        cells.setdefault(tuple(each.axes.values()), {})[each.title] = each
    if not cells:
        return
    title = f"beside one run of {found.backend}: its numbers, and how far ours are from them"
    fields = [*sheets.keys(found.distances[0].axes), *map(Field, titles)]
    rows = [
        [*sheets.words(*place), *(Cell(_apart(row.get(title))) for title in titles)] for place, row in cells.items()
    ]
    tables.beside(Sheet(title, fields, rows), _agreement(found))


def _left_out(refusals: Sequence[LeftOut]) -> None:
    """Reports on stderr what was left out, grouped by reason."""
    alike: dict[tuple[str, str], list[str]] = {}
    for refusal in refusals:
        where = ", ".join(refusal.axes.values()) or "this experiment"
        alike.setdefault((refusal.backend, refusal.reason), []).append(where)
    for (backend, reason), places in alike.items():
        more = f"; and {len(places) - MAX_NAMED} more" if len(places) > MAX_NAMED else ""
        stderr().print(f"left out, {backend} cannot run it: {'; '.join(places[:MAX_NAMED])}{more}: {reason}")


def _agreement(found: Twin) -> str:
    """How many numbers agree, and what the marks mean."""
    chance, off = found.count("chance"), found.count("off")
    parts = [f"{found.count('equal')} of {len(found.distances)} numbers within tolerance"]
    parts += [f"{chance} (~) no farther than a further run of ours would be"] if chance else []
    parts += [f"{off} (!) off: `tailback validate` repeats until it is clear"] if off else []
    return "; ".join(parts)


def _apart(each: Distance | None) -> str:
    if each is None:
        return "–"
    mark = {"equal": "", "chance": " ~", "off": " !"}[each.agreement]
    share = "" if math.isnan(each.share) else f" {each.share:+.1%}".replace("-", "−")
    return f"{significant(each.kernel, 4)} {each.unit}{share}{mark}"


def written(report: Path | None) -> None:
    """Prints the path of a report to stderr."""
    if report is not None:
        stderr().print(f"report: {report}")


def _differences(compared: Comparison, rows: pd.DataFrame) -> Sheet:
    names = compared.names()
    fields = [
        *sheets.keys(compared.pairing.configurations[0]),
        Field("metric", "name"),
        Field("unit", "name"),
        *map(Field, names.values()),
        *(Field(name, "hidden") for name in DIFFERENCE),
        Field("verdict", "text"),
    ]
    return Sheet("", fields, [_difference(compared, row) for row in records(rows)])


DIFFERENCE = ("difference", "low", "high", "p")
"""What a table for other programs also has: the mean difference, the ends of its interval, the chance."""


def _difference(compared: Comparison, row: Mapping[str, Any]) -> list[Cell]:
    place = compared.pairing.configurations[row["configuration"]]
    style = "bold" if row["outcome"] == "off" else ""
    return [
        *sheets.words(*place.values(), row["title"], row["unit"], style=style),
        *(sheets.number(float(row[side]), number, style) for side in (REFERENCE, CANDIDATE)),
        *(sheets.number(float(row[name])) for name in DIFFERENCE),
        *sheets.words(row["verdict"], style=style),
    ]


def _shares(compared: Comparison) -> list[str]:
    rows = [row for row in records(compared.share_within) if row["judged"]]
    if not rows:
        return ["nothing was judged"]
    cells = [f"{row['tolerance']} {row['within']}/{row['judged']}" for row in rows]
    whole = rows[-1]
    lines = [f"within tolerance: {', '.join(cells)}; {whole['off']} off, {whole['undecided']} undecided"]
    if not math.isnan(whole["alike"]):
        names = compared.names()
        lines.append(
            f"single runs within tolerance: {names[CANDIDATE]} and {names[REFERENCE]} {percent(whole['alike'])}, "
            f"{names[REFERENCE]} with other seeds and itself {percent(whole['ceiling'])}"
        )
    return lines


def _divergences(compared: Comparison) -> list[str]:
    """The first divergence of each configuration, unless there are too many."""
    places = range(len(compared.pairing.configurations))
    if len(places) * len(METRICS) > MAX_CELLS_SHOWN:
        return []
    found = [(place, divergence(compared, place)) for place in places]
    return [
        f"first divergence{_of_configuration(compared, place)}: {first.flow} at {first.t:.6f} s in {first.column}"
        for place, first in found
        if first is not None
    ]


def _of_configuration(compared: Comparison, place: int) -> str:
    label = ", ".join(compared.pairing.configurations[place].values())
    return f" of {label}" if label else ""


def _sides(compared: Comparison) -> None:
    """Reports on stderr how the folders differ, and the number of runs that were not compared."""
    pairing = compared.pairing
    for axis, (there, here) in pairing.apart.items():
        stderr().print(f"{axis}: {there or 'none'} in the reference, {here or 'none'} in the candidate")
    for side, runs in pairing.unpaired.items():
        if runs:
            stderr().print(f"not compared: {counted(len(runs), 'run')} that only the {side} has")
    for caution in warned.of_pairs(compared):
        stderr().print(str(caution), markup=False)
    for whose, caution in warned.of_sides(compared):
        stderr().print(f"{whose}: {caution}", markup=False)
