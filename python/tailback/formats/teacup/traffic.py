"""The generators of TPCONF_traffic_gens: which of ours stands for each, and what became of each argument.

All generators start 5 s after the run, and the run ends 5 s after the last one, as with TEACUP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tailback.formats.errors import NotReadable
from tailback.formats.teacup import iperf
from tailback.formats.teacup.evaluate import NotEvaluated, arguments
from tailback.formats.teacup.network import Hosts, misprint, variable
from tailback.formats.teacup.notes import Effect
from tailback.formats.teacup.queues import Conversation
from tailback.formats.teacup.reading import Reading, plain_name
from tailback.formats.teacup.systems import control
from tailback.limits.arithmetic import Value

LEAD_S = 5
LATEST_S = 1e6
SHORTEST_S = 1e-6

Entry = dict[str, Any]

WORKINGS = {
    "port": "Tailback chooses its ports",
    "serv_port": "Tailback chooses its ports",
    "server_port_start": "Tailback chooses its ports",
    "check": "there is no program to look for",
    "wait": "TEACUP's own work",
    "kill": "a flow ends at its `stop`",
    "local_dir": "TEACUP's own work",
    "remote_dir": "TEACUP's own work",
    "file_prefix": "TEACUP's own work",
    "counter": "TEACUP's own work",
    "docroot": "the answers have no files",
    "config_dir": "the answers have no files",
    "config_in": "the answers have no files",
    "sizes": "an answer has the size that the client asks for",
    "browser": "the player is Tailback's",
    "player_path": "the player is Tailback's",
}
"""Arguments that change no result here, and why."""

SERVERS = {
    "start_http_server": "a server needs no set-up here",
    "start_nginx_server": "a server needs no set-up here",
    "create_http_dash_content": "answers need no content",
    "create_http_incast_content": "answers need no content",
    "start_bc_ping": "it synchronises TEACUP's clocks, on the control network",
}
"""Tasks without traffic of their own on the test network."""

NO_COUNTERPART = {
    "start_fps_game": "sizes of its packets are drawn from recorded games; nearest: {game: A -> B, tick: 20/s}",
    "start_custom_traffic": "it runs a program of yours",
    "start_httperf": "its requests are in a file of httperf; nearest: {request: A -> B, answer: 50kb}",
}

Told = dict[tuple[str, str, Effect], list[str]]
"""The numbers of the generators of which something is told, by task, what, and effect."""

Start = Callable[["Generator"], Iterator[Entry]]


@dataclass
class Generator:
    """One entry of the list while it is converted; what nobody takes of its arguments is noted."""

    reading: Reading
    hosts: Hosts
    task: str
    number: str
    begin: float
    given: Mapping[str, Any]
    told: Told
    taken: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The name of its traffic."""
        return f"{self.task.removeprefix('start_')}-{''.join(filter(str.isalnum, self.number))[:20]}".replace("_", "-")

    def tree(self, name: str) -> Any:
        """An argument as an expression; None if it is not given."""
        self.taken.add(name)
        return self.given.get(name)

    def value(self, name: str) -> Value:
        """An argument with the first value of each axis; None without one."""
        tree = self.tree(name)
        if tree is not None and self.reading.varies(tree):
            self.note(f"`{name}` depends on an axis: it has the first value", Effect.CHANGED)
        return self.reading.constant(tree)

    def word(self, name: str, shown: Callable[[Any], object]) -> str | None:
        """An argument as our word, which may vary."""
        tree = self.tree(name)
        if tree is None:
            return None
        return self.reading.word(plain_name(f"{self.name}_{name}"), tree, shown)

    def host(self, *names: str) -> str:
        """The host that an argument names; raises `LeftOut`."""
        tree = next((found for name in names if (found := self.tree(name)) is not None), None)
        return self.host_named(str(self.reading.constant(tree)) if tree is not None else "")

    def host_named(self, word: str) -> str:
        """Our host by its name or address."""
        found = self.hosts.of_address(word)
        if found is None:
            raise LeftOut(misprint(self.reading, word) if word else "it does not say between which hosts")
        return found

    def times(self) -> Entry:
        """Start and end."""
        found: Entry = {"start": f"{self.begin + LEAD_S:g}s"}
        stop = self.word("duration", lambda value: f"{self.begin + LEAD_S + float(value):g}s")
        return found if stop is None else {**found, "stop": stop}

    def lasts_s(self) -> float:
        """The longest duration of any configuration."""
        tree = self.given.get("duration")
        lengths = [] if tree is None else [float(each) for each in self.reading.every(tree)]
        return min(max(lengths, default=0.0), LATEST_S)

    def control(self, host: str) -> Entry:
        """The congestion control of a sender: its own, else that of all hosts, else that of its system."""
        own = self.hosts.original(host)

        def shown(value: Value) -> str:
            return control(self.reading, own, value)

        tree = self.tree("congestion_algo")
        if tree is not None:
            found = self.reading.word(plain_name(f"cc_{self.name}"), tree, shown)
        elif "V_tcp_cc_algo" in self.reading.firsts:
            found = self.reading.word(plain_name(f"cc_{host}"), variable("V_tcp_cc_algo"), shown)
        else:
            found = shown("default")
        return {"cc": found} if found else {}

    def note(self, what: str, effect: Effect = Effect.LOST) -> None:
        """A note about this generator."""
        self.told.setdefault((self.task[:40], what, effect), []).append(self.number[:20])


class LeftOut(Exception):
    """The generator cannot be imported; the message says why."""


def read_traffic(reading: Reading, hosts: Hosts) -> tuple[list[Entry], int]:
    """The traffic entries, and the end of the run in seconds."""
    flows: list[Entry] = []
    end, left = _duration(reading), []
    told: Told = {}
    for entry in reading.get("TPCONF_traffic_gens", (list, tuple)):
        try:
            generator = _generator(reading, hosts, entry, told)
        except (NotEvaluated, ValueError, TypeError) as reason:
            left.append(f"the traffic `{str(entry)[:60]}` cannot be read ({reason})")
            reading.note("TPCONF_traffic_gens", left[-1])
            continue
        try:
            flows += _converted(generator)
            end = max(end, generator.begin + generator.lasts_s())
        except (LeftOut, ValueError, TypeError, ArithmeticError, NotEvaluated) as reason:
            left.append(f"generator {generator.number[:20]}, `{generator.task[:40]}`: {reason}")
            generator.note(f"left out: {reason}")
    for (task, what, effect), numbers in told.items():
        which = "generator" if len(numbers) == 1 else "generators"
        reading.note("TPCONF_traffic_gens", f"{which} {', '.join(numbers)}, `{task}`: {what}", effect)
    if not flows:
        raise NotReadable(_nothing(reading, left))
    return flows, int(end + 2 * LEAD_S)


def conversations(flows: list[Entry]) -> list[Conversation]:
    """Who talks with whom, by the name of the traffic."""
    found = []
    for entry in flows:
        source, target = str(next(iter(entry.values()))).split(" -> ")
        found.append(Conversation(str(entry["name"]), source, target))
    return found


def _nothing(reading: Reading, left: list[str]) -> str:
    """Why there is no traffic."""
    name = "TPCONF_traffic_gens"
    if name in reading.module.lost:
        line, _ = reading.module.place(name)
        return f"line {line}: {name} is not known: {reading.module.lost[name]}\n  hint: correct that line"
    if left:
        line, file = reading.module.place(name)
        place = f"{file}, line {line}" if file else f"line {line}"
        what = f"{place}: none of its traffic can be imported: {left[0]}"
        return f"{what}\n  hint: correct it, or write that traffic by hand"
    return "it has no traffic that can be imported\n  hint: TPCONF_traffic_gens lists it: start_iperf, start_ping, ..."


def _duration(reading: Reading) -> float:
    """V_duration, the longest if it varies."""
    try:
        lengths = [float(each) for each in reading.every(variable("V_duration"))]
        return min(max(lengths), LATEST_S)
    except (TypeError, ValueError):
        reading.note("TPCONF_duration", "the duration is not a number: 60 s are used")
        return 60.0


def _generator(reading: Reading, hosts: Hosts, entry: Value, told: Told) -> Generator:
    start, number, words = entry
    begin = float(str(start))
    if not 0 <= begin < LATEST_S:
        raise ValueError(f"it starts at {begin:g} s")
    task, _, rest = str(words).strip().partition(",")
    return Generator(reading, hosts, task.strip(), str(number), begin, arguments(rest), told)


def _converted(generator: Generator) -> list[Entry]:
    task = generator.task
    if task in SERVERS:
        generator.note(SERVERS[task], Effect.NONE)
        return []
    if task not in TASKS:
        raise LeftOut(f"it has no counterpart; {NO_COUNTERPART[task]}" if task in NO_COUNTERPART else "no such task")
    condition = generator.value("condition")
    if condition is not None and not condition:
        generator.note("its `condition` does not hold", Effect.NONE)
        return []
    entries = list(TASKS[task](generator))
    for name in generator.given:
        if name in generator.taken:
            continue
        if name in WORKINGS:
            generator.note(f"`{name}`: {WORKINGS[name]}", Effect.NONE)
        else:
            generator.note(f"`{name[:30]}` is not imported")
    return entries


def _iperf(generator: Generator) -> Iterator[Entry]:
    source, target = generator.host("client"), generator.host("server")
    ends = f"{source} -> {target}"
    client = _extra(generator, "extra_params_client")
    server = _extra(generator, "extra_params_server")
    if generator.value("proto") == "udp" or "u" in client.options:
        rate = generator.word("rate", iperf.rate) or iperf.rate(client.options.get("b"))
        size = iperf.size(client.options["l"]) if "l" in client.options else iperf.DATAGRAM
        yield {"udp": ends, "name": generator.name, "rate": rate, "size": size, **_flows(client), **generator.times()}
        return
    options = {
        "sndbuf": iperf.size(client.options["w"]) if "w" in client.options else None,
        "rcvbuf": iperf.size(server.options["w"]) if "w" in server.options else None,
    }
    buffers = generator.word("buf_size", iperf.buffer)
    if buffers is not None:
        options = {"sndbuf": buffers, "rcvbuf": buffers}
        _capped(generator)
    mss = generator.word("mss", int) or client.options.get("M")
    if mss is not None:
        options["mss"] = int(mss) if mss.isdigit() else mss  # type: ignore[assignment]
    if "rate" in generator.given:
        generator.tree("rate")
        generator.note("`rate` of TCP (iperf -a) is not imported; nearest: `max_pacing_rate` of the flow")
    own = {key: value for key, value in options.items() if value is not None}
    chosen = generator.control(source)
    if "Z" in client.options:
        chosen = {"cc": control(generator.reading, generator.hosts.original(source), client.options["Z"])}
    yield {"tcp": ends, "name": generator.name, **_flows(client), **chosen, **own, **generator.times()}


def _flows(client: iperf.Extra) -> Entry:
    count = client.options.get("P", "1")
    return {"flows": int(count)} if count.isdigit() and int(count) > 1 else {}


def _extra(generator: Generator, name: str) -> iperf.Extra:
    words = generator.value(name)
    found = iperf.extra(str(words) if words is not None else "")
    for rest in found.left:
        generator.note(f"`{rest[:30]}` of `{name}` is not imported")
    return found


def _capped(generator: Generator) -> None:
    sizes = [iperf.in_bytes(each) for each in generator.reading.every(generator.given["buf_size"])]
    if max(sizes, default=0) > iperf.LARGEST_BUFFER:
        what = f"`buf_size` is {iperf.LARGEST_BUFFER} bytes, which TEACUP sets as rmem_max and wmem_max"
        generator.note(what, Effect.CHANGED)


def _ping(generator: Generator) -> Iterator[Entry]:
    source, target = generator.host("client"), generator.host("dest")
    interval = generator.word("rate", lambda value: f"{1000 / float(value):g}ms") or "1000ms"
    words = str(generator.value("extra_params") or "").split()
    size = {}
    if len(words) == 2 and words[0] == "-s" and words[1].isdigit():
        size = {"size": f"{int(words[1]) + 8}b"}
    elif words:
        generator.note(f"`extra_params`: `{' '.join(words)[:30]}` is not imported")
    yield {"ping": f"{source} -> {target}", "name": generator.name, "interval": interval, **size, **generator.times()}


def _nttcp(generator: Generator) -> Iterator[Entry]:
    """Datagrams of `psize` bytes at an interval."""
    source, target = generator.host("client"), generator.host("server")
    interval_ms, size = float(generator.value("interval") or 1000), int(generator.value("psize") or 100)
    rate = round(size * 8000 / interval_ms)
    if rate < 1:
        raise LeftOut("its rate is not a positive number")
    what = f"{size} bytes per {interval_ms:g} ms as a flow of {rate} bit/s"
    generator.note(what, Effect.CHANGED)
    yield {
        "udp": f"{source} -> {target}", "name": generator.name, "rate": f"{rate}bit", "size": f"{size}b",
        **generator.times(),
    }  # fmt: skip


def _dash(generator: Generator) -> Iterator[Entry]:
    """Chunks of `cycle` seconds of one bitrate: a player with one rung and room for one chunk more."""
    source, target = generator.host("client"), generator.host("server")
    cycle = float(generator.value("cycle") or 0)
    if cycle <= 0:
        raise LeftOut("it has no `cycle`")
    rate = generator.word("rate", lambda value: f"{float(value):g}kbit")
    for name in ("prefetch", "prefetch_timeout", "with_timeout"):
        if name in generator.given:
            generator.note(f"`{name}`: the player begins with a whole chunk and waits for each", Effect.CHANGED)
            generator.tree(name)
    yield {
        "video": f"{source} -> {target}", "name": generator.name, "rule": "rate", "ladder": [rate or "500kbit"],
        "segment": f"{cycle:g}s", "buffer": f"{2 * cycle:g}s", **generator.control(target), **generator.times(),
    }  # fmt: skip


def _dashjs(generator: Generator) -> Iterator[Entry]:
    source, target = generator.host("client"), generator.host("serv", "server")
    chunk = generator.word("chunk_size", lambda value: f"{float(value):g}s")
    segment = {"segment": chunk, "buffer": "30s"} if chunk else {}
    generator.tree("mpd")
    what = "`mpd`: the bitrates of the video are not in the file: Tailback's default ladder, with dash.js's hybrid rule"
    generator.note(what, Effect.CHANGED)
    yield {
        "video": f"{source} -> {target}", "name": generator.name, "rule": "hybrid", **segment,
        **generator.control(target), **generator.times(),
    }  # fmt: skip


def _incast(generator: Generator) -> Iterator[Entry]:
    """Each period a request to all servers at once."""
    source = generator.host("client")
    words = [word.strip() for word in str(generator.value("servers") or "").split(",") if word.strip()]
    count = generator.value("num_responders")
    servers = [generator.host_named(word.split(":")[0].strip()) for word in words][: int(count) if count else None]
    period = generator.word("period", _seconds)
    answer = generator.word("response_size", lambda value: f"{int(value)}kb")
    if not servers or period is None or answer is None:
        raise LeftOut("it needs `servers`, `period` and `response_size`")
    burst = generator.value("burst_size")
    if burst not in (None, "", "1", 1):
        generator.note(f"`burst_size` of {str(burst)[:10]}: one request per server and period")
    generator.note("each request opens a connection, where httperf keeps one per server", Effect.CHANGED)
    for place, server in enumerate(servers, 1):
        yield {
            "request": f"{source} -> {server}", "name": f"{generator.name}-{place}", "group": generator.name,
            "every": period, "answer": answer, **generator.control(server), **generator.times(),
        }  # fmt: skip


def _seconds(value: Value) -> str:
    if not float(value) >= SHORTEST_S:
        raise ValueError(value)
    return f"{float(value):g}s"


TASKS: Mapping[str, Start] = {
    "start_iperf": _iperf,
    "start_ping": _ping,
    "start_nttcp": _nttcp,
    "start_httperf_dash": _dash,
    "start_dash_streaming_dashjs": _dashjs,
    "start_httperf_incast": _incast,
    "start_httperf_incast_n": _incast,
}
