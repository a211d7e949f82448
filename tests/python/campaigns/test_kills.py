"""A sweep that is killed and resumed a few times; `make campaign` does it a thousand times."""

from pathlib import Path

import pytest

from campaigns import kills

SEED = 14


def test_a_sweep_that_is_killed_repeatedly_gives_the_results_of_an_undisturbed_one(tmp_path: Path) -> None:
    assert kills.campaign(5, SEED, tmp_path).kills == 5


def test_a_sweep_that_is_not_the_same_is_found(tmp_path: Path) -> None:
    (tmp_path / kills.DISTURBED).mkdir()
    (tmp_path / kills.DISTURBED / "x").write_bytes(b"1")
    kills.same(tmp_path, {"x": b"1"})
    with pytest.raises(kills.Different, match="not the same bytes"):
        kills.same(tmp_path, {"x": b"2"})
    (tmp_path / kills.DISTURBED / ".x.partial").write_bytes(b"")
    with pytest.raises(kills.Different, match=r"left over or missing: \['.x.partial'\]"):
        kills.same(tmp_path, {"x": b"1"})
    (tmp_path / kills.DISTURBED / ".x.partial").unlink()
    (tmp_path / kills.DISTURBED / ".y.partial").mkdir()
    with pytest.raises(kills.Different, match="folders left over"):
        kills.same(tmp_path, {"x": b"1"})
