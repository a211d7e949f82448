"""Files of tables: what readers get is what was recorded, whichever backend recorded it."""

import io
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from performance.cases import CASES
from tailback import _core
from tailback.backends.sim import Sim
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

ENDPOINT = f"""\
links: [{{ends: [client, server], rate: 10mbit, delay: 5ms}}]
traffic: [{{endpoint: {Path(__file__).parents[3]}/examples/transports/python/aimd.py, from: client, to: server}}]
duration: 1s
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
    record = {**wireless["record"], "packets_ns": [0, 500_000_000]}
    for scenario in (wired, {**wireless, "duration_ns": 500_000_000, "record": record}):
        found |= _core.run(json.dumps(scenario), None)["tables"]
    return {**Sim().run(loads(ENDPOINT).runs()[0].scenario, Sim().new_progress()).tables, **found}


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


def varint(number: int) -> bytes:
    """A whole number of Thrift's compact protocol."""
    bits = number * 2
    groups = [bits >> place & 0x7F for place in range(0, max(1, bits.bit_length()), 7)]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def ends(content: bytes, start: int) -> int:
    """Where the number that begins at `start` ends."""
    return next(place for place in range(start, len(content)) if content[place] < 0x80) + 1


def test_a_page_that_claims_more_than_its_rows_need_is_refused_before_it_takes_the_room() -> None:
    """Its head says 2 GB, and it loses as many bytes as that number takes more."""
    written = pa.BufferOutputStream()
    table = pa.table({"t": np.linspace(0, 1, 1000)})
    pq.write_table(table, written, compression="snappy", use_dictionary=False, write_statistics=False)
    content = written.getvalue().to_pybytes()
    chunk = pq.ParquetFile(pa.BufferReader(content)).metadata.row_group(0).column(0)
    end = chunk.data_page_offset + chunk.total_compressed_size
    # The first three fields are the kind, the bytes when unpacked, and those in the file; each has a byte before it.
    unpacked = chunk.data_page_offset + 3
    packed = ends(content, unpacked) + 1
    body = ends(content, packed)
    assert content[unpacked - 3 : unpacked] == b"\x15\x00\x15"
    claimed = varint(2_000_000_000)
    lost = len(claimed) - (packed - 1 - unpacked)
    size = next(size for size in range(len(content)) if varint(size) == content[packed:body]) - lost
    forged = content[:unpacked] + claimed + b"\x15" + varint(size) + content[body : end - lost] + content[end:]
    assert len(forged) == len(content)
    with pytest.raises(_core.Unreadable) as refused:
        _core.TableFile(forged).read(None, 1000)
    assert refused.value.args[1] == "a page of 1000 rows claims 2000000000 bytes"
