"""Flent files: the real program opens and plots our files, and we read its files of all versions."""

import bz2
import gzip
import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import tailback
from properties import cases
from tailback.formats import NotExportable, NotReadable, export_csv, export_flent, import_files
from tailback.formats.flent import FlentFile, read, write
from tailback.formats.flent.names import named
from tailback.resolved import Observed, to_json
from tailback.results import Results, RunFolder, combined
from waiting import GENEROUS_S

# Runs are short here, so that `tailback.run` warns of their windows.
pytestmark = pytest.mark.filterwarnings("ignore:warning:UserWarning")

FLENT = shutil.which("flent")
NEEDS_FLENT = "flent is missing: scripts/test-packages.sh installs it"

LINES = """
links:
  - {ends: [client, router], rate: 1gbit, delay: 1ms}
  - {ends: [router, server], rate: 1gbit, delay: 1ms}
qdiscs:
  router -> server: htb rate 10mbit | pfifo limit 50
  router -> client: htb rate 10mbit | pfifo limit 50
duration: 14s
measure: {warmup: 1s}
vary:
  cc: [cubic, bbr]
repeat: 2
"""

UP, DOWN = "{tcp: client -> server, name: up", "{tcp: server -> client, name: down"
TIMES = "start: 5s, stop: 9s, jitter: 10ms}"
PING = "{ping: client -> server, interval: 100ms}"
TRAFFIC = {
    "tcp_upload": [f"{UP}, {TIMES}"],
    "tcp_nup": [f"{UP}, flows: 3, {TIMES}"],
    "tcp_download": [f"{DOWN}, {TIMES}"],
    "tcp_ndown": [f"{DOWN}, flows: 3, {TIMES}"],
    "tcp_bidirectional": [f"{UP}, {TIMES}", f"{DOWN}, {TIMES}"],
    "rrul_be": [f"{UP}, flows: 4, {TIMES}", f"{DOWN}, flows: 4, {TIMES}"],
    "rrul_be_nflows": [f"{UP}, flows: 2, {TIMES}", f"{DOWN}, flows: 3, {TIMES}"],
    "udp_flood": ["{udp: client -> server, rate: 8mbit, start: 5s, stop: 9s}"],
    "ping": [],
    **{f"tcp_{count}up": [f"{UP}, flows: {count}, {TIMES}"] for count in (2, 4, 6, 8, 12)},
    **{f"tcp_{count}down": [f"{DOWN}, flows: {count}, {TIMES}"] for count in (2, 4, 6, 8, 12)},
}
PLOTS = {
    "tcp_upload": ("totals", "ping_cdf", "tcp_cwnd", "tcp_rtt", "box_totals"),
    "tcp_nup": (
        "totals",
        "upload",
        "upload_with_ping_and_tcp_rtt",
        "tcp_cwnd",
        "tcp_pacing",
        "backlog",
        "drops",
        "delay",
    ),
    "tcp_download": ("totals", "ping", "tcp_rtt_cdf"),
    "tcp_ndown": ("totals", "download", "ping_cdf", "tcp_cwnd"),
    "tcp_bidirectional": ("totals", "ping_cdf"),
    "rrul": ("all_scaled", "totals", "ping_cdf"),
    "rrul_be": ("all_scaled", "totals", "ping_cdf"),
    "rrul_be_nflows": ("all_scaled",),
    "udp_flood": ("totals", "ping", "ping_cdf"),
    "ping": ("ping",),
}


PRESETS = {
    "voip": ("voip_delay", "voip_delay_cdf", "voip_loss", "voip_bitrate", "voip_mos_combine"),
    "voip-1up": ("totals_loss", "voip_delay_cdf", "voip_mos_upload"),
    "voip-rrul": ("totals_loss", "ping_delay"),
    "http": ("http_delay", "http_delay_cdf"),
    "http-1up": ("totals", "http_delay_cdf"),
    "http-1down": ("totals",),
    "http-rrul": ("http_delay", "totals"),
    "tcp_2up": ("totals", "upload"),
    "tcp_12down": ("totals", "download"),
}
"""Presets that are exported under their own names, and plots of their tests."""


def results(folder: Path, test: str, *settings: str) -> Results:
    traffic = "\n".join(f"  - {entry}" for entry in [*TRAFFIC[test], PING])
    file = folder / f"{test}.yaml"
    file.write_text(f"title: {test}\n{LINES}traffic:\n{traffic}\n")
    return tailback.run(file, settings=settings, out=folder / "-".join((test, *settings)))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flent")


@pytest.fixture(scope="session")
def nup(folder: Path) -> Results:
    """Three uploads, two controls, two repetitions."""
    return results(folder, "tcp_nup")


def flent(home: Path, *words: str | Path) -> str:
    """The messages of Flent, which exits with 0 even after an error."""
    assert FLENT, NEEDS_FLENT
    # Without this environment: Debian's Python has Flent's packages, ours does not.
    # All share the list of fonts that matplotlib makes.
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "MPLCONFIGDIR": str(home.parent), "TMPDIR": str(home)}
    done = subprocess.run(
        [FLENT, *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=GENEROUS_S,
        check=True,
        cwd=home,
    )
    said = done.stdout + done.stderr
    assert "ERROR" not in said, said
    assert "Traceback" not in said, said
    return said


def drawn(home: Path, files: list[Path], plot: str) -> None:
    """Lets Flent draw `plot`; something must be visible inside the axes."""
    inputs = [word for file in files for word in ("-i", str(file))]
    target = home / f"{plot}.png"
    flent(home, *inputs, "-p", plot, "-o", target)
    with Image.open(target) as picture:
        pixels = np.asarray(picture.convert("HSV"))
    height, width = pixels.shape[:2]
    inside = pixels[int(0.15 * height) : int(0.88 * height), int(0.06 * width) : int(0.7 * width)]
    marks = (inside[:, :, 1] > 60).sum() + (inside[:, :, 2] < 120).sum()
    assert marks > 100, f"{plot} is empty"


@pytest.mark.parametrize("test", PLOTS)
def test_flent_draws_every_test_that_is_exported(folder: Path, tmp_path: Path, test: str) -> None:
    """The first plot of each test shows whether the whole file was read."""
    draws(folder, tmp_path, test, PLOTS[test][:1])


@pytest.mark.campaign
@pytest.mark.parametrize("test", PLOTS)
def test_flent_draws_every_plot_of_every_test(folder: Path, tmp_path: Path, test: str) -> None:
    draws(folder, tmp_path, test, PLOTS[test])


def draws(folder: Path, home: Path, test: str, plots: tuple[str, ...]) -> None:
    found = results(folder, "rrul_be" if test == "rrul" else test, "cc=bbr", "repeat=1")
    (file,) = export_flent(found, home / "out", test if test == "rrul" else None)
    assert json.loads(gzip.decompress(file.read_bytes()))["metadata"]["NAME"] == test
    for plot in plots:
        drawn(home, [file], plot)


def of_preset(folder: Path, preset: str, keys: str = "") -> Path:
    """The file of one run of a preset with further keys."""
    file = folder / f"{preset}.yaml"
    lines = LINES.partition("measure:")[0]
    file.write_text(f"title: {preset}\n{lines}traffic: [{{preset: {preset}, hosts: [client, server], {keys}}}]\n")
    (exported,) = export_flent(tailback.run(file, out=folder / preset), folder / "out")
    assert json.loads(gzip.decompress(exported.read_bytes()))["metadata"]["NAME"] == preset
    return exported


@pytest.mark.parametrize("preset", ["voip-1up", "http"])
def test_flent_draws_presets_of_applications_under_their_names(tmp_path: Path, preset: str) -> None:
    drawn(tmp_path, [of_preset(tmp_path, preset)], PRESETS[preset][0])


@pytest.mark.parametrize("preset", ["rrul", "rrul_be", "tcp_bidirectional"])
def test_a_preset_with_a_name_of_its_own_is_exported_as_its_test(tmp_path: Path, preset: str) -> None:
    assert of_preset(tmp_path, preset, "name: home").is_file()


@pytest.mark.campaign
@pytest.mark.parametrize("preset", PRESETS)
def test_flent_draws_every_plot_of_every_preset(tmp_path: Path, preset: str) -> None:
    file = of_preset(tmp_path, preset)
    for plot in PRESETS[preset]:
        drawn(tmp_path, [file], plot)


def test_each_datagram_of_a_call_is_in_the_file(tmp_path: Path) -> None:
    """A line with room for it loses none."""
    document = json.loads(gzip.decompress(of_preset(tmp_path, "voip").read_bytes()))
    datagrams = document["raw_values"]["VoIP"]
    assert [each["seq"] for each in datagrams] == list(range(len(datagrams)))
    assert len(datagrams) == 700
    assert {round(each["val"], 2) for each in datagrams} == {2.0}
    assert set(document["results"]["VoIP::loss"][1:]) == {0.0}


def test_a_test_of_calls_is_refused_for_a_run_without_one(nup: Results, tmp_path: Path) -> None:
    for test, said in (("voip", "needs a call"), ("http-1up", "needs a page")):
        with pytest.raises(NotExportable, match=said):
            export_flent(nup, tmp_path / "out", test)


CELL = """
title: a cell
links:
  - {wifi: {ap: router, stations: [near, far]}, standard: 802.11n, width: 20MHz, mcs: {near: 15, far: 3}, driver: ath9k}
  - {ends: [router, server], rate: 1gbit, delay: 1ms}
traffic:
  - {tcp: server -> near, name: near, start: 5s, stop: 8s}
  - {tcp: server -> far, name: far, start: 5s, stop: 8s}
  - {ping: server -> near, interval: 100ms}
duration: 13s
measure: {warmup: 1s}
"""


def test_flent_draws_the_air_of_a_cell(tmp_path: Path) -> None:
    """The first plot has `airtime_rx` and `airtime_tx` above each other."""
    file = tmp_path / "cell.yaml"
    file.write_text(CELL)
    found = tailback.run(file, out=tmp_path / "cell")
    (written,) = export_flent(found, tmp_path / "out")
    for plot in ("airtime", "airtime_total_combine", "aggregation"):
        drawn(tmp_path, [written], plot)
    raw = read(written).raw_values["wifi_stats_router"]
    sent = sum(row["stations"]["far"]["airtime_tx"] for row in raw)
    ppdus = found.runs[0].table("wifi")
    assert sent == pytest.approx(ppdus[(ppdus["from"] == "router") & (ppdus["to"] == "far")]["duration_us"].sum())


def test_udp_floods_have_their_test() -> None:
    flood = [Observed(name="flood", kind="udp"), Observed(name="ping", kind="ping")]
    words = named(flood, {}, None)
    assert words.test == "udp_flood"
    assert words.series == {"flood": "UDP upload", "ping": "Ping (ms) ICMP"}


def test_flent_groups_repetitions_of_a_configuration(nup: Results, tmp_path: Path) -> None:
    files = export_flent(nup, tmp_path / "out")
    assert [file.name for file in files][:2] == [f"tcp_nup-tcp_nup-cubic-{n:02d}.flent.gz" for n in (1, 2)]
    drawn(tmp_path, files, "box_totals_combine")
    inputs = [word for file in files for word in ("-i", str(file))]
    flent(tmp_path, *inputs, "-p", "box_totals_combine", "-o", tmp_path / "grouped.svg")
    svg = (tmp_path / "grouped.svg").read_text()
    assert "cubic (n=2)" in svg
    assert "bbr (n=2)" in svg


def test_the_means_of_raw_values_are_those_of_flent(nup: Results, tmp_path: Path) -> None:
    run = nup.runs[0]
    (file, *_) = export_flent(nup, tmp_path / "out")
    said = flent(tmp_path, "-i", file, "-f", "stats_csv")
    table = pd.read_csv(io.StringIO(said[said.index("filename") :])).set_index("series")
    raw = read(file).raw_values["Ping (ms) ICMP"]
    assert float(table["mean"]["Ping (ms) ICMP"]) == pytest.approx(np.mean([row["val"] for row in raw]), abs=1e-9)
    replies = run.ping.dropna(subset=["rtt_ms"])
    assert len(raw) == len(replies[(replies["t"] >= 0.0) & (replies["t"] <= 14.01)])


def test_the_metadata_contains_the_whole_experiment(nup: Results, tmp_path: Path) -> None:
    (file, *_) = export_flent(nup, tmp_path / "out")
    said = flent(tmp_path, "-i", file, "-f", "metadata")
    held = json.loads(said[said.index("[") : said.rindex("]") + 1])[0]["TAILBACK"]
    assert held["manifest"]["scenario"] == to_json(nup.runs[0].scenario)
    assert held["manifest"]["seed"] == nup.runs[0].seed


def test_the_rows_of_a_queue_are_its_counters_and_what_they_grew_by(nup: Results, tmp_path: Path) -> None:
    run = nup.runs[0]
    rows = read(export_flent(nup, tmp_path, None)[0]).raw_values["qdisc_stats_router-to-server"]
    roots = run.qdisc[(run.qdisc["device"] == "router -> server") & (run.qdisc["depth"] == 0)]
    assert len(rows) == len(roots) > 100
    assert [row["sent_bytes"] for row in rows] == roots["sent_bytes"].to_list()
    dropped = roots["dropped"].astype(np.float64)
    assert [row["dropped"] for row in rows] == dropped.diff().fillna(dropped).to_list()
    departed = roots["sent_bytes"].astype(np.float64).diff()
    delays = (roots["backlog_bytes"] / departed * 0.1 * 1e3).where(departed > 0, 0.0)
    assert [row["delay"] for row in rows] == delays.to_list()


def test_a_file_of_flows_and_pings_is_made_without_frames(
    nup: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(_run: RunFolder, name: str) -> pd.DataFrame:
        raise AssertionError(f"a sweep has a thousand tables like {name}")

    monkeypatch.setattr(RunFolder, "table", made)
    assert export_flent(nup, tmp_path, None)


def test_an_exported_file_can_be_imported(nup: Results, tmp_path: Path) -> None:
    back = tailback.open(import_files("flent", export_flent(nup, tmp_path / "out"), tmp_path / "back", {}))
    assert [run.labels for run in back.runs] == [run.labels for run in nup.runs]
    for there, here in zip(nup.runs, back.runs, strict=True):
        totals = [run.flows.groupby("flow")["bytes"].sum().to_dict() for run in (there, here)]
        assert totals[0] == pytest.approx(totals[1], abs=2)
        # Flent's axis has five seconds before the load, as this experiment has: the times are equal.
        assert here.summary["goodput_mbps"]["total"] == pytest.approx(there.summary["goodput_mbps"]["total"], rel=0.3)
        inside = there.ping[there.ping["t"].between(0, 13.9)].dropna()
        assert here.ping["rtt_ms"].tolist()[: len(inside)] == pytest.approx(inside["rtt_ms"].tolist(), abs=1e-6)
        assert set(here.tcp_info["snd_cwnd"]) <= set(there.tcp_info["snd_cwnd"])


def test_testbed_data_and_simulations_fit_into_one_figure(nup: Results, tmp_path: Path) -> None:
    back = tailback.open(
        import_files("flent", export_flent(nup, tmp_path / "out"), tmp_path / "testbed", {"bed": "lab"})
    )
    both = combined([nup, back])
    assert both.axes["results"] == ["tcp_nup", "testbed"]
    assert both.axes["bed"] == ["–", "lab"]
    from tailback.plots import PLOTS

    table = PLOTS["bar"].data(both)
    assert len(table) == 3 * 2 * 2
    PLOTS["candlestick"].draw(PLOTS["candlestick"].data(both))


def test_csv_holds_every_table_with_its_place_in_the_grid(nup: Results, tmp_path: Path) -> None:
    files = export_csv(nup, tmp_path / "csv")
    assert {file.stem for file in files} == {"flows", "tcp_info", "ping", "qdisc", "events", "summary"}
    table = pd.read_csv(tmp_path / "csv" / "flows.csv")
    assert table.columns[:2].tolist() == ["cc", "repetition"]
    assert len(table) == sum(len(run.flows) for run in nup.runs)


def test_a_test_without_a_place_for_the_flows_is_refused(nup: Results, tmp_path: Path) -> None:
    for test, said in (("tcp_upload", "no place"), ("voips", "tcp_nup")):
        with pytest.raises(NotExportable, match=said):
            export_flent(nup, tmp_path / "out", test)


FIRST = {
    "x_values": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
    "results": {
        "TCP upload": [None, 10.0, 10.0, 20.0, 20.0, 20.0],
        "Ping (ms) ICMP": [1.0, 2.0, 3.0, None, 5.0, 6.0],
        "TCP upload avg": [1.0] * 6,
    },
    "metadata": {
        "NAME": "tcp_upload",
        "TITLE": "my bed",
        "HOST": "h",
        "SERIES_META": {"TCP upload": None},
        "LENGTH": 1,
    },
}


def file_of(folder: Path, document: Any, ending: str = ".flent") -> Path:
    path = folder / f"x{ending}"
    text = json.dumps(document).encode()
    path.write_bytes(gzip.compress(text) if ending == ".gz" else bz2.compress(text) if ending == ".bz2" else text)
    return path


@pytest.mark.parametrize("version", [1, 2, 3, 4])
@pytest.mark.parametrize("key", ["val", "t", "dur", "dropped", "backlog_bytes", "tcp_cwnd"])
def test_a_number_that_no_float_holds_is_no_sample(version: int, key: str, tmp_path: Path) -> None:
    rows = [{"t": 1.0 + place / 5, "val": 5.0, "dur": 0.2, "dropped": place} for place in range(4)]
    raw = {name: [dict(row) for row in rows] for name in ("TCP upload", "Ping (ms) UDP BE", "qdisc_stats_r")}
    for name in raw:
        raw[name][2][key] = 10**400
    path = file_of(tmp_path, {**FIRST, "version": version, "raw_values": raw})
    try:
        found = tailback.open(import_files("flent", [path], tmp_path / "out", {}))
    except NotReadable:
        return
    for table in (found.runs[0].table(name) for name in found.runs[0].manifest["tables"]):
        assert np.isfinite(table.select_dtypes("number").to_numpy(dtype=float, na_value=0)).all()


@pytest.mark.parametrize("ending", [".flent", ".gz", ".bz2"])
def test_the_first_version_is_read_from_its_grid(tmp_path: Path, ending: str) -> None:
    results_ = tailback.open(import_files("flent", [file_of(tmp_path, FIRST, ending)], tmp_path / "out", {}))
    (run,) = results_.runs
    assert run.axes == {"title": "my bed"}
    assert run.ping["rtt_ms"].tolist() == [1, 2, 3, 5, 6]
    # 10 Mbit/s for two steps and 20 for three.
    assert run.flows["bytes"].sum() == pytest.approx((2 * 10 + 3 * 20) * 0.2e6 / 8, abs=1)
    assert set(run.flows["flow"]) == {"upload"}


def test_older_files_have_rates_and_counters(tmp_path: Path) -> None:
    raw = {
        "Ping (ms) UDP BE": [{"t": 1.0, "val": 50.0, "dur": 0.2}, {"t": 1.2, "val": 0.0, "dur": 0.2}],
        "qdisc_stats_r": [{"t": 1.0, "dropped": 3, "backlog_bytes": 1}, {"t": 1.2, "dropped": 5, "backlog_bytes": 2}],
        "HTTP latency": [{"t": 1.0, "val": 0.5}],
    }
    old = read(file_of(tmp_path, {**FIRST, "version": 3, "raw_values": raw})).raw_values
    assert old["Ping (ms) UDP BE"][0]["val"] == 20.0
    assert "val" not in old["Ping (ms) UDP BE"][1]
    assert [row["dropped"] for row in old["qdisc_stats_r"]] == [3, 2]
    assert old["HTTP latency"][0]["val"] == 500.0
    new = read(file_of(tmp_path, {**FIRST, "version": 4, "raw_values": raw})).raw_values
    assert [row["dropped"] for row in new["qdisc_stats_r"]] == [3, 5]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a Flent data file"),
        (b"\x1f\x8b\x08broken", "not a Flent data file"),
        (gzip.compress(b'{"metadata": {}', mtime=0)[:-9], "not a Flent data file"),
        (b"BZh9nothing", "not a Flent data file"),
        (b"[1, 2]", "`metadata`"),
        (b'{"metadata": {}, "version": 9, "x_values": []}', "version is 9"),
        (b'{"metadata": {}, "x_values": ["a"]}', "`x_values`"),
        (b'{"metadata": {}, "x_values": [1], "results": {"a": []}}', "not as long"),
        (b'{"metadata": {}, "x_values": [], "results": {"a": 5}}', "`results`"),
        (b'{"metadata": {}, "version": 4, "x_values": [], "raw_values": []}', "`raw_values`"),
        (b'{"metadata": {}, "version": 4, "x_values": [], "raw_values": {}}', "no samples"),
        (b"[" * 200_000, "not a Flent data file"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{len(value)} bytes",
)
def test_a_broken_file_is_refused_in_words(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.flent"
    path.write_bytes(content)
    with pytest.raises(NotReadable, match=said) as refusal:
        import_files("flent", [path], tmp_path / "out", {})
    assert "hint: " in str(refusal.value)


BOMB = b'{"metadata": {}, "x_values": [' + b" " * 10_000_000 + b"]}"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_no_more_is_unpacked_than_a_file_may_have(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailback.formats.flent.reader.MAX_BYTES", 1_000_000)
    path = tmp_path / "x.flent"
    path.write_bytes(pack(BOMB))
    with pytest.raises(NotReadable, match=r"is not read: it has .* bytes.*\n  hint: "):
        import_files("flent", [path], tmp_path / "out", {})


def test_no_more_values_are_read_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailback.formats.flent.reader.MAX_VALUES", 1000)
    path = tmp_path / "x.flent"
    path.write_bytes(b'{"metadata": {}, "x_values": [' + b"[]," * 600 + b"0]}")
    with pytest.raises(NotReadable, match="has more than 1000 values"):
        read(path)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for kind in ("flent", "pcap"):
        for path in (tmp_path / "fifo", Path("/dev/zero")):
            with pytest.raises(NotReadable, match=r"it is not a regular file\n  hint: "):
                import_files(kind, [path], tmp_path / "out", {})


def test_errors_do_not_quote_files_that_are_not_of_flent(tmp_path: Path) -> None:
    path = tmp_path / "x.flent"
    for content in (b"root:SECRET:0:0", b'{"metadata": {}, "version": "SECRET"}', b"\xffSECRET"):
        path.write_bytes(content)
        with pytest.raises(NotReadable) as refused:
            read(path)
        assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize(
    ("samples", "told"),
    [
        ([{"t": 0, "val": 1}, {"t": 9e6, "val": 1}], "which is too much"),
        ([{"t": place / 10, "val": 1, "dur": 1e9} for place in range(1000)], "last longer than it does"),
    ],
    ids=["times", "durations"],
)
def test_few_samples_need_little_memory_whatever_their_times(samples: list[Any], told: str, tmp_path: Path) -> None:
    document = {"metadata": {"STEP_SIZE": 0.01}, "version": 4, "x_values": [], "raw_values": {"TCP upload": samples}}
    with pytest.raises(NotReadable, match=told):
        import_files("flent", [file_of(tmp_path, document)], tmp_path / "out", {})


NUMBERS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3))
ROW = st.dictionaries(
    st.sampled_from(["t", "val", "dur", "seq", "tcp_cwnd", "tcp_rtt", "dropped"]), NUMBERS, max_size=5
)
NAMES = st.sampled_from(["TCP upload", "TCP download::1", "Ping (ms) ICMP", "Ping (ms) UDP BE", "qdisc_stats_r", "x"])
METADATA = st.dictionaries(
    st.sampled_from(["NAME", "TITLE", "T0", "STEP_SIZE", "LENGTH", "SERIES_META", "TAILBACK", "NOTE"]),
    st.one_of(NUMBERS, st.dictionaries(st.sampled_from(["manifest", "series", "TCP upload"]), NUMBERS, max_size=3)),
)
DOCUMENTS = st.fixed_dictionaries(
    {"metadata": METADATA},
    optional={
        "version": st.integers(0, 5),
        "x_values": st.lists(st.floats(0, 10), max_size=4),
        "results": st.dictionaries(NAMES, st.lists(NUMBERS, max_size=4), max_size=3),
        "raw_values": st.dictionaries(NAMES, st.lists(ROW, max_size=6), max_size=4),
    },
)


@settings(max_examples=cases(250), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(document=DOCUMENTS)
def test_any_document_is_imported_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]
) -> None:
    folder_ = tmp_path_factory.mktemp("any")
    try:
        import_files("flent", [file_of(folder_, document)], folder_ / "out", {})
    except NotReadable as refusal:
        assert "hint: " in str(refusal)


@settings(max_examples=cases(200), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(content=st.binary(max_size=300), start=st.sampled_from([b"", b"\x1f\x8b\x08\x00", b"BZh9", b'{"metadata": {']))
def test_any_bytes_are_read_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, start: bytes
) -> None:
    path = tmp_path_factory.mktemp("bytes") / "x.flent"
    path.write_bytes(start + content)
    try:
        read(path)
    except NotReadable as refusal:
        assert "hint: " in str(refusal)


def test_writing_and_reading_again_changes_nothing(nup: Results, tmp_path: Path) -> None:
    (file, *_) = export_flent(nup, tmp_path / "out")
    found = read(file)
    (tmp_path / "again.flent.gz").write_bytes(write(found))
    assert read(tmp_path / "again.flent.gz") == found
    assert isinstance(found, FlentFile)
