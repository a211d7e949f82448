"""Every reader of foreign input: how it is called, which errors it may raise, and seeds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

import tailback
from campaigns import seeds
from tailback import _core, drill, fitting, formats, scenario, testbed
from tailback.analysis.bounds import WrongBound, bounds
from tailback.backends import Unsuitable
from tailback.drill.code import CodeFailed, CodeUnsupported, Evaluation
from tailback.formats import teacup
from tailback.formats.teacup import evaluate
from tailback.results import NotComparable, NotResults, open_results, pair
from tailback.scenario import tsq, words
from tailback.scenario.errors import ScenarioError
from tailback.scenario.repeat import repeat
from tailback.scenario.sysctl import SYSCTLS, sysctl
from tailback.scenario.traces import parse
from tailback.tc import units
from tailback.tc.errors import WordError

Refusals = tuple[type[Exception], ...]


@dataclass(frozen=True)
class Target:
    """A reader."""

    name: str
    read: Callable[[bytes, Path], object]
    """Reads an input; the folder is empty before and may be written to."""
    refusals: Refusals
    """The errors with which the target may refuse an input."""
    begin: Callable[[], Sequence[bytes]]
    """Inputs to make others of."""
    short: int
    """Inputs of the short run in `make test`; all targets together take some seconds."""
    words: Sequence[bytes] = ()
    """What belongs to its language, beside the words of the seeds."""

    def seeds(self) -> list[bytes]:
        """The seeds, including inputs that once broke it."""
        return [*self.begin(), *seeds.finds(self.name)]

    def dictionary(self) -> list[bytes]:
        """Words that mutations insert."""
        return [*self.words, *seeds.words_of(self.begin())]


@functools.cache
def _registry() -> scenario.CoreRegistry:
    return scenario.CoreRegistry()


def _file(folder: Path, name: str, content: bytes) -> Path:
    file = folder / name
    file.write_bytes(content)
    return file


def _text(content: bytes) -> str:
    """For readers of words, whose input has already been decoded."""
    return content.decode("utf-8", "replace")


# -- experiments and their words


def _experiment(content: bytes, folder: Path) -> object:
    return fitting.check(scenario.load(_file(folder, "x.yaml", content)))


BASE = """\
links: [{ends: [a, b], rate: 10mbit, delay: 1ms}]
traffic: [{tcp: a -> b, name: up}]
duration: 1s
vary: {cc: [reno, cubic]}
"""


def _setting(content: bytes, _folder: Path) -> object:
    return len(scenario.loads(BASE, _text(content).split("\n"), _registry()).runs())


def _discipline(content: bytes, _folder: Path) -> object:
    return words.discipline(_text(content), _registry().qdiscs)


def _algorithm(content: bytes, _folder: Path) -> object:
    kind, _, rest = _text(content).partition(" ")
    if kind == "driver":
        return words.driver(rest, _registry().drivers)
    return words.control(rest, _registry().congestion_controls)


WORD_READERS: Mapping[str, Callable[[object], object]] = {
    "rate": units.rate,
    "size": units.size,
    "time": units.time,
    "span": units.span,
    "packets": units.packets,
    "tsq": tsq.small_queue,
    "repeat": repeat,
    "dscp": words.code_point,
    **{row.name: functools.partial(sysctl, row.name) for row in SYSCTLS},
}


def _word(content: bytes, _folder: Path) -> object:
    """The first word selects the reader, by its length if it is not one of them."""
    kind, _, word = _text(content).partition(" ")
    read = WORD_READERS.get(kind) or list(WORD_READERS.values())[len(kind) % len(WORD_READERS)]
    return read(int(word) if word.isdecimal() and len(word) < 20 else word)


def _trace(content: bytes, folder: Path) -> object:
    # By the key, because opening it is part of reading it.
    _file(folder, "x.trace", content)
    text = "{links: [{ends: [a, b], trace: x.trace}], traffic: [{ping: a -> b}], duration: 1s}"
    return scenario.load(_file(folder, "x.yaml", text.encode()))


def _stamps(content: bytes, _folder: Path) -> object:
    return parse(content, "x.trace")


def _bound(content: bytes, _folder: Path) -> object:
    return bounds(_text(content))


# -- other people's files


def _testbed(content: bytes, folder: Path) -> object:
    found = testbed.load(_file(folder, "t.yaml", content))
    return found.machines, found.document()


def _flent(content: bytes, folder: Path) -> object:
    return _imported("flent", _file(folder, "x.flent.gz", content), folder)


def _qlog(content: bytes, folder: Path) -> object:
    return _imported("qlog", _file(folder, "x.qlog", content), folder)


def _capture(content: bytes, folder: Path) -> object:
    return _imported("pcap", _file(folder, "x.pcap", content), folder)


def _imported(kind: str, file: Path, folder: Path) -> object:
    formats.import_files(kind, [file], folder / "out", {})
    return tailback.open(folder / "out").summary


def _teacup(content: bytes, folder: Path) -> object:
    return formats.import_teacup(_file(folder, "config.py", content), folder / "out")


def _configuration(content: bytes, _folder: Path) -> object:
    """Converts a configuration without writing its files, which takes most of the time."""
    return teacup.convert(content.decode("utf-8", "replace"))


def _teacups() -> Sequence[bytes]:
    return [seeds.TEACUP, *seeds.of_repository("tests/data/teacup/*.py")]


def _expression(content: bytes, _folder: Path) -> object:
    return evaluate.expression(_text(content), {"V_x": "1", "V_list": [1, "a"]})


def _packetdrill(content: bytes, folder: Path) -> object:
    return str(drill.run_file(_file(folder, "x.pkt", content), drill.Settings()))


def _code(content: bytes, _folder: Path) -> object:
    evaluation = Evaluation()
    evaluation.run(_text(content), 1, {"tcpi_snd_cwnd": 10, "tcpi_rtt": 100_000})
    return evaluation.printed


def _resolved(content: bytes, _folder: Path) -> None:
    _core.check(_text(content))


# -- results


def _results(content: bytes, folder: Path) -> object:
    """A results folder in which one file is replaced: the first byte selects it, the rest is its content."""
    whole = seeds.results()
    number, damaged = (content[0], content[1:]) if content else (0, b"")
    names = [name for name in whole if not name.endswith(".pcapng")]
    for name, intact in whole.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(damaged if name == names[number % len(names)] else intact)
    # `tailback.open` also warns of runs that are left out.
    return _looked_at(open_results(folder))


def _looked_at(found: tailback.Results) -> object:
    frames: list[pd.DataFrame] = [found.summary, tailback.tabulate(found)]
    for name in ("flows", "ping", "tcp_info", "qdisc", "events"):
        frames.append(found.table(name))
    pair(found, found)
    return frames, [(run.labels, run.seed, run.scenario, run.window_ns, run.qdiscs) for run in found.runs]


def _damaged() -> list[bytes]:
    names = [name for name in seeds.results() if not name.endswith(".pcapng")]
    return [bytes([number]) + seeds.results()[name] for number, name in enumerate(names)]


EXPERIMENTS = (
    *(f"experiments/{name}.yaml" for name in ("demo", "changing-path", "wifi-*", "rfc7928/ecn", "rfc7928/two-aqms")),
)

DISCIPLINES = seeds.lines(
    "fq_codel limit 180 target 5ms ecn",
    "htb rate 100mbit burst 1600 | fq_codel limit 180",
    "cake bandwidth 10mbit diffserv4 triple-isolate rtt 50ms overhead 38 mpu 64",
    "netem delay 10ms 2ms 25% loss gemodel 1% 25% rate 10mbit 14 slot 1ms 2ms",
    "prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 | pfifo limit 10",
    "fq flow_limit 100 quantum 3028 pacing bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 weights 589824 196608 65536",
    "htb default 2; class 1 rate 10mbit | pfifo; class 2 rate 5mbit ceil 10mbit | codel; filter flow up flowid 1",
    "red limit 400kb min 30kb max 90kb avpkt 1000 burst 55 ecn probability 0.02",
    "tbf rate 10mbit burst 5kb latency 50ms linklayer atm",
    "dualpi2 limit 1000p target 15ms tupdate 16ms alpha 0.16 beta 3.2",
    "sfq quantum 1514 perturb 10 limit 127 depth 127 divisor 1024",
    "fq_pie limit 10240p flows 1024 target 15ms alpha 2 beta 20",
)

WORDS = seeds.lines(
    "rate 100mbit", "rate 1.5gibps", "size 64kb", "size 1600b", "time 250us", "span 30s", "packets 180p", "tsq 1ms",
    "tsq off", "tsq 100p", "repeat 5", "repeat until ci95 < 3%", "dscp EF", "dscp 46",
    "net.ipv4.tcp_wmem 4096 16384 4194304", "net.ipv4.tcp_ecn 1",
)  # fmt: skip

CODE = seeds.lines(
    "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
    "cwnd = 9; cwnd += 1; assert tcpi_snd_cwnd == cwnd, 'cwnd=%d' % tcpi_snd_cwnd",
    "for step in range(3):\n  assert step < tcpi_snd_cwnd, f'{step}'\n  print('x' * 3)",
    "a, b = 1, [2]\nif (a, b) == (1, [2]) and max(a, b[0]) == 2 and b[0] == 2: a = round(7 / 2, 1)",
    "i = 0\nwhile i < 3:\n  i += 1 << 2 ** 3 // 5 % 7\nassert i, str(i) + repr([i, (i,)])",
)

EXPRESSIONS = seeds.lines(
    "[['10', '20'], range(3), map(str, [1, 2])]",
    "'tc %s %d' % ('a', 4) + ','.join(['a', 'b']) * 3",
    "{'a': ('x', 1.5), 'b': [V_x, V_list[1], -3, len('abc'), int('7') / 2]}",
)

SETTINGS = seeds.lines(
    "cc=bbr", "duration=2s\nrepeat=3", "vary.tsq=[1ms, 4ms, off]", "links[0].rate=1gbit", "traffic[0].stop=500ms",
    "vary.cc={a: cubic, b: reno}",
)  # fmt: skip

BOUNDS = seeds.lines("ping p99 < 10ms and goodput up > 50mbit and jain > 90%", "tcp_rtt_up_ms.p90 < 3ms and drops < 5")

QLOGS = [
    b'{"qlog_version": "0.3", "traces": [{"vantage_point": {"type": "client"}, "events": [{"time": 5, "name": '
    b'"transport:packet_sent", "data": {"raw": {"length": 1252}}}, {"time": 45.5, "name": "recovery:metrics_updated", '
    b'"data": {"congestion_window": 14520, "smoothed_rtt": 40.5, "pacing_rate": 3000000}}]}]}',
    b'\x1e{"qlog_version": "0.3", "trace": {"common_fields": {"time_format": "delta"}}}\n'
    b'\x1e{"time": 3, "name": "quic:packet_received", "data": {"header": {"packet_size": 60}}}\n'
    b'\x1e{"time": 4, "name": "quic:packet_lost", "data": {}}\n',
]


TARGETS: tuple[Target, ...] = (
    Target("word", _word, (WordError,), lambda: WORDS, 1000),
    Target("discipline", _discipline, (WordError,), lambda: DISCIPLINES, 500),
    Target(
        "algorithm", _algorithm, (WordError,),
        lambda: seeds.lines("cc cubic nohystart beta 700", "cc bbr ack_aggregation", "driver ath9k slots 2"), 500,
    ),
    Target("bound", _bound, (WrongBound,), lambda: BOUNDS, 500),
    Target("setting", _setting, (ScenarioError, Unsuitable), lambda: SETTINGS, 100),
    Target("experiment", _experiment, (ScenarioError, Unsuitable), lambda: seeds.experiments(*EXPERIMENTS), 20),
    Target("trace", _trace, (ScenarioError,), lambda: seeds.lines("0\n5\n5\n1000\n", "1\r\n2\r\n"), 100),
    Target("stamps", _stamps, (WordError,), lambda: seeds.lines("0\n5\n5\n1000\n", "1\r\n2\r\n"), 500),
    Target("testbed", _testbed, (ScenarioError,), seeds.testbeds, 60),
    Target("flent", _flent, (formats.NotReadable,), seeds.flent, 40),
    Target("qlog", _qlog, (formats.NotReadable,), lambda: QLOGS, 60),
    Target("capture", _capture, (formats.NotReadable,), seeds.captures, 40),
    Target("teacup", _teacup, (formats.NotReadable,), _teacups, 10),
    Target("configuration", _configuration, (formats.NotReadable,), _teacups, 40),
    Target("expression", _expression, (evaluate.NotEvaluated,), lambda: EXPRESSIONS, 500),
    Target("packetdrill", _packetdrill, (drill.WrongDrill,), lambda: seeds.of_repository("conformance/drill/*"), 200),
    Target("code", _code, (CodeFailed, CodeUnsupported), lambda: CODE, 300),
    Target("results", _results, (NotResults, NotComparable), _damaged, 40),
    Target("resolved", _resolved, (ValueError,), seeds.runs, 100),
)  # fmt: skip


def target(name: str) -> Target:
    """The target of that name."""
    return next(each for each in TARGETS if each.name == name)
