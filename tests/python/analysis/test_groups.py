"""Groups of rows by name give what groups of pandas give."""

import math

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tailback.analysis import Window
from tailback.analysis.groups import grouped, numbers
from tailback.analysis.window import until

NAMES = st.sampled_from(["router -> server", "a", "b", "ping 2", None])
VALUES = st.one_of(st.integers(0, 1 << 40), st.none())
ROWS = st.lists(st.tuples(NAMES, VALUES), max_size=40)


def table(rows: list[tuple[str | None, int | None]]) -> pd.DataFrame:
    names = pd.Series([name for name, _ in rows], dtype=object)
    return pd.DataFrame({"flow": names, "n": pd.Series([value for _, value in rows], dtype="Int64")})


@given(ROWS)
def test_each_name_has_its_values_in_the_order_of_the_table(rows: list[tuple[str | None, int | None]]) -> None:
    frame = table(rows)
    found = grouped(frame["flow"]).split(numbers(frame["n"]))
    assert list(found) == sorted({name for name, _ in rows if name is not None})
    for name, values in found.items():
        expected = [math.nan if value is None else float(value) for each, value in rows if each == name]
        np.testing.assert_array_equal(values, expected)


@given(ROWS)
def test_sums_and_extremes_are_those_of_pandas(rows: list[tuple[str | None, int | None]]) -> None:
    frame = table(rows)
    groups, values = grouped(frame["flow"]), numbers(frame["n"])
    theirs = frame.astype({"n": "float64"}).groupby("flow", sort=True)["n"]
    assert groups.sums(values).tolist() == theirs.sum().tolist()
    np.testing.assert_array_equal(groups.maxima(values), theirs.max().to_numpy())
    np.testing.assert_array_equal(groups.minima(values), theirs.min().to_numpy())


@given(st.lists(st.integers(0, 20), max_size=30), st.integers(0, 20), st.integers(0, 20))
def test_rows_in_any_order_are_selected_by_their_time(times: list[int], one: int, other: int) -> None:
    start, end = sorted((one, other))
    frame = pd.DataFrame({"t": np.array(times, dtype=np.float64) / 1000})
    window = Window(start * 1_000_000, end * 1_000_000)
    assert window.samples(frame)["t"].tolist() == [at / 1000 for at in times if start <= at < end]
    assert until(frame, window.end_ns)["t"].tolist() == [at / 1000 for at in times if at <= end]
    # In order, the rows are a slice.
    assert window.samples(frame.sort_values("t"))["t"].tolist() == [
        at / 1000 for at in sorted(times) if start <= at < end
    ]
