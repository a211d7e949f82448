"""What the user sets about a finished figure: title, size, scales and limits, of all of its panels."""

from dataclasses import dataclass
from typing import Literal

from matplotlib.figure import Figure

from tailback.plots import style
from tailback.plots.errors import NotDrawable

Limits = tuple[float, float]


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

    def apply(self, figure: Figure) -> None:
        """Changes the figure."""
        if self.title is not None:
            figure.suptitle(self.title)
        if self.size is not None:
            figure.set_size_inches(*self.size)
        for axes in figure.axes:
            for name, wanted in (("x", self.x_scale), ("y", self.y_scale)):
                # What the plot has chosen itself has its limits and numbers already.
                if wanted is not None and wanted != getattr(axes, f"get_{name}scale")():
                    style.rescale(axes, name, wanted)
            if self.x_limits is not None:
                axes.set_xlim(*self.x_limits)
            if self.y_limits is not None:
                axes.set_ylim(*self.y_limits)


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
