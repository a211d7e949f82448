"""Results folders that somebody made to hurt: special files, endless ones, forged tables and documents.

A run that cannot be read is left out with one message, which names the file and says what to do, and the others of the
folder are shown; no reader waits or takes more memory than its limits say.
"""

import json
import os
import resource
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tailback
from command import in_process
from tailback.results import NotResults, RunDamaged, open_results
from tailback.results.identity import digest

EXPERIMENT = """\
title: a link
links: [{ends: [a, b], rate: 10mbit, delay: 5ms}]
traffic:
  - {tcp: a -> b, name: upload}
  - {ping: a -> b, interval: 100ms}
duration: 2s
measure: {warmup: 500ms}
vary: {cc: [cubic, reno]}
"""

MEMORY = 2_000_000_000
"""What a reader may take beyond what the test has: far less than the files claim to have."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "a.yaml").write_text(EXPERIMENT)
    tailback.run(folder / "a.yaml", out=folder / "out")
    return folder / "out"


@pytest.fixture
def place(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Makes this process fail, and not the machine, if a reader takes what a forged file asks for."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def sealed(run: Path, name: str, content: bytes) -> None:
    """Puts a forged file into a run, and its size and checksum into the manifest, as a forger would."""
    (run / name).write_bytes(content)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["files"][name] = {"bytes": len(content), "crc32": zlib.crc32(content)}
    if name.endswith(".parquet"):
        manifest["tables"].setdefault(name.removesuffix(".parquet"), {"rows": 1})
    (run / "manifest.json").write_text(json.dumps(manifest))


def instead(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10**12)


SPECIAL: dict[str, Callable[[Path], object]] = {
    "FIFO": os.mkfifo,
    "link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "1 TB of nothing": sparse,
    "loop of links": lambda path: path.symlink_to(path.name),
}


def reported(place: Path, run: str, file: str) -> None:
    """Checks that the report shows the other run, and one message names the run, its file and what to do."""
    done = in_process("report", place, "-o", place.parent / "report.html")
    assert done.stderr.count("left out") == 1, done.stderr
    assert run in done.stderr
    assert f"`{file}`" in done.stderr
    assert "hint: run the same `tailback run …` again" in done.stderr
    assert "reno" in (place.parent / "report.html").read_text()


@pytest.mark.parametrize("make", SPECIAL.values(), ids=SPECIAL)
@pytest.mark.parametrize("name", ["ping.parquet", "manifest.json", "summary.json", "qdiscs.json"])
def test_a_special_file_is_named_and_its_run_left_out(place: Path, name: str, make: Callable[[Path], object]) -> None:
    run = first(place)
    instead(run / name, make)
    found = open_results(place)
    assert [each.folder for each in found.damaged] == [run]
    assert len(found.runs) == 1
    assert f"`{name}` cannot be read: " in str(found.damaged[0])


def first(place: Path) -> Path:
    """The folder of the run of CUBIC."""
    return next(run for run in sorted((place / "runs").iterdir()) if run.name.startswith("cubic"))


def test_every_command_that_reads_a_folder_ends_with_one_message_about_a_fifo(place: Path, tmp_path: Path) -> None:
    run = first(place)
    instead(run / "ping.parquet", os.mkfifo)
    reported(place, run.name, "ping.parquet")
    commands: list[list[str | Path]] = [
        ["plot", place, "-o", tmp_path / "x.svg"], ["export", place, "--csv", "-o", tmp_path / "csv"],
        ["compare", place, place],
    ]  # fmt: skip
    for words in commands:
        done = in_process(*words)
        assert "`ping.parquet` cannot be read: it is not a regular file" in done.stderr, words
    # It is run again, and what was there is kept.
    in_process("run", tmp_path / "out" / "experiment.yaml", "-o", place)
    assert not open_results(place).damaged
    assert (place / "set-aside" / run.name / "ping.parquet").is_fifo()


@pytest.mark.parametrize("make", SPECIAL.values(), ids=SPECIAL)
def test_a_special_file_as_the_list_of_runs_or_the_experiment_is_named(
    place: Path, make: Callable[[Path], object]
) -> None:
    instead(place / "experiment.json", make)
    found = open_results(place)
    assert len(found.runs) == 2
    assert "`experiment.json` does not say what was run" in str(found.damaged[0])


@pytest.mark.parametrize("make", SPECIAL.values(), ids=SPECIAL)
def test_an_experiment_file_that_cannot_be_read_is_left_out_of_the_report_and_written_again(
    place: Path, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    text = (place / "experiment.yaml").read_text()
    (tmp_path / "a.yaml").write_text(text)
    instead(place / "experiment.yaml", make)
    done = in_process("report", place, "-o", tmp_path / "report.html")
    assert f"`{place}/experiment.yaml` is left out" in done.stderr
    in_process("run", tmp_path / "a.yaml", "-o", place)
    assert (place / "experiment.yaml").read_text() == text


def test_an_experiment_file_that_is_not_text_is_left_out_of_the_report(place: Path, tmp_path: Path) -> None:
    (place / "experiment.yaml").write_bytes(b"title: \xff\xfe\n")
    done = in_process("report", place, "-o", tmp_path / "report.html")
    assert "experiment.yaml` is left out: it is not UTF-8 text" in done.stderr
    assert "not UTF-8 text" in (tmp_path / "report.html").read_text()


def columns(**changed: object) -> pa.Table:
    given = {"t": [0.5, 1.0], "ping": ["ping", "ping"], "seq": [1, 2], "rtt_ms": [10.0, 11.0], **changed}
    return pa.table({name: values for name, values in given.items() if values is not None})


def not_utf8() -> pa.Array:
    words = pa.array([b"\xff\xfe", b"\xff\xfe"], pa.binary())
    return pa.Array.from_buffers(pa.string(), 2, words.buffers())


FORGED: dict[str, tuple[pa.Table, str]] = {
    "numbers as words": (columns(t=["0.5", "1"]), "text in the column `t` instead of numbers"),
    "words as numbers": (columns(ping=[1, 2]), "int64 in the column `ping` instead of words"),
    "no time": (columns(t=None), "lacks the column `t`"),
    "unknown time": (columns(t=[None, 1.0]), "has rows without a time"),
    "time is NaN": (columns(t=[float("nan"), 1.0]), "has rows without a time"),
    "time is infinite": (columns(t=[1.0, float("inf")]), "has rows without a time"),
    "nested": (columns(rtt_ms=[[1.0], [2.0]]), "in the column `rtt_ms` instead of numbers"),
    "records": (columns(rtt_ms=[{"a": 1}, {"a": 2}]), "in the column `rtt_ms` instead of numbers"),
    "bytes": (columns(ping=[b"a", b"b"]), "binary in the column `ping` instead of words"),
    "dates": (columns(rtt_ms=pa.array([1, 2], pa.timestamp("ns"))), "in the column `rtt_ms` instead of numbers"),
    "not UTF-8": (columns(ping=not_utf8()), "has words that are not UTF-8 in the column `ping`"),
    "not UTF-8, coded": (
        columns(ping=pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), not_utf8())),
        "has words that are not UTF-8 in the column `ping`",
    ),
    "another table": (pa.table({"x": [1]}), "lacks the column `t`"),
    "many columns": (columns(**{f"c{n}": [1, 2] for n in range(300)}), "columns, more than the limit"),
}


def parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


@pytest.mark.parametrize(("table", "what"), FORGED.values(), ids=FORGED)
def test_a_forged_table_is_named_when_it_is_read_and_its_run_is_repeated(
    place: Path, table: pa.Table, what: str
) -> None:
    run = first(place)
    sealed(run, "ping.parquet", parquet(table))
    found = open_results(place)
    with pytest.raises(RunDamaged, match=r"`ping\.parquet` ") as refused:
        _ = next(each for each in found.runs if each.path == run).ping
    assert what in str(refused.value)
    with pytest.raises(RunDamaged, match=r"`ping\.parquet` "):
        next(each for each in found.runs if each.path == run).columns("ping", ["t", "ping", "rtt_ms"])


def test_a_forged_table_is_left_out_of_figures_and_repeated_if_it_is_analysed_again(place: Path) -> None:
    run = first(place)
    sealed(run, "ping.parquet", parquet(columns(t=None)))
    reported(place, run.name, "ping.parquet")
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "analysis": "another"}))
    done = in_process("run", place / "experiment.yaml", "-o", place)
    assert "`ping.parquet` lacks the column `t`" in done.stderr
    assert len(open_results(place).ping) > 20


def repeated(rows: int) -> bytes:
    """A file of some 100 kB with so many rows of one content."""
    once = pa.table({"t": pa.array([1.0] * 1_000_000), "ping": ["ping"] * 1_000_000, "seq": [1] * 1_000_000,
                     "rtt_ms": [1.0] * 1_000_000})  # fmt: skip
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, once.schema, compression="zstd") as writer:
        for _ in range(rows // len(once)):
            writer.write_table(once)
    return bytes(sink.getvalue())


def long_words() -> bytes:
    """A small file whose words have 20 GB when they are written out for each row."""
    coded = pa.DictionaryArray.from_arrays(pa.array([0] * 200_000, pa.int32()), pa.array(["x" * 100_000]))
    numbers = [1.0] * 200_000
    return parquet(pa.table({"t": numbers, "ping": coded, "seq": numbers, "rtt_ms": numbers}))


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("content", "what"),
    [(lambda: repeated(20_000_000), "has 20000000 rows in "), (long_words, "of words in the column `ping`")],
    ids=["repeated rows", "long words"],
)
def test_a_small_file_with_a_huge_table_is_refused_before_its_rows_are_read(
    place: Path, content: Callable[[], bytes], what: str
) -> None:
    run = first(place)
    sealed(run, "ping.parquet", content())
    assert (run / "ping.parquet").stat().st_size < 2_000_000
    with pytest.raises(RunDamaged, match=what):
        _ = next(each for each in open_results(place).runs if each.path == run).ping


def test_rows_that_repeat_in_a_table_of_usual_size_are_read(place: Path) -> None:
    run = first(place)
    sealed(run, "ping.parquet", repeated(1_000_000))
    assert len(next(each for each in open_results(place).runs if each.path == run).ping) == 1_000_000


def test_truncated_tables_with_matching_checksums_are_named(place: Path) -> None:
    run = first(place)
    whole = (run / "ping.parquet").read_bytes()
    for content in (whole[: len(whole) // 2] + b"PAR1", b"PAR1" * 3, whole[:20] + whole[-200:], b"PAR1PAR1"):
        sealed(run, "ping.parquet", content)
        with pytest.raises(RunDamaged, match=r"`ping\.parquet` "):
            _ = next(each for each in open_results(place).runs if each.path == run).ping


WRONG = [5, "x", [], [5], {}, {"a": "x"}, {"a": [1]}, None, True, [[1]], {"a": {"b": {"c": "x"}}}]
"""Values of other types, one of which is wrong for each key."""


def identified(manifest: dict[str, object]) -> dict[str, object]:
    """The manifest with the identity of its content, as a forger would write it."""
    parts = {key: manifest[key] for key in ("scenario", "measure", "axes", "backend", "fingerprint")}
    return {**manifest, "identity": digest(parts)}


def test_values_of_other_types_in_manifest_or_summary_never_end_a_reader_with_a_traceback(place: Path) -> None:
    run = first(place)
    manifest, summary = (json.loads((run / f"{name}.json").read_text()) for name in ("manifest", "summary"))
    for key in manifest:
        for value in WRONG:
            forged = {**manifest, key: value}
            (run / "manifest.json").write_text(json.dumps(forged if key == "identity" else identified(forged)))
            _read_all(place)
    (run / "manifest.json").write_text(json.dumps(manifest))
    for key in summary:
        for value in WRONG:
            sealed(run, "summary.json", json.dumps({**summary, key: value}).encode())
            _read_all(place)


def _read_all(place: Path) -> None:
    found = open_results(place)
    assert len(found.runs) + len(found.damaged) == 2
    if found.damaged:
        # What is left is the sound run, as ever.
        return
    tailback.tabulate(found)
    _ = found.summary
    tailback.cautions(found)
    for run in found.runs:
        try:
            _ = run.scenario, run.window_ns, run.qdiscs, run.ping
        except NotResults as refused:
            assert "hint: " in str(refused)
