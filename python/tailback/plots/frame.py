"""What the user sets about a finished figure: title, size, scales and limits, of all of its panels."""

from dataclasses import dataclass
from typing import Literal

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tailback.plots import labels, style
from tailback.plots.errors import NotDrawable

Limits = tuple[float, float]

SLIDE_WIDTH = 6.0
"""Smallest width of a figure for slides in inches; a projector shows it larger, and with it all text."""

WIDESCREEN = 16 / 9

SLIDE_PIXELS = 1920
"""Width of a figure for slides."""

THICKER = 1.6
"""Width of lines on slides, relative to that on paper."""


@dataclass(frozen=True)
class Frame:
    """The settings; `None` leaves what the plot chose."""

    title: str | None = None
    size: Limits | None = None
    """Width and height in inches."""
    x_scale: Literal["linear", "log"] | None = None
    y_scale: Literal["linear", "log"] | None = None
    x_limits: Limits | None = None
    y_limits: Limits | None = None
    style: Literal["paper", "slides"] = "paper"
    """`slides`: 16:9, larger text, and thicker lines."""

    def apply(self, figure: Figure) -> None:
        """Changes the figure."""
        if self.title is not None:
            labels.entitle(figure, self.title)
        size = self.size or (_of_slide(figure) if self.style == "slides" else None)
        if size is not None:
            figure.set_size_inches(*size)
            labels.refit(figure)
        if self.style == "slides":
            figure.set_dpi(SLIDE_PIXELS / figure.get_figwidth())
            _thicken(figure)
        for axes in figure.axes:
            for name, wanted in (("x", self.x_scale), ("y", self.y_scale)):
                # What the plot has chosen itself has its limits and numbers already.
                if wanted is not None and wanted != getattr(axes, f"get_{name}scale")():
                    style.rescale(axes, name, wanted)
            if self.x_limits is not None:
                axes.set_xlim(*self.x_limits)
            if self.y_limits is not None:
                axes.set_ylim(*self.y_limits)


def _of_slide(figure: Figure) -> Limits:
    """16:9, in the width of the figure: titles of many panels have been fitted to it."""
    width = max(SLIDE_WIDTH, float(figure.get_figwidth()))
    return width, width / WIDESCREEN


def _thicken(figure: Figure) -> None:
    for line in figure.findobj(Line2D):
        line.set_linewidth(line.get_linewidth() * THICKER)


def limits(text: str, option: str) -> Limits:
    """Reads `0:50`."""
    return _pair(text, ":", f"{option}: write two numbers, the lower first: {option} 0:50")


def size(text: str) -> Limits:
    """Reads `7x4`."""
    found = _pair(text, "x", "--size: write width and height in inches: --size 7x4", rising=False)
    if not all(0.5 <= length <= 100 for length in found):
        raise NotDrawable(f"`{text}` is not a size\n  hint: from 0.5 to 100 inches: --size 7x4")
    return found


def _pair(text: str, between: str, hint: str, *, rising: bool = True) -> Limits:
    try:
        low, high = map(float, text.split(between))
    except ValueError:
        raise NotDrawable(f"`{text}` is not two numbers\n  hint: {hint}") from None
    if rising and not low < high:
        raise NotDrawable(f"`{text}` is an empty range\n  hint: {hint}")
    return low, high
