"""The figures that a program prints of itself or writes into a file: iperf3's JSON (`-J`), what `curl -w '%{json}'`
writes, the data file of Flent, an object of numbers; netperf, h2load and dnsperf as they are (`own_texts.py`).

They stand beside those of the device; a text of another form has none.
"""

import gzip
import io
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from statistics import fmean
from typing import Any

from tailback.backends.linux import own_texts

LARGEST = 16_000_000
"""Bytes of an output that is read."""

GZIP = b"\x1f\x8b"


def figures_of(files: Mapping[str, bytes]) -> dict[str, float]:
    """The figures of the first file that has some, given what a program printed and then what it wrote."""
    return next(filter(None, map(figures, files.values())), {})


def figures(content: bytes) -> dict[str, float]:
    """The figures of an output, by name with their units; empty if it has none that is known."""
    plain = _unpacked(content)
    if plain is None:
        return {}
    text = plain.decode("utf-8", errors="replace").strip()
    tried = (_tried(read, document) for document in _documents(text) for read in READERS)
    found = next(filter(None, tried), None) or own_texts.figures(text)
    return {name: round(value, 6) for name, value in found.items() if math.isfinite(value)}


def _unpacked(content: bytes) -> bytes | None:
    """The content, unpacked if it is packed; `None` if it is too large or damaged."""
    if content.startswith(GZIP):
        try:
            content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(LARGEST + 1)
        except (OSError, EOFError, zlib.error):
            return None
    return content if len(content) <= LARGEST else None


def _documents(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON object that an output is, or that its last line is."""
    for part in (text, text[text.rfind("\n") + 1 :]):
        try:
            found = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, Mapping):
            yield found


def _tried(read: Callable[[Mapping[str, Any]], dict[str, float]], document: Mapping[str, Any]) -> dict[str, float]:
    try:
        return read(document)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return {}


def _iperf3(document: Mapping[str, Any]) -> dict[str, float]:
    """The sums at the end of a test. [iperf3(1) --json]"""
    end = document["end"]
    if "sum_received" not in end and "sum" not in end:
        return {}
    received = end.get("sum_received") or end["sum"]
    found = {"goodput_mbps": received["bits_per_second"] / 1e6, "bytes": float(received["bytes"])}
    sent = end.get("sum_sent", {})
    if "retransmits" in sent:
        found["retransmits"] = float(sent["retransmits"])
    rtts = [each["sender"]["mean_rtt"] for each in end.get("streams", []) if "mean_rtt" in each.get("sender", {})]
    if any(rtts):
        found["rtt_ms"] = sum(rtts) / len(rtts) / 1000
    if "lost_percent" in received:
        found |= {"lost_percent": float(received["lost_percent"]), "jitter_ms": float(received["jitter_ms"])}
    return found


def _curl(document: Mapping[str, Any]) -> dict[str, float]:
    """The times of a transfer. [curl(1) --write-out]"""
    total_s = document["time_total"]
    found = {"total_ms": total_s * 1000, "first_byte_ms": document["time_starttransfer"] * 1000}
    found |= {"bytes": float(document["size_download"]), "status": float(document["http_code"])}
    if total_s > 0:
        found["goodput_mbps"] = document["size_download"] * 8 / total_s / 1e6
    return found


FLENT = {
    "up_mbps": ("TCP upload sum", "TCP upload"),
    "down_mbps": ("TCP download sum", "TCP download"),
    "ping_mean_ms": ("Ping (ms) ICMP", "Ping"),
}
"""The series of Flent's tests that are read: the first that a file has."""


def _flent(document: Mapping[str, Any]) -> dict[str, float]:
    """The means of a data file, which Flent takes from its programs; without them, those over the grid.
    [flent flent/resultset.py]
    """
    means = document["metadata"].get("SERIES_META", {})
    results = document["results"] if "NAME" in document["metadata"] else {}
    found = {}
    for name, series in FLENT.items():
        there = next((each for each in series if _numbers(results.get(each, ()))), None)
        if there is not None:
            mean = means.get(there, {}).get("MEAN_VALUE")
            found[name] = fmean(_numbers(results[there])) if mean is None else float(mean)
    return found


def _numbers(values: Any) -> list[float]:
    return [float(value) for value in values if value is not None]


MOST_OWN = 50
"""Figures of a program that prints them in our form."""


def _own(document: Mapping[str, Any]) -> dict[str, float]:
    """An object of numbers only: how a program of the user reports what it likes."""
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in document.values())
    return (
        {str(name): float(value) for name, value in document.items()}
        if are_numbers and len(document) <= MOST_OWN
        else {}
    )


READERS: tuple[Callable[[Mapping[str, Any]], dict[str, float]], ...] = (_iperf3, _curl, _flent, _own)
