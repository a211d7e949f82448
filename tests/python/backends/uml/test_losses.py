"""Packets that a link loses on a kernel count as drops, under the device that sent them."""

from pathlib import Path

import tailback
from tailback.backends.uml import Uml

LOSSY = """
title: a link that loses packets
links: [{ends: [a, b], delay: 5ms, loss: [2%, null], corrupt: [1%, null],
         schedule: [{at: 3s, state: down}, {at: 3500ms, state: up}]}]
traffic:
  - {udp: a -> b, name: there, rate: 2mbit, size: 500b}
  - {udp: b -> a, name: back, rate: 2mbit, size: 500b}
duration: 5s
measure: {warmup: 0s, window: [0s, 5s]}
"""


def test_losses_of_links_are_drops_with_a_reason(uml: Uml, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(LOSSY)
    (run,) = tailback.run(tmp_path / "x.yaml", backend=uml.name, out=tmp_path / "out").runs
    assert set(run.summary["drops"]) == {"a -> b", "b -> a"}
    counted = run.table("udp").groupby("flow")[["sent", "received"]].sum()
    sent, received = (counted[column].to_dict() for column in ("sent", "received"))
    for name, device in (("there", "a -> b"), ("back", "b -> a")):
        assert set(run.summary["drops"][device]) == {"link_loss"}
        # The last datagrams are on their way at the end.
        gone = int(sent[name]) - int(received[name])
        assert abs(run.summary["drops"][device]["link_loss"] - gone) <= 4
    # Half a second of 2.5 s is down; the way there also loses 2 and 1 %.
    assert run.summary["drops"]["a -> b"]["link_loss"] > run.summary["drops"]["b -> a"]["link_loss"] + 20
