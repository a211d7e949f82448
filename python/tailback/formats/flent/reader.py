"""Reads and writes the container: JSON in gzip, bzip2 or plain. It reads versions 1 to 4 and writes 4.

Differences of older versions [flent flent/resultset.py, flent/util.py]: version 1 has samples in
`SERIES_META.<series>.RAW_VALUES`, or only the grid; before version 4, UDP pings are rates (1/s), HTTP latency is in
seconds, and drops and marks are counters instead of differences.
"""

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tailback.formats.errors import NotReadable
from tailback.limits import Damaged, FileRefused, open_unpacked

VERSION = 4

MAX_BYTES = 1 << 28
"""Maximum size of a file, compressed and uncompressed. An hour of sixteen flows with all samples has 50 MB."""

MAX_VALUES = 10_000_000
"""Maximum number of JSON values of a file, which take about 1 GB."""

CUMULATIVE = ("dropped", "ecn_mark")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class FlentFile:
    """The five keys of the format, in version 4."""

    x_values: Sequence[float]
    results: Mapping[str, Sequence[float | None]]
    raw_values: Mapping[str, Sequence[Row]]
    metadata: Mapping[str, Any]


def read(path: Path) -> FlentFile:
    """Reads the file at `path`; raises `NotReadable`."""
    return parse(content(path), path)


def content(path: Path) -> bytes:
    """The uncompressed content of the file at `path`."""
    try:
        with open_unpacked(path, MAX_BYTES) as stream:
            return b"".join(stream.pieces())
    except Damaged as error:
        raise _unlike(path, str(error)) from error
    except FileRefused as error:
        hint = "give a file of one test as Flent has written it, by its name"
        raise NotReadable(f"`{path}` is not read: {error}\n  hint: {hint}") from error
    except OSError as error:
        raise NotReadable(f"cannot read `{path}`: {error.strerror or error}\n  hint: is the name right?") from error


def parse(found: bytes, path: Path) -> FlentFile:
    """Parses the content of a file; error messages call it `path`."""
    # An upper bound on the number of values; strings may also contain these characters.
    if sum(map(found.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise NotReadable(f"`{path}` has more than {MAX_VALUES} values\n  hint: give a file of one test")
    try:
        document = json.loads(found.decode())
    except UnicodeDecodeError as error:
        raise _unlike(path, f"it is not text (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise _unlike(path, f"{error.msg} (line {error.lineno}, column {error.colno})") from error
    except (ValueError, RecursionError) as error:
        raise _unlike(path, "its numbers are too long or its lists too deep") from error
    return _checked(document, path)


def _unlike(path: Path, what: str) -> NotReadable:
    hint = "it may be cut short; copy it again, or check that it is a .flent or .flent.gz"
    return NotReadable(f"`{path}` is not a Flent data file: {what}\n  hint: {hint}")


def write(found: FlentFile) -> bytes:
    """The bytes of a `.flent.gz`; equal files have equal bytes."""
    document = {
        "version": VERSION,
        "x_values": list(found.x_values),
        "results": {name: list(values) for name, values in found.results.items()},
        "raw_values": {name: list(rows) for name, rows in found.raw_values.items()},
        "metadata": dict(found.metadata),
    }
    text = json.dumps(document, separators=(",", ":"), sort_keys=True, allow_nan=False)
    # `json` takes ten times as long to write indented lines.
    return gzip.compress(msgspec.json.format(text.encode(), indent=2), mtime=0)


def _checked(document: Any, path: Path) -> FlentFile:
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        raise _broken(path, "it has no `metadata`")
    version = document.get("version", 1)
    if not isinstance(version, int) or version > VERSION:
        found = str(version) if isinstance(version, int) and version < 1000 else "something else"
        raise _broken(path, f"its version is {found}, and only 1 to {VERSION} are known")
    x_values = _grid(document.get("x_values"), path)
    results = _series(document.get("results", {}), path)
    metadata = document["metadata"]
    if any(len(values) != len(x_values) for values in results.values()):
        raise _broken(path, "a series in `results` is not as long as `x_values`")
    raw = _raw(document, (x_values, results), path)
    if version < VERSION:
        raw = {name: _converted(name, rows) for name, rows in raw.items()}
    return FlentFile(x_values, results, raw, metadata)


def _grid(values: Any, path: Path) -> list[float]:
    if not isinstance(values, list) or not all(_is_number(value) for value in values):
        raise _broken(path, "`x_values` is not a list of numbers")
    return [float(value) for value in values]


def _series(results: Any, path: Path) -> dict[str, list[float | None]]:
    if not isinstance(results, dict) or not all(isinstance(values, list) for values in results.values()):
        raise _broken(path, "`results` is not an object of lists")
    return {name: [float(value) if _is_number(value) else None for value in values] for name, values in results.items()}


def _raw(
    document: Mapping[str, Any], grid: tuple[list[float], dict[str, list[float | None]]], path: Path
) -> dict[str, list[Row]]:
    raw = document.get("raw_values")
    if raw is None:
        raw = _of_version_1(document["metadata"], grid)
    if not isinstance(raw, dict) or not all(isinstance(rows, list) for rows in raw.values()):
        raise _broken(path, "`raw_values` is not an object of lists")
    return {
        name: [row for row in rows if isinstance(row, dict) and _is_number(row.get("t"))] for name, rows in raw.items()
    }


def _of_version_1(metadata: Mapping[str, Any], grid: tuple[list[float], dict[str, list[float | None]]]) -> Any:
    """The samples in the metadata of the series, else the points of the grid, with times relative to its start."""
    x_values, results = grid
    described = metadata.get("SERIES_META")
    found = {}
    for name, values in results.items():
        meta = described.get(name) if isinstance(described, dict) else None
        rows = meta.get("RAW_VALUES") if isinstance(meta, dict) else None
        points = [{"t": t, "val": value} for t, value in zip(x_values, values, strict=True) if value is not None]
        found[name] = rows if isinstance(rows, list) else points
    return found


def _converted(name: str, rows: Sequence[Row]) -> list[Row]:
    """The samples in the form of version 4."""
    if name.startswith("Ping (ms) UDP"):
        return [_inverted(row) for row in rows]
    if name == "HTTP latency":
        return [{**row, "val": row["val"] * 1e3} if _is_number(row.get("val")) else row for row in rows]
    if name.startswith("qdisc"):
        return _differences(rows)
    return list(rows)


def _inverted(row: Row) -> Row:
    value = row.get("val")
    if "dur" not in row or not _is_number(value):
        return row
    return {**row, "val": 1e3 / value} if value else {key: kept for key, kept in row.items() if key != "val"}


def _differences(rows: Sequence[Row]) -> list[Row]:
    found: list[Row] = []
    before = dict.fromkeys(CUMULATIVE, 0.0)
    for row in rows:
        grown = {key: row[key] - before[key] for key in CUMULATIVE if _is_number(row.get(key))}
        before.update({key: row[key] for key in grown})
        found.append({**row, **grown})
    return found


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 and math.isfinite(value)
    )


def _broken(path: Path, what: str) -> NotReadable:
    return NotReadable(f"`{path}` is not a Flent data file: {what}\n  hint: give a .flent or .flent.gz of `flent`")
