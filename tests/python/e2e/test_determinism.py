"""A run depends only on its scenario and seed. (Seeds and jobs: cli/test_contract.py.)"""

from pathlib import Path

from e2e.conftest import EXPERIMENT, Run


def tables(folder: Path) -> dict[str, bytes]:
    """Every table of every run."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.parquet"))}


def test_a_run_does_not_depend_on_what_runs_beside_it(tailback: Run, tmp_path: Path) -> None:
    tailback("run", "two.yaml", "--out", "all")
    tailback("run", "two.yaml", "--set", "cc=reno", "--set", "repeat=1", "--out", "alone")
    alone = list(tables(tmp_path / "alone").values())
    assert len(alone) == 6
    everything = tables(tmp_path / "all").values()
    assert all(table in everything for table in alone)


def test_a_host_that_is_never_used_changes_nothing_for_the_others(tailback: Run, tmp_path: Path) -> None:
    more = EXPERIMENT.replace("  server:\n", "  server:\n  printer:\n").replace(
        "qdiscs:", "  - {ends: [router, printer], rate: 1gbit}\nqdiscs:"
    )
    (tmp_path / "more.yaml").write_text(more)
    for name in ("two", "more"):
        tailback("run", f"{name}.yaml", "--set", "cc=cubic", "--set", "repeat=1", "--out", name)
    pings = [table for name in ("two", "more") for path, table in tables(tmp_path / name).items() if "ping" in path]
    assert len(pings) == 2
    assert pings[0] == pings[1]
