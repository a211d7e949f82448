"""Web pages and videos: what they become, what a run of them measures, and what is refused."""

import math
from pathlib import Path
from typing import Any

import pytest

import tailback
from tailback.backends.linux import suitable
from tailback.resolved.pages import SHAPES
from tailback.scenario import ScenarioError, loads

FILE = """\
links:
  - {ends: [client, server], rate: 100mbit, delay: 10ms}
traffic:
  - %s
duration: 10s
"""


TRACES = Path(__file__).parents[3] / "experiments" / "traces"

CELLULAR = """\
links:
  - {ends: [client, base], delay: 20ms, trace: [%(traces)s/cellular-up.trace, %(traces)s/cellular-down.trace]}
  - {ends: [base, server], rate: 1gbit, delay: 5ms}
traffic:
  - {video: client -> server, rule: bola, ladder: [1mbit, 2mbit, 4mbit, 8mbit, 16mbit], segment: 2s, buffer: 20s}
duration: 100s
"""


def summary(entry: str, folder: Path, *settings: str) -> dict[str, Any]:
    file = folder / "file.yaml"
    file.write_text(FILE % entry)
    return dict(next(iter(tailback.run(file, settings=settings, out=folder / "results").runs)).summary)


def test_the_shapes_have_the_published_files() -> None:
    assert {name: len(shape.objects) for name, shape in SHAPES.items()} == {"desktop": 56, "mobile": 51, "inner": 50}
    for shape in SHAPES.values():
        first, *others = shape.objects
        assert first.after is None
        assert all(each.after is not None and each.after < place for place, each in enumerate(others, start=1))


def test_a_chain_of_small_objects_takes_a_round_trip_each_after_the_handshake(tmp_path: Path) -> None:
    (tmp_path / "chain.txt").write_text("100 0\n100 1\n100 2\n")
    found = summary("{page: client -> server, shape: file chain.txt}", tmp_path)
    assert found["page_load_s"]["p50"] == pytest.approx(4 * 0.020, rel=0.01)
    assert found["byte_index_s"]["p50"] == pytest.approx(3 * 0.020, rel=0.01)


def test_a_page_is_loaded_again_at_its_interval_over_six_connections_or_one(tmp_path: Path) -> None:
    for http in (1, 2):
        folder = tmp_path / str(http)
        folder.mkdir()
        found = summary(f"{{page: client -> server, http: {http}, every: 4s}}", folder)
        assert found["page_load_s"]["n"] == 3
        # 1.9 MB take 0.155 s at 100 Mbit/s, and slow start its round trips.
        assert 0.2 < found["page_load_s"]["p50"] < 0.7
        assert found["pages_unloaded"] == 0


@pytest.mark.parametrize("rule", ["rate", "bola", "hybrid"])
def test_a_video_over_a_fast_link_reaches_the_highest_bitrate_without_a_stall(rule: str, tmp_path: Path) -> None:
    entry = f"{{video: client -> server, rule: {rule}, segment: 1s, buffer: 20s}}"
    found = summary(entry, tmp_path, "duration=60s", "measure={window: [30s, 60s]}")["video"]["video"]
    # A handshake, a request, and the first segment of 44 kB, which slow start sends in three round trips.
    assert found["startup_s"] == pytest.approx(0.090, abs=0.015)
    assert (found["stalled_s"], found["stalls"]) == (0, 0)
    assert found["bitrate_mbps"] == pytest.approx(3, rel=0.1)


def test_the_decisions_of_bola_are_those_of_its_formulas_over_a_cellular_link(tmp_path: Path) -> None:
    """The rung with the largest (V (ln(S/S1) + 5) - Q) / S for the buffer at each request. [spiteri2016]"""
    ladder, segment_s, most = [1.0, 2.0, 4.0, 8.0, 16.0], 2.0, 10
    file = tmp_path / "lte.yaml"
    file.write_text(CELLULAR % {"traces": TRACES})
    run = next(iter(tailback.run(file, out=tmp_path / "results").runs))
    rows = run.table("video")
    utility = [math.log(rate / ladder[0]) for rate in ladder]
    value = (most - 1) / (utility[-1] + 5)
    for buffer_ms, bitrate in zip(rows["buffer_ms"].tolist(), rows["bitrate"].tolist(), strict=True):
        queued = buffer_ms / 1000 / segment_s
        scores = [(value * (v + 5) - queued) / rate for v, rate in zip(utility, ladder, strict=True)]
        assert bitrate / 1e6 == ladder[scores.index(max(scores))]
    assert len(rows) > 20
    assert rows["bitrate"].nunique() >= 4


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{page: client -> server, shape: nice}", "`nice` is not the shape of a page"),
        ("{page: client -> server, shape: file missing.txt}", "cannot be read"),
        ("{page: client -> server, size: 0b}", "`0` bytes leave nothing to ask"),
        ("{page: client -> server, every: 1ms}", "an entry may load it 1,000 times"),
        ("{video: client -> server, ladder: [2mbit, 1mbit]}", "the bitrates do not grow"),
        ("{video: client -> server, ladder: [0mbit]}", "ladder"),
        ("{video: client -> server, buffer: 6s}", "no room for two segments"),
        ("{video: client -> server, startup: 29s}", "never gets so long"),
        ("{video: client -> server, rule: best}", "rule"),
    ],
)
def test_what_cannot_be_is_refused(scenario: Any, entry: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(FILE % entry)


def test_a_kernel_refuses_requests_without_room_for_the_size_of_the_answer_by_name() -> None:
    for entry, expected in (
        ("{video: client -> server, size: 7b}", "the requests of `video` are too short for the size of the answer"),
        ("{page: client -> server, size: 7b}", "the requests of `page` are too short for the size of the answer"),
    ):
        (planned,) = loads(FILE % entry).runs()
        assert expected in [what for what, _ in suitable.findings(planned.scenario)]


@pytest.mark.parametrize(
    ("preset", "names"),
    [
        ("tcp_2up", ["upload.1", "upload.2", "ping"]),
        ("tcp_1down", ["download", "ping"]),
        ("voip", ["call.there", "call.back", "ping"]),
        ("voip-1up", ["upload", "call.there", "call.back", "ping"]),
        ("http-1down", ["download", "page.1", "page.2", "ping"]),
    ],
)
def test_flents_names_are_presets(preset: str, names: list[str]) -> None:
    (planned,) = loads(FILE % f"{{preset: {preset}, hosts: [client, server]}}").runs()
    assert [flow.name for flow in planned.scenario.flows] == names


def test_a_call_beside_rrul_has_its_flows_and_pings() -> None:
    flows = [
        {flow.name for flow in loads(FILE % f"{{preset: {name}, hosts: [client, server]}}").runs()[0].scenario.flows}
        for name in ("rrul_be", "voip-rrul", "rrul_voip")
    ]
    assert flows[1] == flows[2] == flows[0] | {"call.there", "call.back"}
