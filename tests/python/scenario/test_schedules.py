"""Schedules that repeat, and paths recorded in a file of times, rates, delays and losses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailback.resolved import Change, Link
from tailback.scenario import ScenarioError, load, loads

FILE = """
duration: 5s
links:
  - {ends: [a, b]KEYS}
traffic:
  - {tcp: a -> b}
"""
S = 10**9


def link_of(keys: str) -> Link:
    return loads(FILE.replace("KEYS", keys)).runs()[0].scenario.links[0]


def of_files(folder: Path, keys: str, **files: str) -> Link:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    file = folder / "e.yaml"
    file.write_text(FILE.replace("KEYS", keys))
    return load(file).runs()[0].scenario.links[0]


def times(link: Link, end: int) -> list[tuple[float, int | None]]:
    return [(change.at_ns / S, change.rate_bps) for change in link.changes(end)]


def test_a_schedule_that_repeats_is_its_changes_in_every_round() -> None:
    short = ", rate: 9mbit, schedule: {every: 2s, changes: [{at: 0s, rate: [1mbit, null]}, {at: 1500ms, rate: 2mbit}]}"
    each = [(0, 1), (1.5, 2), (2, 1), (3.5, 2), (4, 1)]
    written = ", ".join(f"{{at: {at}s, rate: {'[1mbit, null]' if rate == 1 else '2mbit'}}}" for at, rate in each)
    assert link_of(short) == link_of(f", rate: 9mbit, schedule: [{written}]")
    assert times(link_of(short), 1) == [(1.5, 2 * 10**6), (3.5, 2 * 10**6)]


PATH = "t,rate,delay_ms,loss_%\n0,20mbit,30,0\n\n1.5,20mbit,40,1\n2,10mbit,40,1\n"


def test_a_recorded_path_is_the_link_from_its_first_line_on(tmp_path: Path) -> None:
    link = of_files(tmp_path, ", schedule: path.csv", path=PATH)
    assert (link.rate_bps, link.delay_ns) == ((20 * 10**6,) * 2, (30 * 10**6,) * 2)
    assert times(link, 1) == [(0, 20 * 10**6), (1.5, None), (2, 10**7)], "what stays is no change"
    assert [change.delay_ns for change in link.changes(0)] == [30 * 10**6, 40 * 10**6, None]


def test_a_recorded_path_may_repeat_and_the_link_may_begin_otherwise(tmp_path: Path) -> None:
    keys = ", delay: 1ms, schedule: {every: 3s, changes: path.csv}"
    link = of_files(tmp_path, keys, path=PATH)
    assert link.delay_ns == (10**6, 10**6)
    assert [at for at, _ in times(link, 0)] == [0, 1.5, 2, 3, 4.5]


def test_each_direction_may_have_its_own_file_or_none(tmp_path: Path) -> None:
    down = "t_ms,rate_kbit,delay\n0,1000,10ms\n1000,500,20ms\n"
    up = "time (s),delay (ms)\n0,5\n0.5,7\n"
    link = of_files(tmp_path, ", rate: 9mbit, delay: [1ms, 2ms], schedule: [down.csv, up.csv]", down=down, up=up)
    assert times(link, 0) == [(0, 10**6), (0, None), (0.5, None), (1, 500_000)]
    delays = [(change.at_ns // 10**6, change.delay_ns) for change in link.changes(1) if change.delay_ns is not None]
    assert delays == [(0, 2 * 10**6), (0, 5 * 10**6), (500, 7 * 10**6), (1000, 7 * 10**6)]
    one = of_files(tmp_path, ", rate: 9mbit, schedule: [null, down.csv]")
    assert times(one, 1) == [(0, 10**6), (1, 500_000)]


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("{every: 1s}", "is not enough of a schedule"),
        ("{evry: 1s, changes: []}", "is not enough of a schedule"),
        ("{every: 1s, changes: [{at: 2s, rate: 1mbit}]}", "2s after the beginning of a round"),
        ("{every: 1s, changes: [{rate: 1mbit}]}", "a change has no time"),
        ("{every: 1us, changes: [{at: 0s, rate: 1mbit}]}", "5,000,000 changes are more than"),
        ("5", "`5` is not a schedule"),
        ("nothere.csv", "cannot be read: No such file"),
        ("[a.csv, b.csv, c.csv]", "3 files are listed"),
    ],
)
def test_what_is_no_schedule_is_refused_at_its_line(schedule: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        link_of(f", rate: 9mbit, schedule: {schedule}")
    (finding,) = refused.value.findings
    assert message in finding.message
    assert (finding.where.line, finding.path) == (4, "links[0].schedule")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not say which column"),
        ("0,20mbit,30ms\n", "a column of `x.csv` is not one"),
        ("t,rate\n", "has 0 lines of values"),
        ("t,rate\n0,20mbit\n0,20mbit,5ms\n", "line 3 of `x.csv` has 3 values"),
        ("t,rate\n1,20mbit\n0,20mbit\n", "line 3 of `x.csv` is earlier"),
        ("t,rate\n0,20\n", "line 2 of `x.csv` is not a change"),
        ("t,rate_mbit\n0,0\n", "line 2 of `x.csv` is not a change"),
        ("t,rate_parsec\n0,1\n", "the unit of `rate`"),
        ("t,loss\n0,0.1\n", "line 2 of `x.csv` is not a change"),
        ("t,t\n0,0\n", "does not say which column"),
        ("rate_mbit\n5\n", "does not say which column"),
        ("t,rate_mbit\nsecret,5\n", "line 2 of `x.csv` is not a change"),
    ],
)
def test_a_wrong_file_is_refused_without_its_content(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        of_files(tmp_path, ", rate: 9mbit, schedule: x.csv", x=text)
    said = str(refused.value)
    assert message in said
    assert "secret" not in said


def test_changes_of_a_file_are_checked_like_written_ones() -> None:
    with pytest.raises(ScenarioError, match="the link has no rate"):
        link_of(", schedule: {every: 1s, changes: [{at: 0s, rate: 1mbit}]}")
    assert Change(at_ns=0, end=0) not in link_of(", rate: 9mbit, schedule: []").schedule


UCC_5G = """\
Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,DL_bitrate,UL_bitrate,State,\
PINGAVG,PINGMIN,PINGMAX,PINGSTDEV,PINGLOSS,CELLHEX,NODEHEX,LACHEX,RAWCELLID,NRxRSRP,NRxRSRQ
2019.12.14_10.16.30,-8.39,51.88,0,B,11,5G,-95,-12,14.0,12,-,21500,160,D,-,-,-,-,-,b,a2,9c,2,-,-
2019.12.14_10.16.31,-8.39,51.88,0,B,11,5G,-95,-12,14.0,12,-,0,0,D,-,-,-,-,-,b,a2,9c,2,-,-
2019.12.14_10.16.33,-8.39,51.88,0,B,11,5G,-95,-12,-,-,-,-,80,D,30,29,31,1,0,b,a2,9c,2,-,-
"""
GHENT = """\
1453121790686 39287 51.0386528885778 3.73220785642186 250000 1000
1453121791687 40288 51.0386532820580 3.73222847166054 0 1001

1453121792686 41287 51.0386553301824 3.73225142858955 125000 0999
"""
STARLINK = """\
datetimestamp_utc,pop_ping_drop_rate,pop_ping_latency_ms,downlink_throughput_bps,uplink_throughput_bps,snr,scheduled,obstructed
2023-05-01T12:00:00,0.0,40.0,1000.0,1000.0,,True,False
2023-05-01T12:00:01,0.25,60.5,9e6,1000.0,,True,False
2023-05-01T12:00:02,1.0,,0.0,0.0,,True,True
"""


def test_a_recording_of_a_5g_phone_has_two_directions(tmp_path: Path) -> None:
    link = of_files(tmp_path, ", rate: 1mbit, schedule: ['ucc.csv:up', 'ucc.csv']", ucc=UCC_5G)
    assert times(link, 0) == [(0, 160_000), (1, 50_000), (3, 80_000)]
    assert times(link, 1) == [(0, 21_500_000), (1, 50_000)], "a second without a value is like the one before"


def test_a_log_of_what_was_received_is_a_rate_from_the_line_before_on(tmp_path: Path) -> None:
    link = of_files(tmp_path, ", schedule: ghent.csv", ghent=GHENT)
    assert times(link, 0) == [(0, 2_000_000), (1, 50_000), (2.001, 125_000 * 8000 // 999)]
    assert link.rate_bps == (2_000_000, 2_000_000)


def test_a_recording_of_starlink_has_delay_and_loss_and_no_rate(tmp_path: Path) -> None:
    link = of_files(tmp_path, ", rate: 100mbit, schedule: starlink.csv", starlink=STARLINK)
    assert (link.delay_ns, link.rate_bps) == ((20_000_000,) * 2, (10**8,) * 2)
    full = 2**32 - 1
    changes = [
        (each.at_ns // S, each.delay_ns, None if each.netem is None else dict(each.netem).get("loss", 0) / full)
        for each in link.changes(0)
    ]
    assert changes == [(0, 20_000_000, 0), (1, 30_250_000, pytest.approx(0.25)), (2, None, pytest.approx(1))]


@pytest.mark.parametrize(
    ("keys", "text", "said"),
    [
        ("'r.csv:left'", UCC_5G, "`r.csv:left` names no direction"),
        ("r.csv", UCC_5G + "2019,1\n", "line 5 of `r.csv` is not one of this recording"),
        ("r.csv", UCC_5G.replace("21500", "fast"), "line 2 of `r.csv` is not one of this recording"),
        ("r.csv", UCC_5G.replace("21500", "1e999"), "line 2 of `r.csv` is not one of this recording"),
        ("r.csv", GHENT.replace("250000", "9" * 5000), "a column of `r.csv` is not one of a schedule"),
        ("r.csv", UCC_5G.replace("10.16.33", "10.16.30"), "line 4 of `r.csv` is earlier than the line before"),
        ("r.csv", GHENT + "1 2 3\n", "line 5 of `r.csv` is not one of this recording"),
        ("r.csv", GHENT + "9 50000 51 3 10 0\n", "line 5 of `r.csv` is not one of this recording"),
        ("r.csv", STARLINK.replace("0.25", "-0.25"), "line 3 of `r.csv` is not a change of a link"),
    ],
)
def test_a_recording_that_is_damaged_is_refused_with_its_line(tmp_path: Path, keys: str, text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        of_files(tmp_path, f", rate: 1mbit, schedule: {keys}", r=text)
    assert said in str(error.value)
