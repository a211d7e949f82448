"""The style of figures: sizes for print, and colours that are distinguishable with colour blindness and in grey print.

Colours are those of Okabe and Ito (2008). A congestion control has the same colour in every figure.
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex, to_rgb
from matplotlib.ticker import Locator, MaxNLocator, NullFormatter, NullLocator, ScalarFormatter
from matplotlib.typing import ColorType

PAGE_WIDTH = 7.16
"""Inches: two columns of an IEEE page."""

COLUMN_WIDTH = 3.5
"""Inches: one column of an IEEE page."""

BLACK, GREY = "#000000", "#8c8c8c"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#7A5C00", "#56B4E9", "#CC79A7", "#444444")
"""The first three are those of controls; of the others, neighbours differ in lightness, too. Colours alone are not told
apart in grey print: what a colour says, a line style or a marker says as well (`layout.looks`)."""

HATCHES = ("", "/////", "....", "xxxx", "\\\\\\\\\\", "++++", "oo", "**")

MARKERS = "oDs^vP*Xp<>h"

Line = Literal["-", "--", ":", "-."]
LINES: tuple[Line, ...] = ("-", "--", ":", "-.")

CONTROLS = {
    "cubic": PALETTE[0],
    "bbr": PALETTE[1],
    "reno": PALETTE[2],
}

# Any: the stubs know the keys as a literal type, and those of one version of matplotlib only.
STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.columnspacing": 1.4,
    "figure.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 0.9,
    "hatch.linewidth": 0.7,
    "figure.dpi": 200,
    "savefig.dpi": 200,
    # Do not interpret labels with `$` as formulas.
    "text.parse_math": False,
    # Text stays text in PDF and SVG; identifiers in SVG do not depend on the occasion.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "tailback",
}

MOST_COLOURS = len(PALETTE)
"""The number of series up to which each has a colour of its own that is not a shade of another."""

SEQUENCE, DARKEST, LIGHTEST = "viridis", 0.0, 0.88
"""Colours of more quantities than the palette has colours: in their order, from dark to light. The lightest colours of
the map are left out, because a thin line of them cannot be seen on white."""

QUANTITY = re.compile(r"-?[0-9.]+(?:e-?[0-9]+)?[a-zA-Zµ%/]*")
"""A value that has an order: `2`, `1.5`, `20ms`, `100mbit`."""

DECADES = 20
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""


def colours(values: Sequence[str]) -> dict[str, str]:
    """A colour for each value. Congestion controls have fixed colours, which other values avoid
    while there are others. More quantities than the palette has colours are shades in their order; of other values,
    those with the colour of an earlier one differ in the line, hatch or marker (`repeats`).
    """
    if is_sequence(values):
        return _sequence(values)
    taken = [CONTROLS[value] for value in values if value in CONTROLS]
    reserved = [colour for colour in CONTROLS.values() if colour not in taken]
    free = itertools.cycle([*(colour for colour in PALETTE if colour not in CONTROLS.values()), *reserved])
    return {value: CONTROLS.get(value) or next(free) for value in values}


def is_sequence(values: Sequence[str]) -> bool:
    """Whether values are shown as shades in their order: more quantities than the palette has colours."""
    return len(values) > MOST_COLOURS and all(map(QUANTITY.fullmatch, values))


def _sequence(values: Sequence[str]) -> dict[str, str]:
    places = np.linspace(DARKEST, LIGHTEST, len(values))
    return {value: to_hex(colormaps[SEQUENCE](place)) for value, place in zip(values, places, strict=True)}


DARK = 0.179
"""Relative luminance of a ground below which white text has more contrast than black text. [wcag22]"""


def is_dark(colour: ColorType) -> bool:
    """Whether white text is easier to read on a colour than black text."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722)) < DARK


def ink(ground: ColorType) -> str:
    """The colour of text on a ground."""
    return "white" if is_dark(ground) else BLACK


def repeats(coloured: Mapping[str, str]) -> dict[str, int]:
    """How many earlier values have the colour of each value."""
    seen: Counter[str] = Counter()
    found: dict[str, int] = {}
    for value, colour in coloured.items():
        found[value] = seen[colour]
        seen[colour] += 1
    return found


def lines(coloured: Mapping[str, str]) -> dict[str, Line]:
    """A line style for each value with a colour: solid, and another one where an earlier value has the colour."""
    return {value: LINES[count % len(LINES)] for value, count in repeats(coloured).items()}


def label(axis: str, value: str) -> str:
    """A value, with the name of its axis if the value alone is unclear: `cubic`, but `tsq off`."""
    return value if value[:1].isalpha() and value not in UNCLEAR else f"{axis} {value}"


UNCLEAR = ("on", "off", "yes", "no", "default", "none")
"""Words that say nothing without the name of their axis."""


Values = npt.NDArray[np.float64]


def scale(axes: Axes, values: Values, highest: float) -> None:
    """Sets a scale: linear from 0, or logarithmic if `values` span decades; up to `highest`.

    The lowest percent of the values is ignored, so that single outliers do not compress the scale.
    """
    positive = values[values > 0]
    lowest = float(np.percentile(positive, 1)) if len(positive) else 0.0
    if lowest > 0 and float(positive.max()) / lowest > DECADES:
        logarithmic_y(axes, (lowest / 1.6, highest * 1.6))
        return
    axes.set_ylim(0, highest * 1.08 if highest > 0 else 1)


def logarithmic_x(axes: Axes, limits: tuple[float, float]) -> None:
    """Sets a logarithmic x axis with few plain numbers, which fit a small panel."""
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    readable(axes.xaxis)


def logarithmic_y(axes: Axes, limits: tuple[float, float]) -> None:
    """Sets a logarithmic y axis with plain numbers."""
    axes.set_yscale("log")
    axes.set_ylim(*limits)
    readable(axes.yaxis)


def readable(axis: Axis) -> None:
    """Plain numbers along a logarithmic axis, at least two (`Readable`)."""
    axis.set_major_locator(Readable())
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(plain_number)
    axis.set_minor_formatter(NullFormatter())


FEWEST_NUMBERS, MOST_NUMBERS = 2, 6
"""Numbers along a logarithmic axis."""


class Readable(Locator):
    """The numbers of a logarithmic axis: as many as fit, at least two, from the coarsest kind that has enough.

    The kinds are powers of ten (each, or every second, third, ...), 1, 2, 5 of each decade, all digits of each decade,
    and numbers at equal distances.
    """

    def __call__(self) -> Sequence[float]:
        """The numbers within the limits of the axis as they are."""
        assert self.axis is not None
        low, high = sorted(self.axis.get_view_interval())
        return self.tick_values(float(low), float(high))

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """The numbers from `vmin` to `vmax`."""
        if not 0 < vmin < vmax:
            return []
        room = max(FEWEST_NUMBERS, min(MOST_NUMBERS, self.axis.get_tick_space() if self.axis is not None else 5))
        fitting = [kind for kind in _kinds(vmin, vmax) if FEWEST_NUMBERS <= len(kind) <= room]
        return max(fitting, key=len) if fitting else _evenly(vmin, vmax, room)


def _kinds(low: float, high: float) -> Iterator[list[float]]:
    """Possible numbers from `low` to `high`, coarse ones first."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    within = [power for power in powers if low <= 10.0**power <= high]
    for stride in range(max(1, len(within) // 2), 0, -1):
        yield [10.0**power for power in within if power % stride == 0]
    for digits in ((1, 3), (1, 2, 5), range(1, 10)):
        numbers = [digit * 10.0**power for power in powers for digit in digits]
        yield [number for number in numbers if low <= number <= high]


def _evenly(low: float, high: float, room: int) -> list[float]:
    """At most `room` numbers at equal distances, at least two."""
    found: list[float] = []
    for count in range(room, 5 * room):
        found = [float(at) for at in MaxNLocator(count).tick_values(low, high) if low <= at <= high]
        if len(found) >= FEWEST_NUMBERS:
            break
    return found


def rescale(axes: Axes, name: str, kind: str) -> None:
    """Gives the axis `x` or `y` another scale, `log` or `linear`, with plain numbers and limits around the data of all
    panels that share it."""
    shared = getattr(axes, f"get_shared_{name}_axes")().get_siblings(axes)
    data = [each.dataLim for each in shared if each.has_data()]
    low = min(getattr(each, f"{name}0") for each in data)
    high = max(getattr(each, f"{name}1") for each in data)
    if kind == "log":
        least = min(getattr(each, f"minpos{name}") for each in data)
        logarithmic = logarithmic_x if name == "x" else logarithmic_y
        logarithmic(axes, (least / 1.3, max(high, least) * 1.3))
        return
    getattr(axes, f"set_{name}scale")(kind)
    getattr(axes, f"set_{name}lim")(min(0.0, low), high * 1.05)


def spans_decades(values: Values) -> bool:
    """Whether a linear axis would flatten most of the values."""
    positive = values[values > 0]
    return len(positive) > 0 and float(positive.max()) > DECADES * float(positive.min())


def plain(axis: Axis) -> None:
    """Plain numbers along a linear axis whose numbers are large: `2M` instead of a `2` and a factor far from it."""
    usual = axis.get_major_formatter()
    if isinstance(usual, ScalarFormatter) and axis.get_scale() == "linear":
        if max(map(abs, axis.get_view_interval())) >= LONGEST:
            axis.set_major_formatter(plain_number)
        else:
            usual.set_useOffset(False)
            usual.set_scientific(False)


def short_number(value: float, _place: float) -> str:
    """`100`, `1k`, `10k`, `1M`: for quantities that span many decades, as sizes in bytes do."""
    return _with_suffix(value) if abs(value) >= SUFFIXES[-1][0] else f"{value:g}"


SUFFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
LONGEST = 1e5
"""Numbers from here on have a suffix: `100k`."""


def plain_number(value: float, _place: float) -> str:
    """`0.5`, `100`, `20000`, `1M`."""
    if abs(value) < LONGEST:
        return f"{value:g}"
    return _with_suffix(value)


def _with_suffix(value: float) -> str:
    scale, suffix = next((scale, suffix) for scale, suffix in SUFFIXES if abs(value) >= scale)
    return f"{value / scale:g}{suffix}"
