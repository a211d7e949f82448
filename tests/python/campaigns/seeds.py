"""Small valid files as seeds for every reader: files of the repository, and files that are generated when needed.

Inputs that a campaign has found are stored in `tests/data/finds/TARGET` and are seeds from then on.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import tailback
from tailback import formats
from tailback.resolved import to_json

REPOSITORY = Path(__file__).parents[3]
FINDS = REPOSITORY / "tests" / "data" / "finds"
LARGEST = 4096
"""Of a file taken as a seed: mutations of larger ones rarely meet what matters."""

TINY = """\
title: tiny
links: [{ends: [a, b], rate: 10mbit, delay: 1ms}]
qdiscs: {a -> b: fq_codel}
traffic: [{tcp: a -> b, name: up}, {ping: a -> b, interval: 100ms}]
duration: 300ms
measure: {warmup: 0s, pcap: [a]}
vary: {cc: [reno, cubic]}
"""


def of_repository(*patterns: str) -> list[bytes]:
    """The small files that match, without those that name other files."""
    files = sorted(file for pattern in patterns for file in REPOSITORY.glob(pattern))
    contents = [file.read_bytes() for file in files if file.is_file() and file.stat().st_size <= LARGEST]
    return [content for content in contents if b"traces/" not in content]


def experiments(*patterns: str) -> list[bytes]:
    """The experiments of the repository with the first two values of each axis, because the grid multiplies the cost of
    an input.
    """
    found = []
    for content in of_repository(*patterns):
        text = re.sub(r"^repeat: .*$", "repeat: 2", content.decode(), flags=re.MULTILINE)
        before, vary, axes = text.partition("\nvary:")
        plain = re.sub(r"^#.*\n", "", before, flags=re.MULTILINE)
        found.append(f"{plain}{vary}{_MORE_THAN_TWO.sub(_first_two, axes)}".encode())
    return found


_MORE_THAN_TWO = re.compile(r"\[([^,\[\]]+), ([^,\[\]]+), [^\[\]]+\]")


def _first_two(axis: re.Match[str]) -> str:
    return f"[{axis[1]}, {axis[2]}]"


TEACUP = b"""\
TPCONF_router = ['r']
TPCONF_hosts = ['a', 'b']
TPCONF_host_internal_ip = {'r': ['10.0.1.1', '10.0.2.1'], 'a': ['10.0.1.2'], 'b': ['10.0.2.2']}
TPCONF_host_os = {'a': 'FreeBSD'}
TPCONF_router_queues = [('1', " dest='10.0.2.0/24', delay=V_delay, rate='1mbit', queue_size='bdp' ")]
TPCONF_traffic_gens = [
    ('0.0', '1', " start_iperf, client='a', server='b', duration=V_duration "),
    ('1', '2', " start_ping, client='a', dest='b', rate=2 "),
]
TPCONF_ECN = ['0', '1']
TPCONF_parameter_list = {'delays': (['V_delay'], ['d'], range(1, 3), {}), 'ecn': (['V_ecn'], ['e'], TPCONF_ECN, {})}
TPCONF_vary_parameters = ['delays', 'ecn', 'runs']
"""


def finds(target: str) -> list[bytes]:
    """Inputs that once broke the target."""
    return [file.read_bytes() for file in sorted((FINDS / target).glob("*"))]


@functools.cache
def results() -> Mapping[str, bytes]:
    """Every file of a folder of results of two runs, by its path in the folder."""
    with _ran() as folder:
        files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
        return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def captures() -> list[bytes]:
    """The beginning of a capture of a run, plain and gzipped, and the smallest file of the other format."""
    found = _blocks(next(content for name, content in results().items() if name.endswith(".pcapng")))
    header = b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(8) + b"\x00\x00\x04\x00\x01\x00\x00\x00"
    packet = bytes(12) + b"\x08\x00" + _PING
    record = bytes(8) + len(packet).to_bytes(4, "little") * 2
    return [found, gzip.compress(found, mtime=0), header + 2 * (record + packet)]


def _blocks(capture: bytes) -> bytes:
    """The first whole blocks of a pcapng file."""
    end = 0
    while (length := int.from_bytes(capture[end + 4 : end + 8], "little")) and end + length <= LARGEST:
        end += length
    return capture[:end]


_PING = bytes.fromhex("4500001c000000004001f7e20a0000010a000002") + bytes.fromhex("0800f7ff00000000")


@functools.cache
def flent() -> list[bytes]:
    """Data files of a run as we write them, one of them uncompressed, and an old one."""
    with _ran() as folder, tempfile.TemporaryDirectory() as written:
        files = formats.export_flent(tailback.open(folder), Path(written))
        packed = files[0].read_bytes()
    return [packed, gzip.decompress(packed), _OLD]


_OLD = (
    b'{"version": 1, "x_values": [0.0, 0.2, 0.4], "results": {"TCP upload": [1.0, 2.0, null], "Ping (ms) ICMP": '
    b'[5.0, 6.0, 7.0]}, "metadata": {"TITLE": "t", "LENGTH": 10, "STEP_SIZE": 0.2, "SERIES_META": {"TCP upload": '
    b'{"RAW_VALUES": [{"t": 1.5, "val": 3.0}, {"t": 1.7, "val": 3.5}]}}, "T0": "2024-01-01T00:00:00.000000Z"}}'
)


@functools.cache
def runs() -> list[bytes]:
    """Resolved scenarios, as the simulator reads them."""
    experiments = [
        REPOSITORY / "experiments" / name for name in ("demo.yaml", "wifi-hidden.yaml", "changing-path.yaml")
    ]
    return [json.dumps(to_json(tailback.load(file).runs()[0].scenario)).encode() for file in experiments]


@contextlib.contextmanager
def _ran() -> Iterator[Path]:
    """The results of the tiny experiment, in a temporary folder."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "tiny.yaml"
        file.write_text(TINY)
        tailback.run(file, out=Path(place) / "out", jobs=1)
        yield Path(place) / "out"


def testbeds() -> list[bytes]:
    """The example file of the documentation, and a smaller one."""
    text = (REPOSITORY / "docs" / "testbed.md").read_text()
    shown = text.split("```yaml\n")[1].split("```")[0]
    return lines(shown, "hosts: {a: {address: h, interfaces: {b: eth0}}, b: switch}")


def lines(*texts: str) -> list[bytes]:
    """Texts as seeds."""
    return [text.encode() for text in texts]


def words_of(contents: Iterable[bytes]) -> list[bytes]:
    """The words of texts, for mutations to insert elsewhere."""
    return sorted({word for content in contents for word in _words(content)})


def _words(content: bytes) -> Iterator[bytes]:
    for line in content.splitlines():
        yield from (word for word in line.replace(b":", b": ").split() if 1 < len(word) <= 24)
