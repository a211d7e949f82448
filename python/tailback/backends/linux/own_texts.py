"""The figures in text that programs print for people: netperf, h2load, dnsperf."""

import re
from collections.abc import Mapping
from re import Pattern

NUMBER = r"([0-9.]+)"
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0}
MBPS = {"10^0bits/s": 1e-6, "10^3bits/s": 1e-3, "10^6bits/s": 1.0, "10^9bits/s": 1e3}
MEBI = {"B": 1.0, "KB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30}


def figures(text: str) -> dict[str, float]:
    """The figures of a text; empty if it is of none of these programs."""
    for read in (_netperf_keys, _netperf, _h2load, _dnsperf):
        try:
            found = read(text)
        except (ValueError, KeyError, IndexError):
            continue
        if found:
            return found
    return {}


def _netperf_keys(text: str) -> dict[str, float]:
    """`netperf ... -- -k THROUGHPUT,...`: a line for each. [netperf omni output selection]"""
    keys = dict(re.findall(r"^([A-Z0-9_]+)=(.*)$", text, re.MULTILINE))
    if "THROUGHPUT" not in keys:
        return {}
    rate, unit = float(keys["THROUGHPUT"]), keys.get("THROUGHPUT_UNITS", "10^6bits/s")
    found = {"transactions_per_s": rate} if unit == "Trans/s" else {"goodput_mbps": rate * MBPS[unit]}
    for name, key in (("mean_ms", "MEAN_LATENCY"), ("p50_ms", "P50_LATENCY"), ("p99_ms", "P99_LATENCY")):
        if key in keys:
            found[name] = float(keys[key]) / 1000
    return found


def _netperf(text: str) -> dict[str, float]:
    """The table of a `TCP_STREAM` test, or of a request/response test, whose last number is the result."""
    rows = [line.split() for line in text.splitlines() if re.fullmatch(r"[\d. ]+", line.strip())]
    if "Throughput" in text and "10^6bits/sec" in text:
        return {"goodput_mbps": float(rows[-1][-1])}
    wide = [row for row in rows if len(row) >= len(("socket", "socket", "request", "response", "time", "rate"))]
    return {"transactions_per_s": float(wide[-1][-1])} if "Trans." in text and "per sec" in text else {}


def _h2load(text: str) -> dict[str, float]:
    """The summary at its end. [h2load(1)]"""
    done = re.search(rf"^finished in .*?, {NUMBER} req/s, {NUMBER}(GB|MB|KB|B)/s", text, re.MULTILINE)
    if done is None:
        return {}
    found = {"requests_per_s": float(done[1]), "goodput_mbps": float(done[2]) * MEBI[done[3]] * 8 / 1e6}
    found |= _numbers(text, {"requests": r"^requests: (\d+) total", "succeeded": r"(\d+) succeeded"})
    times = re.search(rf"^time for request: +\S+ +\S+ +{NUMBER}(us|ms|s)", text, re.MULTILINE)
    return found | ({"mean_ms": float(times[1]) * SECONDS[times[2]] * 1000} if times else {})


def _dnsperf(text: str) -> dict[str, float]:
    """The statistics at its end. [dnsperf(1)]"""
    found = _numbers(text, {"queries_per_s": rf"Queries per second: +{NUMBER}", "lost": r"Queries lost: +(\d+)"})
    latency = re.search(rf"Average Latency \(s\): +{NUMBER} \(min {NUMBER}, max {NUMBER}\)", text)
    if latency:
        found |= {name: float(latency[place]) * 1000 for place, name in enumerate(("mean_ms", "min_ms", "max_ms"), 1)}
    return found if "Queries per second" in text else {}


def _numbers(text: str, patterns: Mapping[str, str | Pattern[str]]) -> dict[str, float]:
    found = {name: re.search(pattern, text, re.MULTILINE) for name, pattern in patterns.items()}
    return {name: float(match[1]) for name, match in found.items() if match}
