"""The key that somebody means who writes another tool's word, or the usual one, for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailback.scenario.paths import Loc
from tailback.tc.errors import nearest_hint

_ENDS = "from to src dst source dest destination sender receiver client server"

_MEANT: Mapping[tuple[str, ...], str] = {
    ("title",): "name description desc experiment",
    ("duration",): "length time runtime run_time sim_time simulation_time stop_time seconds until",
    ("at",): "time t when",
    ("stop",): "end until finish stop_time end_time",
    ("start",): "begin start_time starts at",
    ("ends",): f"hosts nodes between endpoints {_ENDS}",
    ("hosts",): f"ends nodes machines computers clients servers router routers {_ENDS}",
    ("links",): "topology network edges wires cables",
    ("traffic",): "flows flow streams workload applications apps",
    ("flows",): "streams parallel connections count number n",
    ("connections",): "flows streams parallel count number n",
    ("cc",): "congestion_control congestion cca tcp_cc algorithm congestion_algorithm",
    ("qdiscs",): "queue queues aqm aqms discipline disciplines scheduler schedulers buffer buffers",
    ("delay",): "latency propagation propagation_delay one_way_delay owd",
    # The `rate` of a Wi-Fi cell is the rate control.
    ("width", "rate"): "bandwidth bw",
    ("mcs", "rate"): "capacity speed throughput bitrate",
    ("loss",): "plr packet_loss loss_rate drop drops",
    ("repeat",): "repetitions repeats reps runs iterations replications",
    ("seed",): "random_seed rng random",
    ("vary",): "sweep grid axes axis factors matrix",
    ("let",): "variables vars variable define",
    ("expect",): "assert asserts expectations checks",
    ("warmup",): "warm_up",
    ("pcap",): "capture captures tcpdump",
    ("bytes",): "file_size filesize volume amount transfer",
    ("streams",): "nss spatial_streams antennas",
    ("stations",): "clients station stas sta",
    ("ap",): "access_point accesspoint",
    ("tsq",): "small_queue small_queues tcp_small_queues",
    ("stack",): "kernel os",
}
"""The words for a key. Of several keys, the first that there is where the word stands."""

_LINK = "give it to a link: links: [{ends: [client, server], rate: 10mbit, delay: 10ms}]"
_RTT = "give the delay of one direction to a link, half of the RTT: links: [{ends: [client, server], delay: 10ms}]"
_QDISC = "disciplines are beside the links: qdiscs: {client -> router: fq_codel}"
_MEASURE = "write it in `measure`: measure: {warmup: 5s, interval: 100ms, pcap: [client]}"
_FLOW = "list it in `traffic`: traffic: [{tcp: client -> server}, {ping: client -> server}]"
_HOST = "give it to a host: hosts: {client: {stack: linux-6.12, sysctl: {net.ipv4.tcp_pacing_ca_ratio: 120}}}"
_ECN = (
    "ECN is a sysctl of the host that connects, hosts: {client: {sysctl: {net.ipv4.tcp_ecn: 1}}}, and a discipline has "
    "to mark, such as `fq_codel` or `codel ecn`"
)
_AIRTIME = "limits of airtime are options of a driver: driver: NAME airtime 12ms"
_EDCA = "the parameters of the access categories are in `edca`: edca: {be: {cwmin: 15, txop: 2528us}}"
_ARROW = "write sender and receiver as the value of the kind: {tcp: client -> server}"
_STOP = "give the time at which it ends: stop: 35s"

_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "": {
        "rate bandwidth bw capacity speed delay latency loss jitter mtu": _LINK,
        "rtt base_rtt": _RTT,
        "warmup warm_up window interval pcap packets tcp_info capture": _MEASURE,
        "tcp udp ping request page video call game preset": _FLOW,
        "sysctl sysctls stack": _HOST,
        "ecn tcp_ecn": _ECN,
    },
    "links": {
        "rtt base_rtt": _RTT,
        "queue queues qdisc qdiscs aqm buffer queue_size limit discipline": _QDISC,
        "aql airtime airtime_limit": _AIRTIME,
        "txop cwmin cwmax aifs aifsn wmm": _EDCA,
    },
    "traffic": {
        _ENDS: _ARROW,
        "duration length time": _STOP,
        "ecn tcp_ecn": _ECN,
    },
    "hosts": {"ecn tcp_ecn": _ECN},
}
"""What to do instead where no key is meant, by the section and the words."""


_PATHS: Mapping[str, str] = {
    "rate bandwidth bw capacity speed": "links[0].rate",
    "delay latency rtt base_rtt": "links[0].delay",
    "loss packet_loss plr loss_rate": "links[0].loss",
    "flows streams connections": "traffic[0].flows",
    "warmup warm_up": "measure.warmup",
    "interval": "measure.interval",
}
"""The paths of keys that are not at the top of a file, for `--set` and `vary`."""


def path_hint(word: str, known: Sequence[str]) -> str:
    """The hint for `word`, which `--set` or `vary` has as a key, and which is none of the `known` names."""
    plain = word.lower().replace("-", "_")
    path = next((path for words, path in _PATHS.items() if plain in words.split()), None)
    return hint((), word, known) if path is None else f"write the path of a key, such as `{path}`"


def hint(parent: Loc, word: str, known: Sequence[str]) -> str:
    """The hint for the unknown key `word` in `parent`, where the keys `known` are."""
    plain = word.lower().replace("-", "_")
    for keys, words in _MEANT.items():
        key = next((key for key in keys if key in known), None)
        if key is not None and plain in words.split():
            return f"did you mean `{key}`?"
    # A path to an entry of a section has the section, the number and pydantic's tag.
    section = "" if not parent else str(parent[0]) if len(parent) <= 3 else "deeper"
    elsewhere = _ELSEWHERE.get(section, {}).items()
    return next((remedy for words, remedy in elsewhere if plain in words.split()), None) or nearest_hint(word, known)
