"""Folders that cannot be written and full disks: one message, status 1, no incomplete run that looks complete."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from e2e.conftest import Run

TABLES = {"flows", "tcp_info", "ping", "qdisc", "sojourns", "events"}


def mount(*words: str | Path) -> bool:
    """Whether `mount` succeeded, which needs the superuser."""
    try:
        return subprocess.run(["mount", *map(str, words)], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """An empty disk of 160 kB, which has space for some runs but not all."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not mount("-t", "tmpfs", "-o", "size=160k", "tailback-test", disk):
        pytest.skip("this machine mounts no small disk; cli/test_contract.py limits the size of files instead")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def complete(folder: Path) -> list[Path]:
    """The runs in `folder` that look complete, so that a reader does not skip them."""
    runs = folder / "runs"
    return sorted(run for run in runs.iterdir() if not run.name.startswith(".")) if runs.is_dir() else []


def assert_whole(run: Path) -> None:
    """Whether every table of the run can be read completely and has the length in the manifest."""
    manifest = json.loads((run / "manifest.json").read_text())
    assert json.loads((run / "summary.json").read_text())["goodput_mbps"]["total"] > 0
    assert set(manifest["tables"]) == TABLES
    for name, noted in manifest["tables"].items():
        assert pq.read_table(run / f"{name}.parquet").num_rows == noted["rows"]


def test_a_disk_that_fills_up_ends_the_sweep_and_leaves_only_whole_runs(tailback: Run, small_disk: Path) -> None:
    out = small_disk / "out"
    done = tailback("run", "two.yaml", "--out", out, "--jobs", "1", "--json", status=1)
    assert done.stdout == ""
    assert done.stderr.count("cannot write") == 1
    assert "No space left on device" in done.stderr
    assert "\n  hint: " in done.stderr
    runs = complete(out)
    assert 1 <= len(runs) < 8
    for run in runs:
        assert_whole(run)

    assert mount("-o", "remount,size=20m", small_disk)
    again = tailback("run", "two.yaml", "--out", out)
    assert f"8 complete runs, {len(runs)} of them reused" in again.stderr
    assert len(complete(out)) == 8
    assert [run for run in (out / "runs").iterdir() if run.name.startswith(".")] == []


def test_a_disk_that_is_full_from_the_start_is_reported_before_anything_runs(tailback: Run, small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(160 * 1024))
    done = tailback("run", "two.yaml", "--out", small_disk / "out", status=1)
    assert done.stderr.count("cannot write") == 1
    assert done.stdout == ""
    assert complete(small_disk / "out") == []


def test_a_disk_that_is_read_only_is_reported(tailback: Run, small_disk: Path) -> None:
    assert mount("-o", "remount,ro", small_disk)
    done = tailback("run", "two.yaml", "--out", small_disk / "out", status=1)
    assert f"cannot write `{small_disk / 'out'}`: Read-only file system\n  hint: " in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("out", ["two.yaml/below", "/proc/tailback", "/dev/null/below"])
def test_an_output_path_that_cannot_be_a_folder_is_reported(out: str, tailback: Run, tmp_path: Path) -> None:
    done = tailback("run", "two.yaml", "--out", out, status=1)
    assert done.stderr.count("cannot write") == 1
    assert out in done.stderr
    assert "\n  hint: " in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["two.yaml"]


def test_a_place_without_folders_is_not_taken_for_a_folder_that_was_removed(tailback: Run) -> None:
    done = tailback("run", "two.yaml", "--out", "/proc/tailback", status=1)
    assert "cannot write `/proc/tailback`: no folder can be made there\n  hint: choose another place" in done.stderr


def test_a_file_as_the_results_folder_is_called_a_file(tailback: Run) -> None:
    done = tailback("run", "two.yaml", "--out", "two.yaml", status=2)
    assert "`two.yaml` is a file, not a folder\n  hint: name a folder" in done.stderr


def test_a_missing_testbed_file_leads_to_testbeds(tailback: Run) -> None:
    done = tailback("run", "two.yaml", "--testbed", "missing.yaml", status=2)
    assert "missing.yaml: there is no such file\n  hint: name a testbed file" in done.stderr


def test_a_figure_that_cannot_be_written_is_reported(tailback: Run) -> None:
    tailback("run", "two.yaml", "--out", "out", "--repeat", "1")
    done = tailback("plot", "out", "-o", "two.yaml/figure.png", status=1)
    assert done.stderr.startswith("cannot write `two.yaml")
    assert "`--output`" in done.stderr
