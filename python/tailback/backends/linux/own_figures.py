"""The figures that a program prints of itself: iperf3's JSON (`-J`), and what `curl -w '%{json}'` writes.

They stand beside those of the device; a text of another form has none.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

LARGEST = 16_000_000
"""Bytes of an output that is read."""


def figures(content: bytes) -> dict[str, float]:
    """The figures of an output, by name with their units; empty if it has none that is known."""
    if len(content) > LARGEST:
        return {}
    for document in _documents(content):
        for read in READERS:
            try:
                found = read(document)
            except (KeyError, TypeError, ValueError, IndexError):
                continue
            if found:
                return found
    return {}


def _documents(content: bytes) -> Iterator[Mapping[str, Any]]:
    """The JSON object that an output is, or that its last line is."""
    text = content.decode("utf-8", errors="replace").strip()
    for part in (text, text[text.rfind("\n") + 1 :]):
        try:
            found = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, Mapping):
            yield found


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
    return {name: round(value, 6) for name, value in found.items()}


def _curl(document: Mapping[str, Any]) -> dict[str, float]:
    """The times of a transfer. [curl(1) --write-out]"""
    total_s = document["time_total"]
    found = {"total_ms": total_s * 1000, "first_byte_ms": document["time_starttransfer"] * 1000}
    found |= {"bytes": float(document["size_download"]), "status": float(document["http_code"])}
    if total_s > 0:
        found["goodput_mbps"] = document["size_download"] * 8 / total_s / 1e6
    return {name: round(value, 6) for name, value in found.items()}


READERS: tuple[Callable[[Mapping[str, Any]], dict[str, float]], ...] = (_iperf3, _curl)
