"""Calls and games: what they become, what a run of them measures, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

import tailback
from tailback.scenario import ScenarioError

FILE = """\
links:
  - {ends: [client, server], rate: 100mbit, delay: 10ms}
traffic:
  - %s
duration: 10s
"""


def flows(scenario: Any, entry: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scenario(FILE % entry)["traffic"]
    return found


def summary(folder: Path, entry: str) -> dict[str, Any]:
    file = folder / "call.yaml"
    file.write_text(FILE % entry)
    (run,) = tailback.run(file, out=folder / "out").runs
    return dict(run.summary)


@pytest.mark.parametrize(
    ("codec", "size", "rate"),
    # A frame of 20 ms and 12 bytes of RTP.
    [("g711", 172, 68_800), ("g729", 32, 12_800), ("opus 24k", 72, 28_800)],
)
def test_a_call_sends_the_packets_of_its_codec_in_both_directions(
    scenario: Any, codec: str, size: int, rate: int
) -> None:
    there, back = flows(scenario, f"{{call: client -> server, codec: {codec}, dscp: EF}}")
    assert [there["name"], back["name"]] == ["call.there", "call.back"]
    assert [(there["from"], there["to"]), (back["from"], back["to"])] == [(0, 1), (1, 0)]
    for each in (there, back):
        assert (each["kind"], each["size"], each["rate_bps"], each["dscp"]) == ("udp", size, rate, 46)
        assert each["media"]["codec"] == codec


def test_the_directions_of_a_game_have_their_own_sizes(scenario: Any) -> None:
    there, back = flows(scenario, "{game: client -> server, tick: 64/s, up: 50b, down: 200b}")
    assert (there["size"], back["size"]) == (50, 200)
    assert (there["rate_bps"], back["rate_bps"]) == (50 * 8 * 64, 200 * 8 * 64)


def test_a_call_alone_has_the_delay_of_its_path_and_the_opinion_of_that_delay(tmp_path: Path) -> None:
    found = summary(tmp_path, "{call: client -> server}")
    # 10 ms, and 172 + 28 + 18 + 20 bytes on a wire of 100 Mbit/s.
    assert found["media_delay_ms"]["call.there"]["p50"] == pytest.approx(10.019, abs=0.01)
    assert found["media_loss"] == {"call.there": 0, "call.back": 0}
    # 20 ms of sound, the path, and a buffer of one frame.
    assert found["mouth_to_ear_ms"]["call.back"] == pytest.approx(50.02, abs=0.02)
    # G.107 for 50 ms without loss: R = 93.2 - 1.45.
    assert found["mos"] == {"call.there": pytest.approx(4.38, abs=0.005), "call.back": pytest.approx(4.38, abs=0.005)}


def test_a_game_has_loss_and_delay_and_no_opinion(tmp_path: Path) -> None:
    found = summary(tmp_path, "{game: client -> server}")
    assert found["media_delay_ms"]["game.there"]["n"] == pytest.approx(200, abs=2)
    assert found["media_jitter_ms"]["game.back"] == pytest.approx(0, abs=1e-6)
    assert "mos" not in found


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{call: client -> server, codec: g722}", "there is no codec `g722`"),
        ("{call: client -> server, buffer: 0ms}", "a jitter buffer of 0"),
        ("{call: client -> server, buffer: big}", "`big`"),
        ("{game: client -> server, tick: 0/s}", "`0/s` is not a tick rate"),
        ("{game: client -> server, tick: fast}", "`fast` is not a tick rate"),
        ("{game: client -> server, up: 0b}", "`0b` does not fit into a datagram"),
        ("{game: client -> server, down: 3kb}", "`3072b` does not fit into a datagram"),
        ("{call: client -> nobody}", "there is no host `nobody`"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(scenario: Any, entry: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(FILE % entry)
