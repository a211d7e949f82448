"""Queues of mac80211, which have no root discipline: they are drawn, or the figure says that they are not."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import tailback
from tailback.plots import PLOTS, Choice, NotDrawable
from tailback.results import Results

FILE = """\
links:
  - wifi: {ap: access, stations: [one, two]}
    standard: 802.11n
    width: 20MHz
    mcs: 7
  - {ends: [access, server], rate: 1gbit, delay: 10ms}
traffic:
  - {tcp: server -> one, name: one, flows: 2}
  - {tcp: server -> two, name: two}
duration: 2s
measure: {warmup: 1s}
vary: {driver: {ath9k: {"links[0].driver": ath9k}, ath9k_htc: {"links[0].driver": ath9k_htc}}}
"""
QUEUE = "access -> air (mac80211)"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("radios")
    (folder / "x.yaml").write_text(FILE)
    return tailback.run(folder / "x.yaml", out=folder / "out")


def of_a_kernel(results: Results) -> Results:
    runs = [replace(run, manifest={**run.manifest, "backend": "uml"}) for run in results.runs]
    return Results(results.path, results.title, results.axes, runs)


def legend(figure: Figure) -> list[str]:
    return [" ".join(text.get_text().split()) for text in figure.legends[0].get_texts()]


def test_the_queues_of_mac80211_are_drawn_where_a_radio_has_no_root_discipline(results: Results) -> None:
    table = PLOTS["queue"].table(results)
    devices = {driver: set(rows["device"]) for driver, rows in table.groupby("driver")}
    assert QUEUE in devices["ath9k"]
    assert "access -> air" in devices["ath9k_htc"]
    assert not any("mac80211" in device for device in devices["ath9k_htc"])
    its = table[table["device"] == QUEUE]
    assert its["value"].max() > 50
    ppdus = results.runs[0].table("wifi")
    ppdus = ppdus[ppdus["from"] == "access"].sort_values("t", kind="stable")
    for t, value, most in its[["t", "value", "most"]].to_numpy():
        until = [0, *ppdus.loc[ppdus["t"] <= t, "queued"]]
        since = len(ppdus[ppdus["t"] <= t - 0.1 + 1e-9])
        assert (value, most) == (until[-1], max(until[since:]))
    said = legend(PLOTS["queue"].draw(table))
    assert QUEUE in said
    assert not any(each.startswith("Not drawn") for each in said)


def test_the_longest_queue_over_time_may_be_one_of_mac80211(results: Results) -> None:
    fast = results.select(driver="ath9k")
    table = PLOTS["band"].table(fast, Choice(metric="queue"))
    queues = PLOTS["queue"].table(fast).groupby("t")["value"].max()
    assert table["mean"].mean() == pytest.approx(queues.mean(), rel=0.05)


def test_a_figure_says_which_queues_of_mac80211_the_run_does_not_have(results: Results) -> None:
    kilobytes = PLOTS["queue"].draw(PLOTS["queue"].table(results, Choice(metric="kB")))
    said = "Not drawn: mac80211's queues at 3 radios, not recorded "
    assert f"{said}in kB (--metric packets may have them)" in legend(kilobytes)
    table = PLOTS["queue"].table(of_a_kernel(results))
    assert np.isnan(table.loc[table["device"] == QUEUE, "value"]).all()
    figure = PLOTS["queue"].draw(table)
    assert f"{said}(table radios: what they dropped)" in legend(figure)


def test_where_no_other_queue_is_known_the_hint_names_the_table(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("quiet")
    (folder / "x.yaml").write_text(FILE)
    slow = "traffic=[{udp: server -> one, rate: 1mbit}]"
    quiet = tailback.run(folder / "x.yaml", settings=[slow], out=folder / "out")
    with pytest.raises(NotDrawable, match=r"hint: not drawn: mac80211's queues at 3 radios.*table radios"):
        PLOTS["queue"].table(of_a_kernel(quiet))
