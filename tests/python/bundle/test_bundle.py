"""`tailback bundle` and `tailback rerun`."""

import json
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from command import in_process
from tailback.bundle.contents import BundleWrong, opened
from tailback.bundle.rerun import first_difference

EXPERIMENT = """
title: two queues
links: [{ends: [client, server], rate: 10mbit, delay: 5ms}]
traffic: [{tcp: client -> server, name: upload}, {ping: client -> server}]
duration: 1s
measure: {window: [200ms, 1s]}
vary: {cc: [cubic, bbr]}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bundle")
    (place / "two.yaml").write_text(EXPERIMENT)
    in_process("run", place / "two.yaml", "--out", place / "two")
    (place / "two" / "goodput.png").write_bytes(b"a figure")
    return place / "two"


@pytest.fixture
def bundle(results: Path, tmp_path: Path) -> Path:
    in_process("bundle", results, "-o", tmp_path / "two.zip")
    return tmp_path / "two.zip"


def unpacked(bundle: Path) -> Path:
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(bundle.parent / "unpacked")
    return bundle.parent / "unpacked" / "two"


def packed(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder.parent))
    return target


def test_a_bundle_runs_again_to_the_byte(bundle: Path) -> None:
    done = in_process("rerun", bundle)
    assert "all 12 tables of 2 runs are equal to the byte" in done.stdout


def test_the_same_results_make_the_same_bundle(results: Path, bundle: Path, tmp_path: Path) -> None:
    in_process("bundle", results, "-o", tmp_path / "again" / "two.zip")
    assert (tmp_path / "again" / "two.zip").read_bytes() == bundle.read_bytes()


def test_a_bundle_is_a_results_folder_with_its_figures(bundle: Path) -> None:
    folder = unpacked(bundle)
    assert (folder / "goodput.png").read_bytes() == b"a figure"
    assert "tailback rerun two.zip" in (folder / "README.md").read_text()
    assert "cc: [cubic, bbr]" in (folder / "experiment.yaml").read_text()
    in_process("compare", folder, "cc=cubic", "cc=bbr")


def test_of_a_selection_only_its_runs_are_packed(results: Path, tmp_path: Path) -> None:
    in_process("bundle", results, "--where", "cc=bbr", "-o", tmp_path / "bbr.zip")
    done = in_process("rerun", tmp_path / "bbr.zip", "--json")
    assert json.loads(done.stdout)["runs"] == 1


def test_results_of_another_seed_are_told_with_the_first_difference(results: Path, tmp_path: Path) -> None:
    # The manifest of one run beside the tables of the other, with sums that hold.
    folder = tmp_path / "forged"
    shutil.copytree(results, folder)
    one, other = sorted((folder / "runs").iterdir())
    manifest = json.loads((one / "manifest.json").read_text())
    of_other = json.loads((other / "manifest.json").read_text())
    shutil.copy(other / "tcp_info.parquet", one / "tcp_info.parquet")
    manifest["files"]["tcp_info.parquet"] = of_other["files"]["tcp_info.parquet"]
    manifest["tables"]["tcp_info"] = of_other["tables"]["tcp_info"]
    (one / "manifest.json").write_text(json.dumps(manifest))
    done = in_process("rerun", folder, "--json", status=1)
    (different,) = json.loads(done.stdout)["different"]
    assert (different["run"], different["table"], different["state"]) == (one.name, "tcp_info", "differs")
    assert "before" in different["where"]


def test_a_file_that_was_changed_is_told(bundle: Path) -> None:
    folder = unpacked(bundle)
    (folder / "goodput.png").write_bytes(b"another figure")
    done = in_process("rerun", packed(folder, bundle.parent / "changed.zip"), "--json", status=1)
    assert [each["table"] for each in json.loads(done.stdout)["different"]] == ["goodput.png"]


@pytest.mark.parametrize("files", [{"a": 1}, {"/etc/passwd": {}}, {"a\0b": {"sha256": ""}}, {"../x": {}}, {"a": None}])
def test_a_forged_index_is_told_and_reads_nothing_else(files: dict[str, Any], bundle: Path) -> None:
    folder = unpacked(bundle)
    index = json.loads((folder / "bundle.json").read_text())
    (folder / "bundle.json").write_text(json.dumps({**index, "files": files}))
    done = in_process("rerun", folder, "--json", status=1)
    assert [each["table"] for each in json.loads(done.stdout)["different"]] == list(files)


@pytest.mark.parametrize("index", ["[]", "{", "{}", '{"files": 1}'])
def test_a_folder_with_a_broken_index_is_run_as_a_folder(index: str, bundle: Path) -> None:
    folder = unpacked(bundle)
    (folder / "bundle.json").write_text(index)
    in_process("rerun", folder)


def test_a_damaged_run_is_told(bundle: Path) -> None:
    folder = unpacked(bundle)
    first = sorted((folder / "runs").iterdir())[0]
    (first / "ping.parquet").unlink()
    done = in_process("rerun", folder, status=1)
    assert "damaged" in done.stdout


def test_code_in_a_bundle_is_not_executed_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    in_process("new", "cc", "--python", "own")
    (experiment,) = tmp_path.rglob("*.yaml")
    in_process("run", experiment, "--set", "duration=3s", "--set", "repeat=1", "--out", tmp_path / "out")
    in_process("bundle", tmp_path / "out", "-o", tmp_path / "own.zip")
    refused = in_process("rerun", tmp_path / "own.zip", status=2)
    assert "would execute code" in refused.stderr
    assert "--trust" in refused.stderr
    in_process("rerun", tmp_path / "own.zip", "--trust")


def _link(archive: zipfile.ZipFile) -> None:
    entry = zipfile.ZipInfo("two/link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(entry, "/etc/passwd")


HOSTILE: dict[str, Callable[[zipfile.ZipFile], None]] = {
    "above": lambda archive: archive.writestr("two/../../above", "x"),
    "absolute": lambda archive: archive.writestr("/tmp/absolute", "x"),
    "two-folders": lambda archive: archive.writestr("other/file", "x"),
    "loose": lambda archive: archive.writestr("loose", "x"),
    "backslash": lambda archive: archive.writestr("two\\..\\x", "x"),
    "link": _link,
    "twice": lambda archive: archive.writestr("two/bundle.json", "{}"),
    "file-and-folder": lambda archive: archive.writestr("two/bundle.json/x", "x"),
    "long-name": lambda archive: archive.writestr("two/" + 300 * "x", "x"),
    "large": lambda archive: archive.writestr("two/large.json", b"0" * 200_000_001, zipfile.ZIP_DEFLATED),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_that_is_no_bundle_is_refused(kind: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("two/bundle.json", "{}")
        HOSTILE[kind](archive)
    done = in_process("rerun", tmp_path / "x.zip", status=2)
    assert "hint:" in done.stderr
    assert not (tmp_path.parent / "above").exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"hello", b"PK\x05\x06" + b"\0" * 18])
def test_a_file_that_is_no_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    assert "no bundle" in in_process("rerun", tmp_path / "x.zip", status=2).stderr


@pytest.mark.parametrize("kind", ["fifo", "loop", "nothing", "long", "below a file", "device"])
def test_a_path_that_cannot_be_opened_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "below a file":
        path.write_text("x")
        path /= "y.zip"
    path = {"long": tmp_path / ("x" * 300), "device": Path("/dev/zero")}.get(kind, path)
    with pytest.raises(BundleWrong), opened(path):
        pass


def test_what_goes_wrong_with_the_results_is_not_blamed_on_the_archive(bundle: Path) -> None:
    with pytest.raises(FileNotFoundError), opened(bundle):
        raise FileNotFoundError


def test_a_truncated_bundle_is_refused(bundle: Path) -> None:
    bundle.write_bytes(bundle.read_bytes()[:-100])
    assert "no bundle" in in_process("rerun", bundle, status=2).stderr


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        ({"t": [1.0, 2.0], "a": [1, 2]}, {"t": [1.0, 2.0], "a": [1, 3]}, "row 2, t = 2 s, a: 2 before, 3 now"),
        ({"a": [1, 2], "b": [1, 2]}, {"a": [1, 5], "b": [4, 2]}, "row 1, b: 1 before, 4 now"),
        ({"a": [1]}, {"a": [1, 2]}, "rows: 1 before, 2 now"),
        ({"a": [1]}, {"b": [1]}, "columns: a, b"),
        ({"a": [None, 1.0]}, {"a": [None, 1.0]}, "the same values, written otherwise"),
    ],
)
def test_the_first_difference_is_named(
    before: dict[str, list[float]], after: dict[str, list[float]], where: str
) -> None:
    assert first_difference(pd.DataFrame(before), pd.DataFrame(after)) == where
