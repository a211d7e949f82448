"""Terminals of any encoding, streams that are closed, names that are not UTF-8: no command fails for a character."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from command import in_process
from tailback.cli import show, streams

CLI = [sys.executable, "-c", "from tailback.cli import main; main()"]

ENCODINGS = {
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "C": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
KNOWN = {name: value for name, value in os.environ.items() if name not in ("PYTHONIOENCODING", "PYTHONUTF8", "LC_ALL")}


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_run_prints_its_table_and_its_findings_in_any_encoding(name: str, file: Path) -> None:
    file.write_text(file.read_text().replace("title: two", "title: zwei für 値 two"), encoding="utf-8")
    command = [*CLI, "run", str(file), "--set", "duration=2s"]
    done = subprocess.run(command, env=KNOWN | ENCODINGS[name], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert "±".encode("latin-1") in done.stdout or b"+/-" in done.stdout
    assert b"zwei f" in done.stdout


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252", "koi8-r", "utf-8"])
def test_any_text_is_written_to_any_stream(encoding: str) -> None:
    streams.ready()
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors=streams.PLAINLY, write_through=True)
    text = "33 ±0.1 µs – −3 … ≥ × • ─ 値 é \udce9 \U0001f600"
    stream.write(text)
    assert len(stream.buffer.getvalue()) >= len(text) - 5
    assert streams.as_written("12 ±3", stream).startswith("12 ")


def test_a_document_for_another_encoding_loses_nothing() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="latin-1", write_through=True)
    with mock.patch.object(sys, "stdout", out):
        show.document({"title": "値 ± –"})
    assert json.loads(out.buffer.getvalue().decode("latin-1")) == {"title": "値 ± –"}


@pytest.mark.parametrize(
    "words",
    [
        ["run", "NAME"], ["check", "NAME"], ["plot", "NAME"], ["report", "NAME"], ["compare", "NAME", "NAME"],
        ["run", "demo", "--out", "NAME"], ["plot", "x", "-o", "NAME"], ["import", "pcap", "NAME"], ["drill", "NAME"],
        ["testbed", "check", "NAME"], ["run", "demo", "--reuse", "NAME"], ["new", "calls", "NAME"],
        ["run", "demo", "--set", "title=NAME"],
    ],
)  # fmt: skip
def test_a_word_that_is_not_utf8_is_refused_by_name(words: list[str]) -> None:
    surrogate = os.fsdecode(b"caf\xe9.yaml")
    told = in_process(*(word.replace("NAME", surrogate) for word in words), status=2).stderr
    assert "caf\\xe9.yaml` is not UTF-8" in told
    assert "hint: rename" in told


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_loses_what_is_written_and_nothing_else(closed: str, file: Path) -> None:
    program = "from tailback.cli import main; main()"
    line = f'"{sys.executable}" -c "{program}" run small.yaml --set duration=2s --set repeat=1 --out out {closed}'
    done = subprocess.run(line, shell=True, cwd=file.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    runs = list((file.parent / "out" / "runs").glob("*/summary.json"))
    assert len(runs) == 4
    # No file of ours got the number of a stream, and with it what is printed.
    assert all(json.loads(each.read_text()) for each in runs)
