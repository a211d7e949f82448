"""The figure of flow completion times."""

from pathlib import Path

import pytest

import tailback
from tailback.plots import PLOTS, NotDrawable

ALONE = """\
links: [{ends: [server, client], rate: 10mbit, delay: 20ms}]
traffic: [{tcp: server -> client, name: web, %s}]
duration: 8s
"""


def test_a_flow_alone_takes_the_round_trips_of_slow_start(tmp_path: Path) -> None:
    """Alone on the link: the handshake, then ten segments in one round trip, and the time of their bits."""
    (tmp_path / "x.yaml").write_text(ALONE % "arrivals: periodic 1/s, size: 14480b")
    results = tailback.run(tmp_path / "x.yaml", out=tmp_path / "out")
    table = PLOTS["fct"].table(results)
    assert len(table) == 7
    assert set(table["x"]) == {14.48}
    # Two round trips of 40 ms, and ten frames of 1,552 bytes at 10 Mbit/s; the handshake's frames take 0.2 ms.
    assert table["value"].to_numpy() == pytest.approx(0.080 + 10 * 1552 * 8 / 10e6, abs=0.0005)
    PLOTS["fct"].draw(table)


def test_without_flows_that_end_there_is_no_figure(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(ALONE % "start: 0s")
    results = tailback.run(tmp_path / "x.yaml", out=tmp_path / "out")
    with pytest.raises(NotDrawable, match="no flow that ended"):
        PLOTS["fct"].table(results)
