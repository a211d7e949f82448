"""Groups of rows by name give what groups of pandas give, and tables of any kind have the same columns."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailback import _core
from tailback.analysis import Window
from tailback.analysis.groups import grouped
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import until

NAMES = st.sampled_from(["router -> server", "a", "b", "ping 2", None])
VALUES = st.one_of(st.integers(0, 1 << 40), st.none())
ROWS = st.lists(st.tuples(NAMES, VALUES), max_size=40)


def table(rows: list[tuple[str | None, int | None]]) -> pd.DataFrame:
    names = pd.Series([name for name, _ in rows], dtype=object)
    return pd.DataFrame({"flow": names, "n": pd.Series([value for _, value in rows], dtype="Int64")})


@given(ROWS)
def test_each_name_has_its_values_in_the_order_of_the_table(rows: list[tuple[str | None, int | None]]) -> None:
    read = Table.of(table(rows))
    found = grouped(read.words("flow")).split(read.numbers("n"))
    assert list(found) == sorted({name for name, _ in rows if name is not None})
    for name, values in found.items():
        expected = [math.nan if value is None else float(value) for each, value in rows if each == name]
        np.testing.assert_array_equal(values, expected)


@given(ROWS)
def test_sums_and_extremes_are_those_of_pandas(rows: list[tuple[str | None, int | None]]) -> None:
    frame = table(rows)
    read = Table.of(frame)
    groups, values = grouped(read.words("flow")), read.numbers("n")
    theirs = frame.astype({"n": "float64"}).groupby("flow", sort=True)["n"]
    for ours, expected in (
        (groups.sums(values), theirs.sum()),
        (groups.maxima(values), theirs.max()),
        (groups.minima(values), theirs.min()),
    ):
        assert list(ours) == expected.index.tolist()
        np.testing.assert_array_equal(list(ours.values()), expected.to_numpy())


@given(st.lists(st.integers(0, 20), max_size=30), st.integers(0, 20), st.integers(0, 20))
def test_rows_in_any_order_are_selected_by_their_time(times: list[int], one: int, other: int) -> None:
    start, end = sorted((one, other))
    frame = pd.DataFrame({"t": np.array(times, dtype=np.float64) / 1000})
    window = Window(start * 1_000_000, end * 1_000_000)
    assert window.samples(frame).numbers("t").tolist() == [at / 1000 for at in times if start <= at < end]
    assert until(frame, window.end_ns).numbers("t").tolist() == [at / 1000 for at in times if at <= end]
    # In order, the rows are a slice, of which a part is a slice again.
    inside = [at / 1000 for at in sorted(times) if start <= at < end]
    assert window.samples(frame.sort_values("t")).numbers("t").tolist() == inside
    within = until(window.samples(frame.sort_values("t")), window.start_ns + 3_000_000)
    assert within.numbers("t").tolist() == [at for at in inside if at <= (start + 3) / 1000]


@pytest.mark.parametrize(
    "kind",
    [
        pd.DataFrame,
        lambda columns: _core.Table.of_arrow(pa.table(columns)),
        dict,
        lambda columns: pd.DataFrame(columns).astype({"name": "category", "n": "Int64"}),
    ],
)
def test_all_kinds_of_tables_have_the_same_columns(kind: Callable[..., Columns]) -> None:
    read = Table.of(kind({"name": ["b", None, "a", "b"], "n": [1, 2, None, 4]}))
    assert read.words("name").plain() == ["b", None, "a", "b"]
    np.testing.assert_array_equal(read.numbers("n"), [1, 2, math.nan, 4])
    later = read.where(np.array([False, True, True, True]))
    assert later.known("n").words("name").plain() == [None, "b"]
    assert later.words("name").present() == ["a", "b"]
    assert (len(read), len(later), "n" in later, "m" in later) == (4, 3, True, False)
