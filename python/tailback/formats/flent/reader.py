"""Reading and writing the container: JSON in gzip, bzip2 or plain; versions 1 to 4 read, 4 written.

What older versions have otherwise [flent flent/resultset.py, flent/util.py]: version 1 keeps samples in
`SERIES_META.<series>.RAW_VALUES`, or has none beside the grid; before 4, UDP pings are rates (1/s), HTTP latency is in
seconds, and drops and marks are counters instead of differences.
"""

import bz2
import gzip
import io
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.formats.errors import NotReadable

VERSION = 4

MOST_BYTES = 1 << 30
"""Of a decompressed file: a small archive can hold far more than fits in memory."""

CUMULATIVE = ("dropped", "ecn_mark")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class FlentFile:
    """The five keys of the format, as version 4 has them."""

    x_values: Sequence[float]
    results: Mapping[str, Sequence[float | None]]
    raw_values: Mapping[str, Sequence[Row]]
    metadata: Mapping[str, Any]


def read(path: Path) -> FlentFile:
    """The file at `path`; raises `NotReadable` with what is wrong with it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise NotReadable(f"cannot read `{path}`: {error.strerror or error}\n  hint: is the name right?") from error
    try:
        document = json.loads(_decompressed(content).decode())
    # OSError: that is what gzip and bz2 raise for broken data.
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        hint = "it may be cut short; copy it again, or check that it is a .flent or .flent.gz"
        raise NotReadable(f"`{path}` is not a Flent data file: {error}\n  hint: {hint}") from error
    return _checked(document, path)


def write(found: FlentFile) -> bytes:
    """The bytes of a `.flent.gz`; the same file is the same bytes."""
    document = {
        "version": VERSION,
        "x_values": list(found.x_values),
        "results": {name: list(values) for name, values in found.results.items()},
        "raw_values": {name: list(rows) for name, rows in found.raw_values.items()},
        "metadata": dict(found.metadata),
    }
    text = json.dumps(document, indent=2, sort_keys=True, allow_nan=False)
    return gzip.compress(text.encode(), mtime=0)


def _decompressed(content: bytes) -> bytes:
    """By what the file begins with, for names are not to be relied on."""
    opened: Any = io.BytesIO(content)
    if content[:2] == b"\x1f\x8b":
        opened = gzip.GzipFile(fileobj=opened)
    elif content[:3] == b"BZh":
        opened = bz2.BZ2File(opened)
    plain: bytes = opened.read(MOST_BYTES + 1)
    if len(plain) > MOST_BYTES:
        raise ValueError("it is larger than 1 GiB when unpacked")
    return plain


def _checked(document: Any, path: Path) -> FlentFile:
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        raise _broken(path, "it has no `metadata`")
    version = document.get("version", 1)
    if not isinstance(version, int) or version > VERSION:
        raise _broken(path, f"its version is {version!r}, and only 1 to {VERSION} are known")
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
    """The samples of the series' metadata, else the points of the grid. Their times are those of the grid from 0."""
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
    """As version 4 has them."""
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
