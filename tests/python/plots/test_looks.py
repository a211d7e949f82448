"""However many values axes have, no two points, lines or boxes of a figure look alike, or the figure is refused."""

from collections.abc import Iterable
from pathlib import Path

import pytest

import tailback
from tailback.plots import PLOTS, NotDrawable, layout, style
from tailback.plots.layout import Look, Roles

COUNTS = (1, 2, 4, 8, 9, 12, 13, 16)


def named(axis: str, count: int) -> list[str]:
    """Values that are no quantities, which would have shades in their order."""
    return [f"{axis} {place}" for place in range(count)]


def alike(marks: Iterable[object]) -> bool:
    known = list(marks)
    return len(set(known)) < len(known)


@pytest.mark.parametrize("colours", COUNTS)
@pytest.mark.parametrize("markers", COUNTS)
def test_points_of_two_axes_differ_in_colour_or_marker(colours: int, markers: int) -> None:
    """With nine values and three, those of the first and of the ninth had one colour and one marker."""
    values = {"a": named("a", colours), "b": named("b", markers)}
    looks = layout.looks(values, Roles(None, "a", "b", ()))
    try:
        found = layout.pointed(looks)
    except NotDrawable as error:
        assert "--where" in str(error)
        assert len(looks) > len(style.MARKERS) * len(style.PALETTE)
        return
    assert not alike((look.colour, look.marker) for look in found.values())


@pytest.mark.parametrize("count", range(1, 41))
def test_points_lines_and_boxes_of_one_axis_differ(count: int) -> None:
    found = layout.looks({"a": named("a", count)}, Roles(None, "a", None, ()))
    looks: list[Look] = list(found.values())
    assert not alike((look.colour, look.marker) for look in layout.pointed(found).values())
    assert not alike((look.colour, look.line, look.dots) for look in looks)
    assert not alike((look.colour, look.hatch) for look in looks)


@pytest.mark.parametrize("name", ["candlestick_ping", "box_ping"])
def test_a_figure_that_is_named_after_pings_is_refused_without_one(name: str, tmp_path: Path) -> None:
    text = "links: [{ends: [a, b], rate: 10mbit, delay: 5ms}]\ntraffic: [{tcp: a -> b}]\nduration: 1s\n"
    (tmp_path / "x.yaml").write_text(text)
    results = tailback.run(tmp_path / "x.yaml", out=tmp_path / "out")
    with pytest.raises(NotDrawable, match=r"has no ping .*\n  hint: add a ping .* or draw `candlestick`"):
        PLOTS[name].table(results)
    assert len(PLOTS[name.removesuffix("_ping")].table(results))
