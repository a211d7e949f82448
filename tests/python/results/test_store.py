"""Results folders: runs are complete or absent, folders are claimed and resumed, nothing is overwritten."""

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from fake_backend import FakeBackend, Nobody, experiment, grid, planned, scenario, tables
from tailback import _core
from tailback.analysis import configurations
from tailback.resolved import of_json, to_json
from tailback.results import (
    ExperimentPlan,
    FolderTaken,
    NotResults,
    ResultsUnwritable,
    RunDamaged,
    Store,
    claim,
    default_folder,
    durable,
    open_results,
    run_name,
)
from tailback.results.identity import HASH_LENGTH, digest
from tailback.results.store import Finished
from tailback.sweep import Sweep, run_all

LONG = 10_000
"""The rows from which a table is long (crates/table/src/parquet.rs)."""

RUN = planned({"cc": "cubic"}, scenario())
PLAN = experiment([RUN])


def finished() -> Finished:
    return Finished(tables(RUN.scenario), {"retransmits": 3}, {"wall_s": 1.0}, "2026-01-01T00:00:00Z", 1.0)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_run_folder_holds_manifest_summary_and_tables(tmp_path: Path) -> None:
    with claim(tmp_path / "x", PLAN) as store:
        folder = store.write(RUN, finished())
    assert names(folder) == [
        "events.parquet", "flows.parquet", "manifest.json", "ping.parquet", "summary.json", "tcp_info.parquet",
            "wifi.parquet",
    ]  # fmt: skip
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["scenario"] == to_json(RUN.scenario)
    assert manifest["axes"] == {"cc": "cubic"}
    assert manifest["measure"]["window_ns"] == [5_000_000_000, 15_000_000_000]
    assert {"tailback", "python", "numpy"} <= set(manifest["versions"])
    assert manifest["started"] == "2026-01-01T00:00:00Z"
    assert json.loads((folder / "summary.json").read_text()) == {"retransmits": 3}


def test_the_identity_of_a_run_is_the_digest_of_what_it_depends_on() -> None:
    whole = {"scenario": to_json(RUN.scenario), "measure": RUN.measure, "axes": dict(RUN.axes), "backend": "sim"}
    assert RUN.identity("sim") == digest({**whole, "fingerprint": RUN.fingerprint})
    assert RUN.name.endswith(digest(to_json(RUN.scenario))[:HASH_LENGTH])


def test_the_files_of_a_run_are_indented_as_python_does(tmp_path: Path) -> None:
    odd = {"é": [1e-05, 1e22, {}, []], "nothing": None, "text": 'a "b" \u2028 \x01'}
    with claim(tmp_path / "x", PLAN) as store:
        folder = store.write(RUN, structs.replace(finished(), summary=odd))
    for name in ("manifest.json", "summary.json", "../../experiment.json"):
        text = (folder / name).read_text()
        assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def test_tables_keep_their_units_and_are_compressed(tmp_path: Path) -> None:
    with claim(tmp_path / "x", PLAN) as store:
        folder = store.write(RUN, finished())
    run = open_results(folder).runs[0]
    assert run.units("tcp_info") == {
        "t": "s", "snd_cwnd": "segments", "rtt": "µs", "total_retrans": "segments",
    }  # fmt: skip
    group = pq.ParquetFile(folder / "flows.parquet").metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    assert {column.compression for column in columns} == {"SNAPPY"}
    assert {column.path_in_schema: written_as(column) for column in columns} == {
        "t": "BYTE_STREAM_SPLIT", "flow": "RLE_DICTIONARY", "bytes": "DELTA_BINARY_PACKED",
    }  # fmt: skip


def test_some_columns_are_read_as_those_of_the_whole_table(tmp_path: Path) -> None:
    with claim(tmp_path / "x", PLAN) as store:
        folder = store.write(RUN, finished())
    run = open_results(folder).runs[0]
    some, whole = run.columns("tcp_info", ("t", "flow", "rtt", "nothing")), run.tcp_info
    assert some.names == ["t", "flow", "rtt"]
    assert some.to_arrow().to_pandas().equals(whole[["t", "flow", "rtt"]])
    with pytest.raises(NotResults, match="has no table `nothing`"):
        run.columns("nothing", ("t",))
    (folder / "tcp_info.parquet").write_bytes(b"PAR1 nothing else PAR1")
    with pytest.raises(RunDamaged, match="has changed"):
        run.columns("tcp_info", ("t",))


def test_a_long_table_is_compressed_more() -> None:
    content = _core.Table.of_arrow(pa.table({"t": [0.1] * LONG})).to_parquet()
    assert pq.ParquetFile(pa.BufferReader(content)).metadata.row_group(0).column(0).compression == "ZSTD"


def written_as(column: Any) -> str:
    """The encoding of the values; the others are those of dictionaries and of absent values."""
    (encoding,) = set(column.encodings) - {"PLAIN", "RLE"}
    return str(encoding)


def test_every_value_is_read_as_it_was_written() -> None:
    columns = {
        "t": pa.array([0.1, None, -1e308, math.inf]),
        "flow": pa.array(["a", None, "a", "µ"]),
        "bytes": pa.array([0, 2**64 - 1, None, 1], pa.uint64()),
        "offset": pa.array([-(2**63), 2**63 - 1, 0, None]),
        "up": pa.array([True, None, False, True]),
    }
    table = pa.table(columns)
    assert pq.read_table(pa.BufferReader(_core.Table.of_arrow(table).to_parquet())).equals(table)


@pytest.mark.parametrize(
    "summary",
    [
        {},
        {"a": [], "b": {}, "c": [[1, {}], [None, True]], "µ": ['\u2028\n"\\']},
        {"x": [1e-7, -0.0, 1e22, 2**70]},
        {"x": math.nan},
    ],
)
def test_json_is_indented_as_by_python(tmp_path: Path, summary: dict[str, Any]) -> None:
    with claim(tmp_path / "x", PLAN) as store:
        folder = store.write(RUN, structs.replace(finished(), summary=summary))
    assert (folder / "summary.json").read_text("utf-8") == json.dumps(summary, indent=2, ensure_ascii=False) + "\n"


def test_the_same_tables_are_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for place in ("a", "b"):
        with claim(tmp_path / place, PLAN) as store:
            folder = store.write(RUN, finished())
        contents.append({file.name: file.read_bytes() for file in folder.glob("*.parquet")})
    assert contents[0] == contents[1]


def test_a_complete_run_is_found_again(tmp_path: Path) -> None:
    with claim(tmp_path / "x", PLAN) as store:
        assert store.complete(RUN) is None
        store.write(RUN, finished())
    with claim(tmp_path / "x", PLAN) as store:
        found = store.complete(RUN)
        assert found is not None
        assert found.summary == {"retransmits": 3}


def test_a_complete_run_is_never_overwritten(tmp_path: Path) -> None:
    with claim(tmp_path / "x", PLAN) as store:
        folder = store.write(RUN, finished())
        before = (folder / "manifest.json").read_bytes()
        with pytest.raises(ResultsUnwritable):
            store.write(RUN, finished())
    assert (folder / "manifest.json").read_bytes() == before
    assert names(folder.parent) == [RUN.name]


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_full_disk_leaves_no_run_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    fsync, written = os.fsync, 0

    def full(descriptor: int) -> None:
        nonlocal written
        if written == after:
            raise OSError(28, "No space left on device")
        written += 1
        fsync(descriptor)

    with claim(tmp_path / "x", PLAN) as store:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ResultsUnwritable, match="No space left on device"):
            store.write(RUN, finished())
    assert names(tmp_path / "x" / "runs") == []


@pytest.mark.parametrize(("duration_s", "flushed"), [(0.9, 0), (1.0, 9)])
def test_a_run_is_flushed_to_the_disk_unless_it_is_quickly_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duration_s: float, flushed: int
) -> None:
    with claim(tmp_path / "x", PLAN) as store:
        descriptors: list[int] = []
        monkeypatch.setattr(os, "fsync", descriptors.append)
        folder = store.write(RUN, structs.replace(finished(), duration_s=duration_s))
    # Its files, the folder, and the folder above it.
    assert len(descriptors) == flushed
    assert len(names(folder)) == 7


@pytest.mark.parametrize("lost", ["all", "manifest.json", "summary.json", "flows.parquet"])
def test_a_run_whose_content_was_lost_with_the_power_is_set_aside_and_repeated(tmp_path: Path, lost: str) -> None:
    """A file that was not flushed may be empty then, though its name is there."""
    with claim(tmp_path / "x", PLAN) as store:
        folder = store.write(RUN, finished())
    for file in folder.iterdir():
        if lost in ("all", file.name):
            file.write_bytes(b"")
    with claim(tmp_path / "x", PLAN) as store:
        assert store.complete(RUN) is None
        assert list(store.damaged) == [RUN.name]
        store.write(RUN, finished())
        assert store.complete(RUN) is not None
    assert names(tmp_path / "x" / "set-aside") == [RUN.name]


def test_a_failed_rename_leaves_no_run_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_from: Path, _to: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    with claim(tmp_path / "x", PLAN) as store:
        monkeypatch.setattr(Path, "rename", refused)
        with pytest.raises(ResultsUnwritable, match="Permission denied"):
            store.write(RUN, finished())
    assert names(tmp_path / "x" / "runs") == []


def test_an_unwritable_folder_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ResultsUnwritable, match="--out"), claim(tmp_path / "file" / "x", PLAN):
        pytest.fail("claimed")


def test_a_folder_of_many_files_has_all_of_them(tmp_path: Path) -> None:
    """More than are open at once: runs may capture the packets of many hosts."""
    files = {str(number): bytes([number]) * number for number in range(2 * durable.OPEN_AT_ONCE + 1)}
    durable.write_folder(tmp_path / "x", files, "now")
    assert {file.name: file.read_bytes() for file in (tmp_path / "x").iterdir()} == files


def test_a_process_killed_while_writing_leaves_nothing_that_looks_complete(tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import os, sys
        from pathlib import Path
        from tailback.results import durable
        print("writing", flush=True)
        fsync, count = os.fsync, 0
        def slow(descriptor):
            global count
            count += 1
            if count == 3:
                print("half", flush=True)
                sys.stdin.read()
            fsync(descriptor)
        os.fsync = slow
        durable.write_folder(Path(sys.argv[1]), {str(number): b"x" for number in range(9)}, "now")
    """)
    target = tmp_path / "x" / "runs" / RUN.name
    with claim(tmp_path / "x", PLAN):
        pass
    command = [sys.executable, "-c", program, str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        assert process.stdout.readline() == "half\n"
        process.send_signal(signal.SIGKILL)
    assert not target.exists()
    assert len(names(target.parent)) == 1
    assert names(target.parent)[0].endswith(durable.PARTIAL)
    # The next claim removes it, and the run can be written.
    with claim(tmp_path / "x", PLAN) as store:
        assert names(target.parent) == []
        store.write(RUN, finished())


def test_the_same_experiment_gets_the_same_default_folder(tmp_path: Path) -> None:
    folder = default_folder("x", PLAN, tmp_path)
    assert folder == tmp_path / "x"
    with claim(folder, PLAN):
        pass
    assert default_folder("x", PLAN, tmp_path) == tmp_path / "x"


def test_a_process_killed_in_its_claim_does_not_block_the_folder(tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").write_text("title: a test\n")
    (tmp_path / ".experiment.json.partial").write_text("{")
    with claim(tmp_path, PLAN) as store:
        store.write(RUN, finished())
    assert open_results(tmp_path).title == "a test"


def test_another_experiment_goes_beside_the_first(tmp_path: Path) -> None:
    with claim(tmp_path / "x", PLAN):
        pass
    other = experiment([planned({"cc": "cubic"}, scenario(seed=2))])
    assert default_folder("x", other, tmp_path) == tmp_path / "x-2"
    with claim(tmp_path / "x-2", other):
        pass
    assert default_folder("x", other, tmp_path) == tmp_path / "x-2"


def test_another_experiment_is_refused_where_the_user_named_the_folder(tmp_path: Path) -> None:
    with claim(tmp_path / "x", PLAN):
        pass
    other = experiment([planned({"cc": "cubic"}, scenario(seed=2))])
    with pytest.raises(FolderTaken, match="--out"), claim(tmp_path / "x", other):
        pytest.fail("claimed")


def test_a_folder_without_results_is_refused_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FolderTaken, match="has other content"), claim(tmp_path, PLAN):
        pytest.fail("claimed")
    assert names(tmp_path) == ["thesis.tex"]


def test_a_grid_that_has_grown_keeps_its_runs(tmp_path: Path) -> None:
    small, large = grid(repetitions=1), grid(repetitions=2)
    with claim(tmp_path / "x", small):
        pass
    with claim(tmp_path / "x", large):
        pass
    assert len(json.loads((tmp_path / "x" / "experiment.json").read_text())["runs"]) == len(large.runs)
    # A smaller grid removes nothing.
    with claim(tmp_path / "x", small):
        pass
    assert len(json.loads((tmp_path / "x" / "experiment.json").read_text())["runs"]) == len(large.runs)


def test_another_build_of_the_backend_is_another_experiment(tmp_path: Path) -> None:
    with claim(tmp_path / "x", PLAN):
        pass
    runs = [structs.replace(run, fingerprint="rebuilt") for run in PLAN.runs]
    rebuilt = ExperimentPlan(PLAN.title, PLAN.source, (), FakeBackend.name, runs)
    assert default_folder("x", rebuilt, tmp_path) == tmp_path / "x-2"


def test_two_processes_do_not_write_into_one_folder(tmp_path: Path) -> None:
    with (
        claim(tmp_path / "x", PLAN),
        pytest.raises(ResultsUnwritable, match="another tailback"),
        claim(tmp_path / "x", PLAN),
    ):
        pytest.fail("claimed twice")


def test_a_failure_is_noted_and_forgotten_once_the_run_succeeds(tmp_path: Path) -> None:
    with claim(tmp_path / "x", PLAN) as store:
        store.write_failure(RUN, "failed", "the ring is on fire")
        note = tmp_path / "x" / "failures" / f"{RUN.name}.json"
        assert json.loads(note.read_text())["error"] == "the ring is on fire"
        assert store.complete(RUN) is None
        store.write(RUN, finished())
        assert not note.exists()


def test_run_names_are_readable_and_safe() -> None:
    name = run_name({"bottleneck": "L10M", "tsq": "1ms", "qdisc": "htb rate 10mbit | fq"}, 3, scenario())
    assert name.startswith("L10M-1ms-htb_rate_10mbit_fq-r3-")
    assert run_name({}, 1, scenario()).startswith("r1-")
    assert run_name({"a": "../.."}, 1, scenario()).startswith("_..-r1-")


def test_the_order_of_keys_does_not_change_a_name() -> None:
    whole = to_json(scenario())
    one, other = scenario(), of_json(dict(reversed(list(whole.items()))))
    assert run_name({}, 1, one) == run_name({}, 1, other)
    assert run_name({}, 1, one) != run_name({}, 1, structs.replace(one, seed=2))


def test_results_are_frames_with_axes_in_front(tmp_path: Path) -> None:
    plan = grid()
    with claim(tmp_path / "x", plan) as store:
        fill(store)
    results = open_results(tmp_path / "x")
    assert [*results.flows.columns] == ["cc", "tsq", "repetition", "t", "flow", "bytes"]
    assert len(results.summary) == len(plan.runs)
    assert results.summary["goodput_mbps.total"].tolist() == [1.0] * len(plan.runs)
    chosen = results.select(cc="bbr", tsq="off")
    assert [run.axes for run in chosen.runs] == [{"cc": "bbr", "tsq": "off"}] * 2
    assert [run.repetition for run in results.select(repetition="2").runs] == [2] * 4
    with pytest.raises(NotResults, match="never `vegas`"):
        results.select(cc="vegas")
    with pytest.raises(NotResults, match="not an axis"):
        results.select(qdisc="fq")


@pytest.mark.parametrize("typed", ["fig5", "results/fgi5", "results/fig5/"])
def test_a_folder_that_does_not_exist_is_compared_with_those_that_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with claim(Path("results/fig-5"), PLAN):
        pass
    with pytest.raises(NotResults, match="does not exist\n  hint: did you mean `results/fig-5`\\?"):
        open_results(typed)


def test_a_folder_without_results_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotResults, match="contains no results"):
        open_results(tmp_path)
    with pytest.raises(NotResults, match="nowhere` does not exist"):
        open_results(tmp_path / "nowhere")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "experiment.json").touch()
    with pytest.raises(NotResults, match=r"has written, as `.*inside` is"):
        open_results(tmp_path)
    with claim(tmp_path / "x", PLAN):
        pass
    with pytest.raises(NotResults, match="no complete run"):
        open_results(tmp_path / "x")


def fill(store: Store) -> None:
    """Every run of the plan, with a made-up summary."""
    for run in store.plan.runs:
        summary = {"goodput_mbps": {"total": 1.0}}
        store.write(run, Finished(tables(run.scenario), summary, {}, "2026-01-01T00:00:00Z", 1.0))


def test_opening_and_tabulating_a_thousand_runs_reads_no_table(tmp_path: Path) -> None:
    with claim(tmp_path / "x", grid()) as store:
        run_all(Sweep(store, FakeBackend(), 2), Nobody())
    for table in (tmp_path / "x").rglob("*.parquet"):
        content = table.read_bytes()
        table.write_bytes(content[:4] + bytes(len(content) - 8) + content[-4:])
    found = open_results(tmp_path / "x")
    assert len(found.summary) == 8
    assert len(configurations([(run.axes, run.summary) for run in found.runs])) == 4


def test_a_folder_with_the_same_runs_by_another_version_says_so(tmp_path: Path) -> None:
    with claim(tmp_path / "x", PLAN):
        pass
    head = json.loads((tmp_path / "x" / "experiment.json").read_text())
    for run in head["runs"]:
        run["identity"] = "0" * 64
    (tmp_path / "x" / "experiment.json").write_text(json.dumps(head))
    with pytest.raises(FolderTaken, match="has these runs, but by another backend"), claim(tmp_path / "x", PLAN):
        pass
