"""The figures that programs print or write: of the forms that are known, and none of others."""

import gzip
import json
from typing import Any

import pytest

from tailback.backends.linux.own_figures import LARGEST, figures, figures_of

IPERF3 = {"end": {"sum_received": {"bits_per_second": 9.5e6, "bytes": 1000}, "sum_sent": {"retransmits": 3}}}
CURL = {"time_total": 2.0, "time_starttransfer": 0.5, "size_download": 1_000_000, "http_code": 200}
FLENT = {
    "metadata": {"NAME": "rrul"},
    "results": {
        "TCP upload sum": [None, 8.0, 10.0],
        "TCP download sum": [40.0, 42.0, None],
        "Ping (ms) ICMP": [20.0, 30.0, 90.0],
    },
}
MEANS = {**FLENT, "metadata": {"NAME": "rrul", "SERIES_META": {"TCP upload sum": {"MEAN_VALUE": 8.5}}}}
NETPERF = """\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to server () port 0 AF_INET
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    10.00      94.12
"""
NETPERF_RR = """\
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  131072 1        1       10.00    97.71
16384  131072
"""
KEYS = "THROUGHPUT=0.94\nTHROUGHPUT_UNITS=10^9bits/s\nP99_LATENCY=1500\nELAPSED_TIME=10.00\n"
TRANSACTIONS = "THROUGHPUT=97.5\nTHROUGHPUT_UNITS=Trans/s\n"
H2LOAD = """\
finished in 4.27s, 4.68 req/s, 2.23MB/s
requests: 20 total, 20 started, 20 done, 19 succeeded, 1 failed, 1 errored, 0 timeout
                     min         max         mean         sd        +/- sd
time for request:   779.73ms    919.12ms    844.22ms     33.73ms    70.00%
"""
DNSPERF = """\
  Queries lost:         2 (0.20%)
  Queries per second:   199.690599

  Average Latency (s):  0.011384 (min 0.010075, max 0.013186)
"""


def packed(document: Any) -> bytes:
    return gzip.compress(json.dumps(document).encode())


KNOWN: dict[str, tuple[bytes, dict[str, float]]] = {
    "iperf3": (json.dumps(IPERF3).encode(), {"goodput_mbps": 9.5, "bytes": 1000.0, "retransmits": 3.0}),
    "curl": (
        b"a page\n" + json.dumps(CURL).encode() + b"\n",
        {"total_ms": 2000.0, "first_byte_ms": 500.0, "bytes": 1e6, "status": 200.0, "goodput_mbps": 4.0},
    ),
    "Flent": (packed(MEANS), {"up_mbps": 8.5, "down_mbps": 41.0, "ping_mean_ms": 140 / 3}),
    "Flent, not packed": (json.dumps(FLENT).encode(), {"up_mbps": 9.0, "down_mbps": 41.0, "ping_mean_ms": 140 / 3}),
    "one's own": (b'typed\n{"typing_ms": 12, "lost": 0.5}\n', {"typing_ms": 12.0, "lost": 0.5}),
    "netperf": (NETPERF.encode(), {"goodput_mbps": 94.12}),
    "netperf, requests": (NETPERF_RR.encode(), {"transactions_per_s": 97.71}),
    "netperf, keys": (KEYS.encode(), {"goodput_mbps": 940.0, "p99_ms": 1.5}),
    "netperf, keys of requests": (TRANSACTIONS.encode(), {"transactions_per_s": 97.5}),
    "h2load": (
        H2LOAD.encode(),
        {"requests_per_s": 4.68, "goodput_mbps": 18.706596, "requests": 20.0, "succeeded": 19.0, "mean_ms": 844.22},
    ),
    "dnsperf": (
        DNSPERF.encode(),
        {"queries_per_s": 199.690599, "lost": 2.0, "mean_ms": 11.384, "min_ms": 10.075, "max_ms": 13.186},
    ),
}


@pytest.mark.parametrize("program", KNOWN)
def test_what_a_program_reports_is_read(program: str) -> None:
    content, found = KNOWN[program]
    assert figures(content) == pytest.approx(found)


NONE = [
    b"", b"hello", b"[1, 2]", b"{", b'{"end": {"sum_received": {}}}', b"THROUGHPUT=fast",
    b"finished in 4.27s, many req/s", b"Throughput 10^6bits/sec\n", b'{"metadata": {"NAME": "rrul"}, "results": 1}',
    b'{"metadata": {"NAME": 1}, "results": {"TCP upload": ["x"]}}', gzip.compress(b"{}", mtime=0)[:-9],
    b"\x1f\x8bnothing", b"THROUGHPUT=1e400\n", b'{"a": 1, "b": "c"}', b'{"a": true}', b"{}",
]  # fmt: skip


@pytest.mark.parametrize("content", NONE)
def test_text_of_another_form_has_no_figures(content: bytes) -> None:
    assert figures(content) == {}


def test_a_small_file_that_unpacks_to_a_large_one_is_not_read() -> None:
    document = json.dumps(CURL).encode()
    assert figures(gzip.compress(document + b" " * (LARGEST - len(document))))
    assert figures(gzip.compress(document + b" " * LARGEST)) == {}


def test_the_first_of_what_a_program_printed_and_wrote_counts() -> None:
    files = {"flent.stdout": b"starting", "flent.stderr": b"", "flent.rrul.flent.gz": packed(FLENT)}
    assert figures_of(files)["down_mbps"] == 41.0
    assert figures_of({**files, "flent.stdout": json.dumps(CURL).encode()})["status"] == 200.0
