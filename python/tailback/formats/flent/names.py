"""The Flent test that matches a run, and the names of its flows in that test [flent flent/tests].

Flent draws only the series of the test that the file names, so each run is assigned to the test with its flows. A test
with four flows in each direction is `rrul_be`, or `rrul` if its flows have code points. With a call, it is one of
`voip`, `voip-1up` and `voip-rrul`; with web pages, one of `http`, `http-1up`, `http-1down` and `http-rrul`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tailback.formats.errors import NotExportable
from tailback.resolved import Page, Tcp, Traffic, Udp
from tailback.scenario import traffic as kinds

ICMP = "Ping (ms) ICMP"
NUMBERS = (1, 2, 4, 6, 8, 12)
"""Flows of the tests that have their number in the name."""

BE = ("BE", "BE2", "BE3", "BE4")
CLASSES = ("BE", "BK", "CS5", "EF")

TESTS = (
    "tcp_upload", "tcp_nup", "tcp_download", "tcp_ndown", "tcp_bidirectional", "rrul", "rrul_be", "rrul_be_nflows",
    "udp_flood", "ping",
    "tcp_1up", "tcp_2up", "tcp_4up", "tcp_6up", "tcp_8up", "tcp_12up",
    "tcp_1down", "tcp_2down", "tcp_4down", "tcp_6down", "tcp_8down", "tcp_12down",
    "voip", "voip-1up", "voip-rrul", "http", "http-1up", "http-1down", "http-rrul",
)  # fmt: skip

SAME = {"rrul_voip": "voip-rrul"}
"""Other names of tests."""

BESIDE = {(0, 0): "", (1, 0): "-1up", (0, 1): "-1down", (4, 4): "-rrul"}
"""What the name of a test says of the flows beside a call or pages, by their numbers up and down."""

WITHOUT_IDLE = ("voip", "http")
"""Tests that begin and end with their load."""


@dataclass(frozen=True)
class Named:
    """The Flent test of a run."""

    test: str
    series: Mapping[str, str]
    """Names of Flent's series, by our flow or ping."""
    parameters: Mapping[str, str]
    """`TEST_PARAMETERS`, from which Flent derives the list of series."""
    call: str | None = None
    """The stream of a call from the first host to the second."""
    pages: bool = False
    """It has web pages."""


def named(traffic: Sequence[Traffic], directions: Mapping[str, str], wanted: str | None) -> Named:
    """The test with these flows, or the test `wanted`; raises `NotExportable` if it does not have them."""
    tcp = [flow.name for flow in traffic if flow.kind == "tcp"]
    up, down = ([flow for flow in tcp if directions.get(flow) == way] for way in ("up", "down"))
    data = {flow.name: carries_data(flow) for flow in traffic}
    pings = [name for name, carried in data.items() if not carried]
    of_tcp = frozenset(tcp)
    udp = [name for name, carried in data.items() if carried and name not in of_tcp]
    media = [flow.name for flow in traffic if isinstance(flow, Udp) and flow.media is not None]
    call = next((name for name in media if directions.get(name) != "down"), None)
    pages = any(isinstance(flow, Page) for flow in traffic)
    marked = any(flow.dscp for flow in traffic if isinstance(flow, Tcp))
    test = wanted or _with_applications(call=call is not None, pages=pages, flows=(len(up), len(down)))
    test = SAME.get(test, test) or _test(len(up), len(down), len(udp))
    if wanted is None and marked and test == "rrul_be":
        test = "rrul"
    if test not in TESTS:
        raise NotExportable(f"`{test}` is not a known Flent test\n  hint: use one of {', '.join(TESTS)}")
    ways = (udp[:1], []) if test == "udp_flood" else (up, down)
    of_call, of_pages = test.startswith("voip"), test.startswith("http")
    if (of_call and call is None) or (of_pages and not pages):
        what = "call" if of_call else "page"
        raise NotExportable(
            f"`{test}` needs a {what}, and the run has none\n  hint: leave out `--test`, or take another"
        )
    names = _names(test, len(ways[0]), len(ways[1]))
    flows = dict(zip([*ways[0], *ways[1]], names, strict=True))
    return Named(
        test,
        {**flows, **_pings(test, pings)},
        _parameters(test, len(up), len(down)),
        call if of_call else None,
        of_pages,
    )


def _with_applications(*, call: bool, pages: bool, flows: tuple[int, int]) -> str:
    """The test of a call, or of pages, with these numbers of flows up and down; empty if there is none."""
    if not (call or pages) or flows not in BESIDE:
        return ""
    found = ("voip" if call else "http") + BESIDE[flows]
    return found if found in TESTS else ""


def carries_data(flow: Traffic) -> bool:
    """Whether `flow` carries data, as a ping does not."""
    return kinds.of(flow.kind).carries == "data"


def _test(up: int, down: int, udp: int) -> str:
    """The test with these numbers of flows in each direction."""
    if not up and not down:
        return "udp_flood" if udp else "ping"
    several = (_count(up), _count(down))
    plain = {
        ("1", "0"): "tcp_upload",
        ("n", "0"): "tcp_nup",
        ("0", "1"): "tcp_download",
        ("0", "n"): "tcp_ndown",
        ("1", "1"): "tcp_bidirectional",
    }
    exact = f"tcp_{up}up" if not down else f"tcp_{down}down" if not up else ""
    if exact in TESTS and up + down > 1:
        return exact
    return "rrul_be" if up == down == len(BE) else plain.get(several, "rrul_be_nflows")


def _count(flows: int) -> str:
    return "n" if flows > 1 else str(flows)


def _names(test: str, up: int, down: int) -> list[str]:
    """The names of the uploads, then of the downloads; raises `NotExportable` if the test has other numbers of
    flows."""
    numbers = range(1, max(up, down) + 1)
    several = [f"::{number}" for number in numbers]
    ends: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        **{f"tcp_{count}up": (several[:count] if count > 1 else [""], []) for count in NUMBERS},
        **{f"tcp_{count}down": ([], several[:count] if count > 1 else [""]) for count in NUMBERS},
        **{f"{kind}-1up": ([""], []) for kind in ("voip", "http")},
        "http-1down": ([], [""]),
        **{f"{kind}-rrul": ([f" {name}" for name in BE], [f" {name}" for name in BE]) for kind in ("voip", "http")},
        "tcp_upload": ([""], []),
        "tcp_download": ([], [""]),
        "tcp_bidirectional": ([""], [""]),
        "tcp_nup": (several, []),
        "tcp_ndown": ([], several),
        "rrul_be_nflows": ([f" BE::{number}" for number in numbers], [f" BE::{number}" for number in numbers]),
        "rrul_be": ([f" {name}" for name in BE], [f" {name}" for name in BE]),
        "rrul": ([f" {name}" for name in CLASSES], [f" {name}" for name in CLASSES]),
    }
    if test == "udp_flood":
        return ["UDP upload"] * up
    uploads, downloads = ends.get(test, ([], []))
    if up > len(uploads) or down > len(downloads):
        raise NotExportable(
            f"`{test}` has no place for {up} uploads and {down} downloads\n  hint: leave out `--test`, or take another"
        )
    return [f"TCP upload{end}" for end in uploads[:up]] + [f"TCP download{end}" for end in downloads[:down]]


def _pings(test: str, pings: Sequence[str]) -> dict[str, str]:
    """The series of pings: the first is Flent's ICMP ping; `rrul` has three more."""
    more = {
        **dict.fromkeys(("rrul_be", "voip-rrul", "http-rrul"), ("BE1", "BE2", "BE3")),
        "rrul": ("EF", "BK", "BE"), "rrul_be_nflows": ("BE",), "ping": ("",),
    }  # fmt: skip
    names = [ICMP, *(f"Ping (ms) UDP {name}".strip() for name in more.get(test, ()))]
    return dict(zip(pings, names, strict=False))


def _parameters(test: str, up: int, down: int) -> dict[str, str]:
    both = {"upload_streams": str(up), "download_streams": str(down)}
    wanted = {
        "tcp_nup": ("upload_streams",),
        "tcp_ndown": ("download_streams",),
        "rrul_be_nflows": ("upload_streams", "download_streams"),
    }
    return {name: both[name] for name in wanted.get(test, ())}
