"""Draws tiny experiments at random over all keys of the schema: what each may be beside all others.

    python -m conformance.random_keys SEED > random.yaml

A key is drawn by its rule below, or without one from its JSON Schema: one of its choices or examples, or a number
within its bounds. So a new key with a schema is drawn without a change here; a test fails for one that is neither
(LEFT_OUT has those that no simulated run can have). Disciplines, controls, drivers and sysctls come from their
registries (`random_algorithms`). Values that exclude each other are for the checks of the package to refuse: who draws,
draws again.
"""

from __future__ import annotations

import functools
import itertools
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml
from msgspec import Struct

from conformance import random_algorithms as algorithms
from conformance import random_scripts
from conformance.random_experiments import Draw
from tailback.scenario import traffic
from tailback.scenario.schema import CellHosts, Change, Host, Keys, Lan, Link, Measure, Nic, Preset, SignalChange, Wifi
from tailback.scenario.shapes import SHAPES
from tailback.scenario.values import Section
from tailback.scenario.wifi import STANDARDS

LEFT_OUT: Mapping[str, str] = {
    "Keys.kernel": "the simulator refuses it",
    "Keys.clock": "likewise",
    "Program": "likewise, with all of its keys",
    "Endpoint": "foreign code (tests/python/backends/test_endpoints.py)",
    "Keys.expect": "it judges results and changes none",
    "Keys.title": "a text",
    **dict.fromkeys(("cc.module", "cc.bpf"), "compiled with the headers of a kernel"),
    **dict.fromkeys(("Page.cc.python", "Request.cc.python", "Video.cc.python"), "refused: both sides send"),
}
"""Keys that are not drawn, with the reason; `cc` stands for that of any mapping."""


def is_left_out(name: str) -> bool:
    """Whether a key of the schema, such as `Keys.kernel` or `Tcp.cc.module`, is among those."""
    _, _, key = name.partition(".")
    return key in LEFT_OUT or any(name == left or name.startswith(f"{left}.") for left in LEFT_OUT)


RATES = ("500kbit", "1mbit", "2mbit", "5mbit", "10mbit", "20mbit")
DELAYS = ("0us", "50us", "1ms", "5ms", "20ms", "40ms")
TIMES = ("0s", "1ms", "50ms", "200ms")
STOPS = ("250ms", "300ms", "400ms")
DURATIONS = ("400ms", "500ms", "700ms", "1s")
SIZES = ("1b", "100b", "1448b", "10kb", "60kb")
ARRIVALS = ("poisson 50/s", "periodic 20/s", "onoff 100/s on 100ms off 50ms", "poisson 30% of router -> server",
            "file flows.txt")  # fmt: skip
OPTIONAL = 0.15
"""How often a key without a rule of its own is given."""


class Place(Struct, frozen=True):
    """What values depend on: the hosts, those among which traffic goes, and the stations of a cell."""

    hosts: Sequence[str]
    ends: Sequence[str]
    stations: Sequence[str] = ()

    def arrow(self, draw: Draw) -> str:
        """A direction between two ends."""
        source, target = draw.source.sample(list(self.ends), 2)
        return f"{source} -> {target}"


Rule = Callable[[Draw, Place], Any]


def _of(*values: Any) -> Rule:
    return lambda draw, _place: draw.one(values)


def _each_way(*values: Any) -> Rule:
    """One value, or one each way."""
    return lambda draw, _place: draw.one(values) if draw.happens(0.6) else [draw.one(values), draw.one(values)]


def _by_station(rule: Rule) -> Rule:
    def by(draw: Draw, place: Place) -> Any:
        if draw.happens(0.6) or not place.stations:
            return rule(draw, place)
        return {station: rule(draw, place) for station in place.stations}

    return by


def _arrow(draw: Draw, place: Place) -> str:
    return place.arrow(draw)


def _name(draw: Draw, _place: Place) -> str:
    return str(draw.one(("x", "upload", "upload.1", "page.2", "call.there", "bulk")))


def _model_rule(model: type[Section], most: int = 1) -> Rule:
    """One mapping of a model, or a list of up to `most`."""

    def make(draw: Draw, place: Place) -> Any:
        if most == 1:
            return mapping(draw, place, model)
        return [mapping(draw, place, model) for _ in range(draw.source.randint(1, most))]

    return make


def _schedule(draw: Draw, place: Place) -> list[dict[str, Any]] | dict[str, Any]:
    found = [mapping(draw, place, Change) for _ in range(draw.one((1, 2, 3)))]
    changes = [{**change, "at": at} for change, at in zip(found, ("80ms", "150ms", "320ms"), strict=False)]
    return {"every": "350ms", "changes": changes} if draw.happens(0.3) else changes


def _fades(draw: Draw, place: Place) -> list[dict[str, Any]] | dict[str, Any]:
    found = [mapping(draw, place, SignalChange) for _ in range(draw.one((1, 2, 3)))]
    for change in found:
        if len(change) < 2:
            change["snr"] = draw.one(("0dB", "10dB", "30dB"))
        if "snr" in change and draw.happens(0.9):
            change.pop("distance", None)
    changes = [{**change, "at": at} for change, at in zip(found, ("80ms", "150ms", "320ms"), strict=False)]
    return {"every": "350ms", "changes": changes} if draw.happens(0.3) else changes


def _impairment(*words: str) -> Rule:
    return _each_way(*words)


_IMPAIRMENTS: Mapping[str, Rule] = {
    "loss": _impairment("0.5%", "3%", "1% 25%", "gemodel 1% 20%", "state 1% 30%"),
    "jitter": _impairment("200us", "2ms", "5ms 25%"),
    "duplicate": _impairment("1%", "10%"),
    "corrupt": _impairment("1%", "10%", "30%"),
    "reorder": _impairment("5%", "25% 50%"),
}
_POLICERS: Sequence[Mapping[str, str]] = (
    {"rate": "20mbit", "burst": "100kb", "mtu": "9014b"},
    {"rate": "20mbit", "burst": "100kb", "mtu": "9014b", "peakrate": "40mbit"},
)
_LASTING: Mapping[str, Rule] = {"start": _of(*TIMES), "stop": _of(*STOPS), "jitter": _of("1us", "5ms", "20ms")}
_CONTROL: Mapping[str, Rule] = {
    "cc": lambda draw, _place: {"python": "random.py"} if draw.happens(0.2) else algorithms.control(draw)
}
_RULES: Mapping[type[Section], Mapping[str, Rule]] = {
    Keys: {
        "duration": _of(*DURATIONS),
        **_CONTROL,
        "seed": lambda draw, _place: draw.source.randint(0, 10**6),
        "repeat": _of(1, 2),
        "measure": _model_rule(Measure),
    },
    Measure: {
        "warmup": _of("0s", "50ms", "100ms"),
        "window": _of(["220ms", "390ms"]),
        "interval": _of("1ms", "10ms", "100ms"),
        "packets": _of(["100ms", "150ms"]),
        "pcap": lambda draw, place: [draw.one(place.hosts)],
    },
    Host: {
        "sysctl": lambda draw, _place: algorithms.sysctls(draw),
        "ssthresh": _of(0, 2, 10, 100),
        "nic": _model_rule(Nic),
    },
    Nic: {"ring": _of(1, 2, 16, 256), "interrupts": _of("0s", "50us", "1ms")},
    Link: {
        **_IMPAIRMENTS,
        "rate": _each_way(*RATES),
        "delay": _each_way(*DELAYS),
        "trace": _of("random.trace"),
        "mtu": _of(576, 1280, 1500, 1500, 9000),
        "overhead": _of("24b", "60b"),
        "ring": _each_way(1, 2, 16, 256),
        "bql": _each_way("on", "off", True, False),
        "interrupts": _each_way("0s", "50us", "1ms"),
        "police": _each_way("rate 5mbit burst 20kb", *_POLICERS),
        "schedule": _schedule,
    },
    Change: {
        **_IMPAIRMENTS,
        "at": _of("100ms"),
        "rate": _each_way(*RATES),
        "delay": _each_way(*DELAYS),
        "state": _each_way("up", "down"),
    },
    Lan: {"rate": _each_way(*RATES), "delay": _each_way(*DELAYS), "mtu": _of(1500, 1500, 9000), "name": _of("switch")},
    SignalChange: {
        "at": _of("100ms"),
        "snr": _by_station(_of("-5dB", "5dB", "30dB")),
        "distance": _by_station(_of("1m", "10m", "40m")),
        "loss": _by_station(_of("0%", "20%", "100%")),
    },
    Wifi: {
        "driver": lambda draw, _place: algorithms.driver(draw),
        "streams": _by_station(_of(1, 2)),
        "rate": _by_station(_of("fixed", "minstrel")),
        "loss": _by_station(_of("1%", "10%", "40%")),
        "snr": _by_station(_of("5dB", "15dB", "25dB")),
        "distance": _by_station(_of("1m", "10m", "40m")),
        "schedule": _fades,
        "beacons": _of("6mbit", "12mbit", "24mbit", "1mbit"),
        "name": _of("cell"),
        "channel": _of("one"),
        "hidden": lambda draw, place: [draw.source.sample(list(place.stations), 2)] if len(place.stations) > 1 else [],
        "edca": _of("station", "hostapd", {"be": {"cwmax": 63}}, {"ap": "hostapd"}, {"vi": {"txop": "1504us"}}),
    },
    Preset: {**_LASTING, **_CONTROL, "hosts": lambda draw, place: draw.source.sample(list(place.ends), 2),
             "name": _name, "flows": _of(1, 2, 3), "rate": _of("1mbit", "5mbit"), "interval": _of("10ms", "50ms")},
}  # fmt: skip
"""Rules by model; those of kinds of traffic are below."""

_TRAFFIC: Mapping[str, Rule] = {
    **_LASTING,
    **_CONTROL,
    "name": _name,
    "group": _of("one", "other"),
    "flows": _of(1, 2, 4),
    "bytes": _of(*SIZES, "500kb"),
    "rcvlowat": _of("1b", "3kb", "20kb"),
    "sndbuf": _of("2kb", "20kb", "200kb"),
    "rcvbuf": _of("2kb", "20kb", "200kb"),
    "notsent_lowat": _of("1b", "16kb"),
    "max_pacing_rate": _of("100kbit", "1mbit", "8mbit"),
    "mss": _of(88, 536, 1000),
    "rate": _of("100kbit", "1mbit", "5mbit"),
    "adapt": _of("gcc min 100kbit max 5mbit", "gcc min 50kbit max 50mbit"),
    "connections": _of(1, 2, 6),
    "arrivals": _of(*ARRIVALS),
    "answer": _of("1kb", "60kb", "exponential 10kb"),
    "barrier": _of("round"),
    "think": _of("0s", "5ms", "exponential 20ms"),
    "every": _of("20ms", "60ms", "200ms"),
    "interval": _of("5ms", "20ms", "100ms"),
    "write": _of("100b", "1kb", "64kb"),
    "on": _of("20ms", "100ms"),
    "off": _of("10ms", "100ms"),
    "ladder": _of(["100kbit", "500kbit", "1mbit"]),
    "segment": _of("50ms", "100ms"),
    "buffer": _of("300ms", "1s"),
    "startup": _of("50ms", "100ms"),
    "up": _of("40b", "300b"),
    "down": _of("130b", "1000b"),
}
"""Rules of the keys of all kinds of traffic, by name."""

_SIZES_BY_KIND: Mapping[str, Rule] = {
    "tcp": _of(
        "1b",
        "10kb",
        "exponential 20kb",
        "pareto 20kb shape 1.5",
        "lognormal 10kb sigma 1",
        "websearch",
        "file sizes.txt",
    ),
    "request": _of("100b", "2kb"),
    "page": _of("300b", "2kb"),
    "video": _of("300b", "2kb"),
    "ping": _of("8b", "64b", "1000b"),
    "udp": _of("20b", "200b", "1400b"),
}

_GIVEN: Mapping[type[Section], Mapping[str, float]] = {
    Keys: {"duration": 1.0, "seed": 1.0, "cc": 0.7, "tsq": 0.3, "offloads": 0.6, "measure": 0.4, "repeat": 0.1},
    Link: {
        "rate": 0.7,
        "delay": 0.8,
        "loss": 0.15,
        "corrupt": 0.15,
        "bql": 0.4,
        "schedule": 0.2,
        "trace": 0.08,
        "police": 0.3,
    },
    Change: {"rate": 0.4, "delay": 0.4, "state": 0.2},
    Lan: {"rate": 0.8, "delay": 0.5},
    SignalChange: {"at": 1.0, "snr": 0.4, "distance": 0.2, "loss": 0.2},
    Wifi: {"driver": 0.7, "schedule": 0.2, "beacons": 0.4, "snr": 0.1, "distance": 0.1, "channel": 0.1},
    Host: {"sysctl": 0.5, "offloads": 0.3},
    Preset: {"rate": 0.4, "flows": 0.15, "stop": 0.1},
}
"""How often a key is given, where it is not `OPTIONAL`."""


def models() -> list[type[Section]]:
    """All mappings of an experiment file."""
    return [Keys, Measure, Host, Nic, Link, Change, Lan, CellHosts, Wifi, SignalChange, Preset, *_kinds().values()]


def _kinds() -> dict[str, type[Section]]:
    """Those that are drawn: an endpoint is foreign code (`tests/python/backends/test_endpoints.py`)."""
    return {kind: traffic.KINDS[kind].keys for kind in traffic.KINDS if kind != "endpoint"}


_STRUCTURE: Mapping[type[Section], Sequence[str]] = {
    Keys: ("let", "hosts", "links", "routes", "qdiscs", "traffic", "vary"),
    Link: ("ends",),
    Lan: ("lan",),
    CellHosts: ("ap", "stations"),
    Wifi: ("wifi", "standard", "band", "width", "mcs", "guard"),
}
"""Keys that the network determines, which is drawn as a whole."""


@functools.cache
def rule_of(model: type[Section], key: str) -> Rule | None:
    """How a key is drawn by itself; `None` if that is not known."""
    own = _RULES.get(model, {}).get(key)
    if own is not None:
        return own
    kind = next((kind for kind, keys in _kinds().items() if keys is model), None)
    if kind is not None:
        if key == kind:
            return _arrow
        found = _SIZES_BY_KIND.get(kind) if key == "size" else _TRAFFIC.get(key)
        if found is not None:
            return found
    return _by_schema(model.model_json_schema()["properties"][key])


def _by_schema(schema: Mapping[str, Any]) -> Rule | None:
    """A rule from a JSON Schema: the choices, the examples, or the bounds of a number."""
    for part in (schema, *schema.get("anyOf", ())):
        values = part.get("enum") or ([part["const"]] if "const" in part else None) or part.get("examples")
        if values:
            return _of(*values)
        if part.get("type") == "boolean":
            return _of(True, False)
        if part.get("type") == "integer" and "minimum" in part and "maximum" in part:
            least, most = part["minimum"], part["maximum"]
            return lambda draw, _place: algorithms.log_uniform(draw, least, most)
    return None


def unknown() -> list[str]:
    """Keys that are neither drawn nor left out: teach this module how to draw them."""
    return [
        f"{model.__name__}.{key}"
        for model in models()
        for key in model.model_fields
        if key not in _STRUCTURE.get(model, ())
        and f"{model.__name__}.{key}" not in LEFT_OUT
        and rule_of(model, key) is None
    ]


def mapping(draw: Draw, place: Place, model: type[Section]) -> dict[str, Any]:
    """A mapping of this model: what is required, and some of the rest."""
    found = {}
    for key, field in model.model_fields.items():
        if key in _STRUCTURE.get(model, ()) or f"{model.__name__}.{key}" in LEFT_OUT:
            continue
        share = 1.0 if field.is_required() else _GIVEN.get(model, {}).get(key, OPTIONAL)
        rule = rule_of(model, key)
        if rule is not None and draw.happens(share):
            found[key] = rule(draw, place)
    return found


def entry(draw: Draw, place: Place) -> dict[str, Any]:
    """An entry of `traffic`, of any kind."""
    kinds: list[type[Section]] = [*_kinds().values(), Preset]
    found = mapping(draw, place, draw.one([*kinds, traffic.KINDS["tcp"].keys]))
    if draw.happens(0.7):
        # What nearly always excludes each other.
        if "arrivals" in found:
            found = {key: value for key, value in found.items() if key not in ("flows", "bytes", "jitter")}
            found.setdefault("size", "10kb")
        elif "tcp" in found:
            found.pop("size", None)
        if ("on" in found) != ("off" in found):
            found |= {"on": "50ms", "off": "20ms"}
        if "write" in found and not {"rate", "on"} & set(found):
            found["rate"] = "1mbit"
        if "request" in found and "every" in found:
            found = {key: value for key, value in found.items() if key not in ("connections", "think", "barrier")}
        if "preset" in found and found["preset"] != "udp_flood":
            found.pop("rate", None)
    return found


def _chain(draw: Draw) -> tuple[list[dict[str, Any]], Place]:
    hosts = ["client", *(["router"] if draw.happens(0.7) else []), "server"]
    place = Place(hosts, ["client", "server"])
    pairs = itertools.pairwise(hosts)
    return [{"ends": list(pair), **mapping(draw, place, Link)} for pair in pairs], place


def _lan(draw: Draw) -> tuple[list[dict[str, Any]], Place]:
    place = Place(["h1", "h2", "router", "server"], ["h1", "h2", "server"])
    lan = {"lan": ["h1", "h2", "router"], **mapping(draw, place, Lan)}
    return [lan, {"ends": ["router", "server"], **mapping(draw, place, Link)}], place


def _cells(draw: Draw) -> tuple[list[dict[str, Any]], Place]:
    stations = ["s1", "s2", "s3"][: draw.one((1, 1, 2, 3))]
    place = Place(["ap", "server", *stations], [*stations, "server"], stations)
    links = [_cell(draw, place, "ap"), {"ends": ["ap", "server"], **mapping(draw, place, Link)}]
    if draw.happens(0.15):
        other = Place(["ap2", "s9"], ["s9"], ["s9"])
        links += [_cell(draw, other, "ap2"), {"ends": ["ap2", "server"], **mapping(draw, place, Link)}]
        place = Place([*place.hosts, "ap2", "s9"], [*place.ends, "s9"], stations)
    return links, place


def _cell(draw: Draw, place: Place, access_point: str) -> dict[str, Any]:
    name, standard = draw.one(list(STANDARDS.items()))
    band = draw.one(standard.bands)
    found = {
        "wifi": {"ap": access_point, "stations": list(place.stations)},
        "standard": name,
        "band": band,
        "width": f"{draw.one(standard.widths[: 2 if band == '2.4GHz' else 4])}MHz",
        "guard": f"{draw.one(standard.guards_ns)}ns",
        **mapping(draw, place, Wifi),
        "mcs": draw.source.randint(0, 15 if standard.counts_streams else standard.most_mcs),
    }
    if standard.counts_streams:
        found.pop("streams", None)
    else:
        found.setdefault("streams", draw.one((1, 2)))
    return found


def _shape(draw: Draw) -> tuple[list[dict[str, Any]], Place]:
    kind, count = draw.one(list(SHAPES)), 2
    inner, ends = {
        "dumbbell": (["left", "right"], [f"{side}{each}" for side in ("sender", "receiver") for each in (1, 2)]),
        "parking_lot": (
            ["router1", "router2", "router3"],
            ["sender", "receiver", "cross1", "sink1", "cross2", "sink2"],
        ),
        "star": (["hub"], ["host1", "host2"]),
    }[kind]
    place = Place([*inner, *ends], ends)
    access = {"access": mapping(draw, place, Link)} if SHAPES[kind].has_access else {}
    return [{kind: count, **access, **mapping(draw, place, Link)}], place


def _square(draw: Draw) -> tuple[list[dict[str, Any]], Place]:
    place = Place(["client", "r1", "r2", "server"], ["client", "server"])
    pairs = (("client", "r1"), ("r1", "server"), ("client", "r2"), ("r2", "server"))
    return [{"ends": list(pair), **mapping(draw, place, Link)} for pair in pairs], place


def _bounded(draw: Draw, links: list[dict[str, Any]]) -> None:
    """Gives each link a rate or a trace, and most a delay: a run is to be short, and time has to pass in it."""
    for link in [*links, *(link["access"] for link in links if "access" in link)]:
        if "wifi" not in link and "trace" not in link:
            link.setdefault("rate", draw.one(RATES))
        if "rate" in link and "trace" in link:
            link.pop(draw.one(("rate", "trace")))
        if "reorder" in link and draw.happens(0.9):
            link["delay"] = draw.one(DELAYS[2:])
        if "trace" in link and draw.happens(0.9):
            link.pop("schedule", None)
        if link.get("band") == "5GHz" and link.get("beacons") == "1mbit" and draw.happens(0.9):
            link["beacons"] = "6mbit"
        if "distance" in link and draw.happens(0.9):
            link.pop("snr", None)


def experiment(draw: Draw) -> dict[str, Any]:
    """One experiment."""
    links, place = draw.one((_chain, _chain, _lan, _cells, _cells, _shape, _square))(draw)
    _bounded(draw, links)
    found: dict[str, Any] = {"links": links, **mapping(draw, place, Keys)}
    found["traffic"] = [entry(draw, place) for _ in range(draw.one((1, 2, 2, 3, 4)))]
    if draw.happens(0.5):
        found["hosts"] = {host: mapping(draw, place, Host) if draw.happens(0.6) else None for host in place.hosts}
    if draw.happens(0.5):
        flow = str(found["traffic"][0].get("name", "upload"))
        devices = _devices(links)
        chosen = draw.source.sample(devices, min(len(devices), draw.one((1, 2))))
        found["qdiscs"] = {device: _discipline(draw, flow, draw.one(place.ends)) for device in chosen}
    if "r1" in place.hosts:
        found["routes"] = {place.arrow(draw): draw.one((["r1"], ["r2"]))}
    if draw.happens(0.15):
        _vary(draw, found)
    return found


def _discipline(draw: Draw, flow: str, host: str) -> Any:
    """What a device may have: words, stages, or a script."""
    if draw.happens(0.25):
        return random_scripts.script(draw)
    found = algorithms.discipline(draw, flow, host)
    return random_scripts.size_table(draw, 0.1) + found if isinstance(found, str) else found


def _devices(links: Sequence[Mapping[str, Any]]) -> list[str]:
    found = [f"{one} -> {other}" for link in links if "ends" in link for one, other in _both(link["ends"])]
    cells = [link for link in links if "wifi" in link]
    names = [link.get("name", "air" if len(cells) == 1 else f"air{place}") for place, link in enumerate(cells, 1)]
    for link, name in zip(cells, names, strict=True):
        found += [f"{host} -> {name}" for host in (link["wifi"]["ap"], link["wifi"]["stations"][0])]
    for link in links:
        if "lan" in link:
            pairs = (pair for host in link["lan"][1:] for pair in _both((host, link.get("name", "lan1"))))
            found += [f"{one} -> {other}" for one, other in pairs]
    inner = {"dumbbell": "left -> right", "parking_lot": "router1 -> router2", "star": "hub -> host1..2"}
    return found or [device for shape, device in inner.items() if shape in links[0]]


def _both(ends: Sequence[str]) -> list[tuple[str, str]]:
    return [(ends[0], ends[1]), (ends[1], ends[0])]


def _vary(draw: Draw, found: dict[str, Any]) -> None:
    """Two configurations: of a key, of a variable, or of several keys together."""
    match draw.one(("key", "variable", "several")):
        case "key":
            found.pop("cc", None)
            found["vary"] = {"cc": ["reno", "cubic"]}
        case "variable":
            found["let"] = {"length": found["duration"]}
            found["duration"] = "${length}"
            found["vary"] = {"length": ["400ms", "600ms"]}
        case _:
            found["vary"] = {"case": {"a": {"tsq": "off"}, "b": {"offloads": "on", "tsq": "4ms"}}}


FILES: Mapping[str, str] = {
    "random.trace": "\n".join(map(str, (0, 0, 3, 7, 7, 20, 21, 22, 40, 80))) + "\n",
    "sizes.txt": "100 0.2\n1000 0.7\n30000 1\n",
    "flows.txt": "0.01 1000\n0.02 500\n0.2 20000\n",
    "page.txt": "4000 0\n9000 1\n300 1\n",
    "random.py": """\
class Careful:
    def on_ack(self, flow, sample):
        flow.cwnd += 1 if flow.in_slow_start else 0

    def on_loss(self, flow):
        flow.ssthresh = max(flow.cwnd // 2, 2)
""",
}
"""The files beside an experiment that names them."""


def drawn(seed: int | str) -> dict[str, Any]:
    """The experiment of a seed, which need not be valid."""
    return experiment(Draw(random.Random(seed)))


if __name__ == "__main__":
    print(yaml.safe_dump(drawn(sys.argv[1]), sort_keys=False, width=120), end="")
