"""What flows, pings or stations have in common, for figures that have more of them than colours.

Eight colours are told apart; a ninth line in the colour of the first would look like it. So in figures with more lines,
the colour is what a line has in common with others: the `group` of its entry of `traffic`, else the entry, and above
Wi-Fi how its station differs from the others: `download, MCS 9`. The legend says how many lines a colour stands for.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from tailback.analysis.parts import group_of
from tailback.analysis.stations import traits_of_traffic
from tailback.plots import style
from tailback.plots.layout import Look, of_place
from tailback.results import RunResult

COLUMN = "kind"
"""The column of a table with the kind of each line, where lines are coloured by kind."""

Kinds = Mapping[str, str]
"""The kind of each line."""

REST = "And "
"""How the label of a kind begins that sums up what matters less; it is grey."""


def of_flows(run: RunResult, flows: Collection[str]) -> dict[str, str]:
    """The kind of each flow or ping: its group, and what distinguishes its station."""
    measure, traits = run.manifest["measure"], traits_of_traffic(run.scenario)
    groups = {flow: group_of(flow, measure) for flow in flows}
    if not traits:
        return groups
    own = {flow: traits.get(flow) or traits.get(flow.rpartition(".")[0]) or () for flow in flows}
    return {flow: ", ".join([groups[flow], *own[flow]]) for flow in flows}


def labelled(kinds: Sequence[Kinds], noun: str) -> list[Kinds] | None:
    """For each run the label of the kind of each line, `download, MCS 9 (10 flows)`; None if each line of every run has
    a colour of its own. With more kinds than colours, all lines are of one.
    """
    lines = {name for each in kinds for name in each}
    if len(lines) <= style.MOST_COLOURS:
        return None
    if len({kind for each in kinds for kind in each.values()}) > style.MOST_COLOURS:
        kinds = [dict.fromkeys(each, "") for each in kinds]
    sizes: dict[str, list[int]] = {}
    for each in kinds:
        for kind, count in Counter(each.values()).items():
            sizes.setdefault(kind, []).append(count)
    names = {kind: _label(kind, counts, noun) for kind, counts in sizes.items()}
    alone = {kind for kind, counts in sizes.items() if max(counts) == 1}
    return [{name: name if kind in alone else names[kind] for name, kind in each.items()} for each in kinds]


def _label(kind: str, sizes: Sequence[int], noun: str) -> str:
    low, high = min(sizes), max(sizes)
    count = f"{low if low == high else f'{low} to {high}'} {noun}"
    return f"{kind} ({count})" if kind else count


def colours(table: pd.DataFrame) -> dict[str, str]:
    """The colour of each kind of a table, in their order; grey for the rest, which is last."""
    names = [str(kind) for kind in table[COLUMN].dropna().unique()]
    rest = [name for name in names if name.startswith(REST)]
    return style.colours([name for name in names if name not in rest]) | dict.fromkeys(rest, style.GREY)


def looks(table: pd.DataFrame) -> dict[str, Look]:
    """The look of each kind of a table: its colour, and for grey print its line style; solid for the rest."""
    return {
        name: replace(of_place(0 if name.startswith(REST) else place), colour=colour)
        for place, (name, colour) in enumerate(colours(table).items())
    }


def with_column(parts: Sequence[pd.DataFrame], name: str, labels: Sequence[Kinds] | None) -> pd.DataFrame:
    """One table of the parts of runs, with the kinds of the lines in the column `name`, if there are more lines than
    colours."""
    if labels is None:
        return pd.concat(parts, ignore_index=True)
    named = [part.assign(**{COLUMN: part[name].map(label)}) for part, label in zip(parts, labels, strict=True)]
    return pd.concat(named, ignore_index=True)
