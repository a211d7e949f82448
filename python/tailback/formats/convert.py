"""Converts whole results folders to files of other programs, and files of other programs to results folders."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tailback.formats import flent, pcap, qlog, summaries, teacup
from tailback.formats.errors import NotReadable
from tailback.limits import FileRefused, read_regular
from tailback.results import Results
from tailback.results.durable import make_folder, write_file
from tailback.tc import units
from tailback.tc.errors import WordError

TABLES = ("flows", "tcp_info", "ping", "qdisc", "events")

Import = Callable[[Sequence[Path], Path, Mapping[str, str]], Path]

IMPORTS: Mapping[str, Import] = {"flent": flent.import_files, "pcap": pcap.import_files, "qlog": qlog.import_files}
"""Importers by format."""


def import_files(kind: str, files: Sequence[Path], folder: Path, axes: Mapping[str, str]) -> Path:
    """Imports files as the results folder `folder`; returns it."""
    if kind not in IMPORTS:
        raise NotReadable(f"`{kind}` cannot be imported\n  hint: use one of {', '.join(IMPORTS)}, teacup")
    return IMPORTS[kind](files, folder, axes)


def choice_of(flows: Sequence[str], ports: Sequence[int], window: str | None) -> pcap.Choice:
    """Which flows of a capture, and over which time; `window` is `3s:9s`, in time of the capture."""
    return pcap.Choice(tuple(flows), tuple(ports), None if window is None else _window(window))


def _window(text: str) -> tuple[int, int]:
    """Reads `3s:9s`; an end may be missing."""
    begin, between, end = text.partition(":")
    try:
        first = units.time(begin) if begin.strip() else 0
        last = units.time(end) if end.strip() else LATEST_NS
    except WordError as wrong:
        raise NotReadable(f"`{text[:60]}` is not a window: {wrong}\n  hint: {WINDOW_HINT}") from wrong
    if not between or not first < last:
        raise NotReadable(f"`{text[:60]}` is not a window\n  hint: {WINDOW_HINT}")
    return first, last


WINDOW_HINT = "write two times of the capture, counted from its first packet: --window 3s:9s"
LATEST_NS = 1 << 62


def import_teacup(file: Path, folder: Path, *, delay_first: bool = False) -> tuple[list[Path], list[str]]:
    """Converts a TEACUP configuration to an experiment file and a testbed file; returns their paths, and what was not
    imported as it stands.
    """
    try:
        text = read_regular(file, LARGEST_CONFIGURATION).decode("utf-8", "replace")
    except OSError as error:
        raise NotReadable(f"`{file}` cannot be read: {error.strerror}\n  hint: check the name") from None
    except FileRefused as refused:
        raise NotReadable(f"`{file}`: {refused}\n  hint: a configuration of TEACUP is a small file") from None
    try:
        order = teacup.Order.DELAY_FIRST if delay_first else teacup.Order.RATE_FIRST
        found = teacup.convert(text, partial(_beside, file.parent), order)
    except NotReadable as reason:
        raise NotReadable(f"`{file}`: {reason}") from None
    places = {note: file.parent / note.file if note.file else file for note in found.notes}
    told = [f"{note.effect}: {place}:{note.line}: {note.what}" for note, place in places.items()]
    return teacup.write(found, folder, file.name), told


def _beside(folder: Path, name: str) -> str:
    """The text of a file that a configuration includes, which must be in its folder."""
    if Path(name).name != name:
        raise teacup.NotEvaluated(f"`{name[:60]}` is not in the folder of the configuration")
    try:
        return read_regular(folder / name, LARGEST_CONFIGURATION).decode("utf-8", "replace")
    except OSError as error:
        raise teacup.NotEvaluated(f"`{name[:60]}` is not beside it: {error.strerror}") from None
    except (FileRefused, ValueError) as refused:
        raise teacup.NotEvaluated(f"`{name[:60]}`: {refused}") from None


LARGEST_CONFIGURATION = 100_000


def export_flent(results: Results, folder: Path, test: str | None = None) -> list[Path]:
    """Writes a Flent data file for each run; returns their paths."""
    make_folder(folder)
    written = []
    for run in results.runs:
        name, content = flent.export(run, results.path.resolve().name, test)
        write_file(folder / name, flent.write(content))
        written.append(folder / name)
    return written


def export_csv(results: Results, folder: Path) -> list[Path]:
    """Writes each table of all runs as one CSV file, with axes and repetition as first columns, and the summaries."""
    make_folder(folder)
    there = [name for name in TABLES if any(run.has(name) for run in results.runs)]
    for name in there:
        write_file(folder / f"{name}.csv", results.table(name).to_csv(index=False, lineterminator="\n").encode())
    write_file(folder / "summary.csv", summaries.csv_of(results).encode())
    return [folder / f"{name}.csv" for name in (*there, "summary")]
