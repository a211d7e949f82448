"""Files of tables: what readers get is what was recorded, whichever backend recorded it."""

import io
import json
import math
import pickle
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from performance.cases import CASES
from tailback import _core
from tailback.resolved import to_json
from tailback.scenario import loads

EVERY_KIND = """
links:
  - {ends: [client, server], rate: 10mbit, delay: 5ms}
traffic:
  - {tcp: client -> server}
  - {ping: client -> server, interval: 50ms}
  - {udp: client -> server, rate: 1mbit}
  - {call: client -> server}
  - {request: client -> server, answer: 10kb, every: 100ms}
  - {page: client -> server}
  - {video: server -> client}
duration: 4s
measure: {warmup: 0s}
"""

BY_HAND = pa.table(
    {
        "t": pa.array([0.1, None, -1e308, math.inf]),
        "flow": pa.array(["a", None, "a", "µ"]),
        "name": pa.array(["b", "", "a", "µ"], pa.large_string()),
        "bytes": pa.array([0, 2**64 - 1, None, 1], pa.uint64()),
        "offset": pa.array([-(2**63), 2**63 - 1, 0, None]),
        "up": pa.array([True, None, False, True]),
    }
)


def of_simulator() -> dict[str, _core.Table]:
    """Tables of each kind of traffic, and of a Wi-Fi cell."""
    wired = to_json(loads(EVERY_KIND).runs()[0].scenario)
    wireless = next(case for case in CASES if "Wi-Fi" in case.name).resolved()
    found: dict[str, _core.Table] = {}
    for scenario in (wired, {**wireless, "duration_ns": 500_000_000}):
        found |= _core.run(json.dumps(scenario), None)["tables"]
    return found


RECORDED = of_simulator()
TABLES = {**RECORDED, "by hand": _core.Table.of_arrow(BY_HAND), "empty": _core.Table.of_arrow(BY_HAND.slice(0, 0))}


def by_pyarrow(table: pa.Table) -> bytes:
    """The file of a table as pyarrow writes it."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def read(content: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(content))


def test_the_simulator_has_recorded_every_table() -> None:
    assert set(RECORDED) == set(_core.row_bytes())


@pytest.mark.parametrize("name", TABLES)
def test_readers_get_what_they_get_of_pyarrows_file(name: str) -> None:
    table = TABLES[name].to_arrow()
    ours, theirs = TABLES[name].to_parquet(), by_pyarrow(table)
    assert read(ours).equals(read(theirs), check_metadata=True)
    assert read(ours).equals(table, check_metadata=True)
    assert pq.ParquetFile(pa.BufferReader(ours)).schema.equals(pq.ParquetFile(pa.BufferReader(theirs)).schema)
    assert polars.read_parquet(io.BytesIO(ours)).equals(polars.read_parquet(io.BytesIO(theirs)))
    assert read(ours).to_pandas().equals(read(theirs).to_pandas())


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_another_backend_is_the_same_file(name: str) -> None:
    halves = TABLES[name].to_arrow()
    chunked = pa.concat_tables([halves.slice(0, len(halves) // 2), halves.slice(len(halves) // 2)])
    assert _core.Table.of_arrow(chunked).to_parquet() == TABLES[name].to_parquet()


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_those_of_arrow(name: str) -> None:
    table = TABLES[name]
    arrow = table.to_arrow()
    assert (table.names, len(table)) == (arrow.column_names, arrow.num_rows)
    for column, values in zip(arrow.column_names, arrow.columns, strict=True):
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            places, known = table.words(column)
            assert known == sorted(set(values.to_pylist()) - {None})
            assert [[*known, None][place] for place in np.frombuffer(places, np.int64)] == values.to_pylist()
        else:
            expected = np.array(values.to_pylist(), dtype=np.float64)
            np.testing.assert_array_equal(np.frombuffer(table.numbers(column), np.float64), expected)


def test_many_rows_are_in_groups() -> None:
    rows = (1 << 20) + 1
    table = pa.table({"seq": pa.array(np.arange(rows)), "t": pa.array(np.arange(rows) / 1000)})
    file = pq.ParquetFile(pa.BufferReader(_core.Table.of_arrow(table).to_parquet()))
    assert [file.metadata.row_group(place).num_rows for place in range(2)] == [1 << 20, 1]
    assert file.read().equals(table)


def test_a_table_goes_to_another_process() -> None:
    table = TABLES["by hand"]
    assert pickle.loads(pickle.dumps(table)).stream == table.stream


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: _core.Table(b"no stream"), ValueError),
        (lambda: TABLES["by hand"].numbers("rtt"), KeyError),
        (lambda: TABLES["by hand"].numbers("flow"), TypeError),
        (lambda: TABLES["by hand"].words("t"), TypeError),
        (lambda: _core.Table.of_arrow(pa.table({"t": [[1]]})).to_parquet(), ValueError),
    ],
)
def test_what_is_no_table_or_no_column_is_an_error(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        wrong()
