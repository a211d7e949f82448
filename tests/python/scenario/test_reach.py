"""What cannot get through is warned of before the run."""

import re
from pathlib import Path

import pytest

from tailback.scenario import LintWarning, Where, alike, lint, loads
from tailback.scenario.lint import WARNINGS
from tailback.scenario.reach import AT_THRESHOLD, THRESHOLDS_DB, lost_share, needed_db
from tailback.scenario.wifi import distance_at, snr_at

RUST = Path(__file__).parents[3] / "crates" / "wifi" / "src" / "loss.rs"

CELL = """\
links:
  - {wifi: {ap: router, stations: [near, far]}, standard: 802.11n, width: 40MHz, mcs: 15, KEYS}
  - {ends: [router, server], rate: 1gbit, delay: 1ms}
traffic:
  - {tcp: near -> server, name: near, jitter: 10ms}
  - {tcp: server -> far, name: far, jitter: 10ms}
duration: 20s
measure: {warmup: 5s}
"""

WIRED = """\
links:
  - {ends: [a, b], rate: 100mbit, delay: 5ms}
  - {ends: [b, c], rate: 10mbit, delay: 5ms}
traffic: [{tcp: a -> c, jitter: 10ms}]
duration: 20s
measure: {warmup: 5s}
"""


def found(text: str) -> list[tuple[str, str, str]]:
    unreached = ("out-of-reach", "nothing-passes")
    return [(each.code, each.path, each.text) for each in lint(loads(text)) if each.code in unreached]


def test_the_losses_are_those_of_the_simulator() -> None:
    text = RUST.read_text(encoding="utf-8")
    [table] = re.findall(r"const THRESHOLDS: \[i32; 12\] = \[([0-9, ]+)\]", text)
    assert tuple(int(each) / 100 for each in table.split(",")) == THRESHOLDS_DB
    [errors] = re.findall(r"const AT_THRESHOLD: f64 = ([0-9_.e-]+);", text)
    assert pytest.approx(float(errors.replace("_", "")), rel=1e-5) == AT_THRESHOLD
    # The values that its tests expect.
    assert lost_share(7, 1, 21.0) > 0.8
    assert lost_share(7, 1, 23.0) < 0.001
    assert lost_share(7, 2, 26.02) < 0.001
    assert lost_share(0, 1, 40.0, 0.25) == pytest.approx(0.25)
    assert lost_share(0, 1, -500.0) == pytest.approx(1)


@pytest.mark.parametrize(
    ("first", "schedule", "place"),
    [
        ("40dB", "[{at: 0s, snr: {far: 2dB}}]", "schedule[0].snr.far"),
        ("40dB", "[{at: 0s, distance: {far: 300m}}]", "schedule[0].distance.far"),
        ("40dB", "[{at: 0s, loss: {far: 95%}}]", "schedule[0].loss.far"),
        ("40dB", "[{at: 0s, snr: {far: 50dB}}, {at: 0s, snr: {far: 2dB}}]", "schedule[1].snr.far"),
        ("40dB", "[{at: 4s, snr: {far: 2dB}}]", "schedule[0].snr.far"),
        ("2dB", "[{at: 4s, snr: {near: 30dB}}]", "snr.far"),
        ("2dB", "[{at: 0s, snr: {far: 40dB}}]", None),
        ("2dB", "[{at: 1s, snr: {far: 30dB}}]", None),
        ("2dB", "[{at: 12s, snr: {far: 30dB}}]", None),
        ("40dB", "[{at: 9s, snr: {far: 2dB}}, {at: 12s, snr: {far: 30dB}}]", None),
        ("40dB", "{every: 2s, changes: [{at: 0s, snr: 40dB}, {at: 1.8s, snr: 1dB}]}", None),
    ],
)
def test_a_station_is_warned_of_if_it_is_out_of_reach_whenever_it_is_measured(
    first: str, schedule: str, place: str | None
) -> None:
    keys = f"snr: {{near: 40dB, far: {first}}}, schedule: {schedule}"
    assert [path for _, path, _ in found(CELL.replace("KEYS", keys))] == ([f"links[0].{place}"] if place else [])


def test_a_station_that_is_lost_for_the_rest_is_said_with_the_time_and_one_that_starts_later_is_warned_of() -> None:
    text = CELL.replace("KEYS", "snr: 40dB, schedule: [{at: 9s, snr: {far: 2dB}}]")
    [said] = [each for each in lint(loads(text)) if each.code == "out-of-reach"]
    assert (said.severity, said.text.startswith("from 9s on `far` has an SNR of 2.0 dB")) == ("info", True)
    later = text.replace("name: far", "name: far, start: 10s")
    assert [each.severity for each in lint(loads(later)) if each.code == "out-of-reach"] == ["warning"]


@pytest.mark.parametrize("keys", ["distance: {near: 5m, far: 200m}", "snr: {near: 40dB, far: 2dB}"])
@pytest.mark.parametrize("rate", ["fixed", "minstrel"])
def test_a_station_out_of_range_is_warned_of_with_what_would_reach_it(keys: str, rate: str) -> None:
    [(code, path, text)] = found(CELL.replace("KEYS", f"{keys}, rate: {rate}"))
    assert (code, path) == ("out-of-reach", f"links[0].{keys.split(':', maxsplit=1)[0]}.far")
    assert text.endswith("loses 100 % of its full-sized MPDUs")
    assert ("even the slowest mode" if rate == "minstrel" else "the mode of `mcs` 15") in text


def test_the_distance_of_the_hint_is_near_enough() -> None:
    [warning] = [each for each in lint(loads(CELL.replace("KEYS", "distance: {near: 5m, far: 80m}")))
                 if each.code == "out-of-reach"]  # fmt: skip
    [metres] = re.findall(r"a `distance` of ([0-9]+m) or nearer", warning.remedy)
    assert found(CELL.replace("KEYS", f"distance: {{near: 5m, far: {metres}}}")) == []
    assert found(CELL.replace("KEYS", "distance: {near: 5m, far: 80m}, rate: minstrel")) == []


def test_distance_and_snr_are_inverse() -> None:
    assert distance_at(snr_at(30, "5GHz", 40), "5GHz", 40) == pytest.approx(30)
    assert lost_share(7, 2, needed_db(7, 2)) < 0.01


@pytest.mark.parametrize("loss", ["100%", "{near: 0%, far: 90%}"])
def test_a_loss_that_leaves_nothing_is_warned_of(loss: str) -> None:
    assert {code for code, _, _ in found(CELL.replace("KEYS", f"loss: {loss}"))} == {"out-of-reach"}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("rate: 10mbit", "rate: 10mbit, schedule: [{at: 2s, state: down}]", "b -> c is down"),
        ("rate: 10mbit", "rate: 1kbit", "takes 12112ms for a full-sized frame"),
    ],
)
def test_a_link_that_carries_nothing_is_warned_of(before: str, after: str, told: str) -> None:
    assert found(WIRED) == []
    assert any(told in text for _, _, text in found(WIRED.replace(before, after)))


def test_of_changes_at_one_time_the_last_says_whether_a_link_is_down() -> None:
    def said(*states: str) -> list[tuple[str, str, str]]:
        changes = ", ".join(f"{{at: 0s, state: {state}}}" for state in states)
        return found(WIRED.replace("rate: 10mbit", f"rate: 10mbit, schedule: [{changes}]"))

    assert len(said("up", "down")) == 2
    assert said("down", "up") == []


def test_an_outage_that_ends_in_the_window_is_meant() -> None:
    assert (
        found(WIRED.replace("rate: 10mbit", "rate: 10mbit, schedule: [{at: 2s, state: down}, {at: 9s, state: up}]"))
        == []
    )


@pytest.mark.parametrize("code", WARNINGS)
def test_each_kind_of_warning_is_one_message_however_often_it_is_found(code: str) -> None:
    many = [
        LintWarning(code, "warning", Where("f.yaml", number), f"traffic[{number}]", f"bad {number}", "mend it", number)
        for number in range(2000)
    ]
    [kind] = alike(many)
    assert str(kind) == (
        f"f.yaml:1999: traffic[1999]: warning: bad 1999 [{code}]\n  the worst of 2000; also traffic[0] (line 0), "
        "traffic[1] (line 1), traffic[2] (line 2) and at 1996 more places\n  hint: mend it"
    )


def test_an_axis_of_thirty_one_values_has_one_warning_of_each_kind() -> None:
    delays = ", ".join(f"{each}ms" for each in range(20, 51))
    text = WIRED + f"qdiscs: {{b -> c: pfifo limit 5}}\nvary: {{'links[1].delay': [{delays}]}}\n"
    warnings = [each for each in lint(loads(text)) if each.code == "queue-below-bdp"]
    assert len(warnings) == 31
    [kind] = alike(warnings)
    assert "bandwidth-delay product of 13750" in str(kind) or "137" in str(kind), "that of the longest path"
    assert len(str(kind).splitlines()) == 3
