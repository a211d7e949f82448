"""Assigns the axes of the grid to position, colour, hatch or line style, or separate panels."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar

import pandas as pd

from tailback import plain
from tailback.plots import style
from tailback.plots.errors import NotDrawable

Axes_ = Mapping[str, Sequence[str]]
"""The values of each axis."""

Line = Literal["-", "--", ":", "-."]

Shared = Literal["all", "row", "col", "none"]
"""Which panels have the same scale."""

RESERVED = frozenset(
    (
        "panel",
        "unit",
        "n",
        "mean",
        "low",
        "high",
        "x",
        "y",
        "share",
        "t",
        "value",
        "most",
        "measured",
        "series",
        "kind",
        "repetition",
        "repetitions",
        "bin width",
        "window start",
        "window end",
        "x low",
        "x high",
        "y low",
        "y high",
        "pareto",
        "on front",
    )
)
"""Columns of tables that are not axes; percentiles (`p50`) are not either."""


@dataclass(frozen=True)
class Choice:
    """The user's options for a figure."""

    x: str | None = None
    colour: str | None = None
    facet: tuple[str, ...] = ()
    """Axes with one panel per value."""
    choose: tuple[str, ...] = ()
    """Axes of which a Pareto front compares the values, although they would be taken as given."""
    metric: str | None = None
    """A path in `summary.json` (`ping_ms.p50`) or a quantity (`rtt`), for figures that can show several."""
    bin_ns: int | None = None
    """Width of the bins of curves over time; by default as `plots.bins` chooses."""

    share_y: Shared | None = None
    """Which panels of lines have the same scale along y; by default as the plot chooses."""
    y_scale: Literal["linear", "log"] | None = None
    """The scale along y, for plots whose marks depend on it: a bar has no length on a logarithmic one."""


AUTOMATIC = Choice()

First = TypeVar("First")
Made = TypeVar("Made")


def worded(function: Callable[[First, Choice], Made]) -> Callable[..., Made]:
    """Lets a user give the options of a figure as keywords: `data(results, metric="ping", facet="qdisc")`."""

    @functools.wraps(function)
    def called(first: First, choice: Choice = AUTOMATIC, **words: Any) -> Made:
        return function(first, with_words(choice, words))

    return called


def with_words(choice: Choice, words: Mapping[str, Any]) -> Choice:
    """The choice with these fields; one name of several axes may be a word."""
    known = [field.name for field in fields(Choice)]
    for name in words:
        if name not in known:
            raise TypeError(
                f"`{name}` is not an option of a figure: {plain.meant(name, known)}there are {', '.join(known)}"
            )
    several = {name: (word,) if isinstance(word, str) else tuple(word)
               for name, word in words.items() if name in ("facet", "choose")}  # fmt: skip
    return replace(choice, **{**words, **several})


MOST_DISTINCT = len(style.PALETTE) * len(style.LINES)
"""The number of lines that colours and line styles distinguish."""


@dataclass(frozen=True)
class Look:
    """The style of one item of a figure."""

    place: int
    colour: str
    hatch: str
    marker: str
    """That of the colour; where a mark is a point, that of all that it stands for (`pointed`)."""
    line: Line = "-"
    dots: str = ""
    """The marker along its line, if the line style does not tell the colour."""
    tells: str = ""
    """The marker on a bar or a box that tells its colour; none if there is one colour, or shades in their order."""

    @property
    def drawn(self) -> dict[str, Any]:
        """How a line is drawn."""
        return line_kind(self.line, self.dots, self.place) | {"color": self.colour}

    @property
    def face(self) -> str:
        """The fill colour; white for hatched items, so that the hatch is visible in print."""
        return "white" if self.hatch else self.colour


@dataclass(frozen=True)
class Roles:
    """How each axis of the grid is shown. An axis with one value is not shown."""

    x: str | None
    colour: str | None
    hatch: str | None
    columns: tuple[str, ...]


def roles(axes: Axes_, choice: Choice = AUTOMATIC) -> Roles:
    """The default roles: colour for congestion controls and hatching for small-queue limits, if other axes vary,
    too."""
    left = _free(axes, choice)
    places = [axis for axis in left if axis not in ("cc", "tsq", choice.colour)]
    x = choice.x or next(iter(places or [axis for axis in ("tsq", "cc") if axis in left] or left), None)
    left = [axis for axis in left if axis != x]
    colour = choice.colour or ("cc" if "cc" in left else next(iter(left[::-1]), None))
    if not (choice.x or choice.colour) and x and colour and len(axes[colour]) > max(style.MOST_COLOURS, len(axes[x])):
        # Names beside marks are told apart where colours are not.
        x, colour = colour, x
    left = [axis for axis in left if axis not in (x, colour)]
    hatch = "tsq" if "tsq" in left and _apart(axes, colour, "tsq", len(style.HATCHES)) else None
    return Roles(x, colour, hatch, (*choice.facet, *(axis for axis in left if axis != hatch)))


def _apart(axes: Axes_, colour: str | None, hatch: str, most: int) -> bool:
    """Whether colours and `most` hatches or line styles are enough for two axes; else the second has panels."""
    return len(axes[hatch]) <= most and (colour is None or not any(style.repeats(style.colours(axes[colour])).values()))


def line_roles(axes: Axes_, choice: Choice = AUTOMATIC, most: int = len(style.LINES)) -> Roles:
    """The roles if the x axis is a quantity: colour and line style for two axes, panels for the others, and for an axis
    of more than `most` values in place of the line styles.
    """
    left = _free(axes, choice)
    preferred = [axis for axis in ("cc", "qdisc") if axis in left]
    colour = choice.colour or next(iter(preferred or left[::-1]), None)
    left = [axis for axis in left if axis != colour]
    hatch = "tsq" if "tsq" in left else left[-1] if left and len(left) == 1 and not choice.facet else None
    hatch = hatch if hatch and (most >= MOST_DISTINCT or _apart(axes, colour, hatch, most)) else None
    return Roles(None, colour, hatch, (*choice.facet, *(axis for axis in left if axis != hatch)))


def _free(axes: Axes_, choice: Choice) -> list[str]:
    """The axes that vary and have no panels; checks the chosen axes."""
    for axis in filter(None, (choice.x, choice.colour, *choice.facet)):
        if axis not in axes:
            raise NotDrawable(f"`{axis}` is not an axis here\n  hint: there is {', '.join(axes) or 'none'}")
    return [axis for axis, values in axes.items() if len(values) > 1 and axis not in choice.facet]


def axes_of(table: pd.DataFrame) -> dict[str, list[str]]:
    """The axes in the columns of a table, with their values in order."""
    return {str(name): [str(value) for value in table[name].unique()] for name in table if is_axis(str(name))}


def is_axis(column: str) -> bool:
    """Whether a column of a table is an axis of the grid."""
    return column not in RESERVED and not (column[:1] == "p" and column[1:].isdecimal())


def looks(values: Axes_, shown: Roles) -> dict[tuple[str | None, str | None], Look]:
    """Colour and hatch for each combination of values at one position. What a colour says, a marker says as well, and
    the line style if it stands for no other axis: colours can be told apart in grey print, and a line that lies exactly
    on another leaves some of it in sight. Shades in the order of quantities need no other mark.
    """
    by_colour: Sequence[str | None] = values[shown.colour] if shown.colour else [None]
    by_hatch: Sequence[str | None] = values[shown.hatch] if shown.hatch else [None]
    colour_of = style.colours(values[shown.colour]) if shown.colour else {}
    hatch_of = values[shown.hatch] if shown.hatch else []
    pairs = [(colour, hatch) for colour in by_colour for hatch in by_hatch]
    if shown.hatch:
        kind_of = {value: place for place, value in enumerate(hatch_of)}
        markers = {value: style.MARKERS[place % len(style.MARKERS)] for place, value in enumerate(by_colour)}
        found = [
            replace(
                _look(colour_of.get(colour or "", style.PALETTE[0]), kind_of[hatch or ""]),
                marker=markers[colour], dots=markers[colour] if len(by_colour) > 1 else "",
            )
            for colour, hatch in pairs
        ]  # fmt: skip
    else:
        again = style.repeats(colour_of)
        kinds = 0 if style.is_sequence([str(value) for value in by_colour]) else 1
        found = [
            _look(colour_of.get(colour or "", style.PALETTE[0]), kinds * (place + again.get(colour or "", 0)))
            for place, (colour, _) in enumerate(pairs)
        ]
        # Marks side by side have an order; what lies on top of each other differs in more than the colour.
        found = [
            replace(look, hatch=style.HATCHES[again.get(colour or "", 0) % len(style.HATCHES)])
            for look, (colour, _) in zip(found, pairs, strict=True)
        ]
    several = len(by_colour) > 1 and not style.is_sequence([str(value) for value in by_colour])
    return {
        pair: replace(look, place=place, tells=look.marker if several else "")
        for place, (pair, look) in enumerate(zip(pairs, found, strict=True))
    }


def _look(colour: str, kind: int) -> Look:
    """The look with the hatch, marker and line style of this number."""
    hatches, markers = style.HATCHES, style.MARKERS
    line, dots = numbered(kind)
    return Look(0, colour, hatches[kind % len(hatches)], markers[kind % len(markers)], line, dots)


def of_place(place: int) -> Look:
    """The look of the line of this number in a panel without a grid."""
    return replace(_look(style.PALETTE[place % len(style.PALETTE)], place), hatch="", place=place)


def numbered(place: int) -> tuple[Line, str]:
    """The line style of a line of this number, and its marker once the styles are used up."""
    again = place // len(style.LINES)
    return style.LINES[place % len(style.LINES)], style.MARKERS[(again - 1) % len(style.MARKERS)] if again else ""


def line_kind(line: Line, dots: str, place: int = 0) -> dict[str, Any]:
    """A line style, with some markers along the line; those of neighbours do not cover each other."""
    if not dots:
        return {"linestyle": line}
    # Distances in the figure, not in samples, which may be many.
    start = DOTTED * (0.25 + 0.25 * (place % 4))
    return {"linestyle": line, "marker": dots, "markersize": 3.2, "markevery": (start, DOTTED)}


DOTTED = 0.16
"""The distance of the markers along a line, as a share of the diagonal of its panel."""


def pointed(
    found: Mapping[tuple[str | None, str | None], Look],
) -> dict[tuple[str | None, str | None], Look]:
    """The same for figures of points, which have no line: a marker for each; where markers repeat, another colour."""
    used: set[tuple[str, str]] = set()
    made = {}
    for each, look in found.items():
        colours = (look.colour, *(colour for colour in style.PALETTE if colour != look.colour))
        markers = style.MARKERS[look.place % len(style.MARKERS) :] + style.MARKERS[: look.place % len(style.MARKERS)]
        free = ((colour, marker) for colour in colours for marker in markers if (colour, marker) not in used)
        pair = next(free, None)
        if pair is None:
            hint = "choose some with `--where AXIS=VALUE`, or make panels: --facet AXIS"
            raise NotDrawable(f"{len(found)} kinds of points look alike\n  hint: {hint}")
        used.add(pair)
        made[each] = replace(look, colour=pair[0], marker=pair[1])
    return made


def distinct(
    found: Mapping[tuple[str | None, str | None], Look],
) -> dict[tuple[str | None, str | None], Look]:
    """The same, each with another colour and line style than all others, up to `MOST_DISTINCT`. The line styles of
    neighbours differ; colours stay if they differ already."""
    count = len(style.PALETTE)
    keep = len({look.colour for look in found.values()}) == len(found)
    return {
        each: replace(
            look,
            colour=look.colour if keep else style.PALETTE[look.place % count],
            line=style.LINES[(look.place + look.place // count) % len(style.LINES)],
            dots=numbered(look.place)[1],
        )
        for each, look in found.items()
    }


def find(part: pd.DataFrame, wanted: Mapping[str | None, str | None]) -> pd.DataFrame:
    """The rows with these values of axes."""
    for axis, value in wanted.items():
        if axis is not None:
            part = part[part[axis].astype(str) == value]
    return part


def parted(part: pd.DataFrame, axes: Sequence[str | None]) -> dict[tuple[str | None, ...], pd.DataFrame]:
    """The rows with each combination of values of these axes; the value of an axis that is not given is None."""
    named = [part[axis].astype(str) for axis in axes if axis is not None]
    if not named:
        return {(None,) * len(axes): part} if len(part) else {}
    groups = part.groupby(named, sort=False)
    found: dict[tuple[str | None, ...], pd.DataFrame] = {}
    for key, rows in groups:
        values = iter(key if isinstance(key, tuple) else (key,))
        found[tuple(None if axis is None else str(next(values)) for axis in axes)] = rows
    return found


def rows_of(table: pd.DataFrame, axes: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    """The rows with each combination of values of these axes, as their places in the table."""
    if not axes:
        return {(): list(range(len(table)))}
    found: dict[tuple[str, ...], list[int]] = {}
    for row, values in enumerate(zip(*(table[axis].astype(str).tolist() for axis in axes), strict=True)):
        found.setdefault(values, []).append(row)
    return found


def facets(table: pd.DataFrame, columns: Sequence[str]) -> list[tuple[str, pd.DataFrame]]:
    """The parts of `table` for each panel, with their titles."""
    if not columns:
        return [("", table)]
    parts = [part for _, part in table.groupby(list(columns), sort=False)]
    return [(", ".join(style.label(axis, str(part[axis].iloc[0])) for axis in columns), part) for part in parts]


def title(values: Axes_) -> str:
    """A title with the axes that have one value."""
    return ", ".join(style.label(axis, *each) for axis, each in values.items() if len(each) == 1)
