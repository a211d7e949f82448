"""The delays of datagrams as the agent writes them."""

from pathlib import Path

import pytest

from tailback.backends.linux import tables


def test_datagrams_that_are_alike_are_a_row_with_their_mean_and_extremes(tmp_path: Path) -> None:
    lines = ["t_ns,flow,packets,sum_ns,shortest_ns,longest_ns", '2000000,"a, b",2,10010000,5000000,5010000']
    # Between two machines, a delay may be negative.
    lines += ['3000000,"a, b",1,-70,-70,-70']
    (tmp_path / "delays.csv").write_text("\n".join(lines) + "\n")
    found = tables._read_delays(tmp_path / "delays.csv").to_dict("list")
    assert found == {
        "t": [0.002, 0.003], "flow": ["a, b"] * 2, "packets": [2, 1], "delay_ms": pytest.approx([5.005, -0.00007]),
        "shortest_ms": pytest.approx([5.0, -0.00007]), "longest_ms": pytest.approx([5.01, -0.00007]),
    }  # fmt: skip
