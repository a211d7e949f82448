"""Writes the results folder of an experiment.

A folder belongs to one experiment, which is identified by its runs. Running the same experiment again, or one whose
grid has grown, only executes the missing runs. Another experiment is refused (`--out`) or gets a new folder (default),
so that complete runs are never overwritten.
"""

import contextlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from tailback import _core
from tailback.limits import FileRefused
from tailback.resolved import Scenario, to_text
from tailback.results import durable, provenance, soundness, tables
from tailback.results.errors import FolderTaken, ResultsUnwritable, RunDamaged
from tailback.results.identity import RunPlan, digest
from tailback.results.layout import (
    ASIDE,
    CAPTURE,
    EXPERIMENT,
    FAILURES,
    MANIFEST,
    QDISCS,
    RUNS,
    SOURCE,
    SUMMARY,
    content_of,
    read_json,
)

__all__ = [
    "CAPTURE", "EXPERIMENT", "FAILURES", "MANIFEST", "QDISCS", "RUNS", "SOURCE", "SUMMARY", "ExperimentPlan",
    "Finished", "Status", "Store", "claim", "default_folder",
]  # fmt: skip

INDENT = 2
"""Spaces per level of the JSON files."""

FLUSHED_FROM_S = 1.0
"""The duration in s from which a run is flushed to the disk before it counts as complete. To flush its files takes 2 ms
or, on a slow disk, tens of ms, and so long a part of a short run. If the machine loses power before the system has
written a run by itself, its sizes or checksums are wrong, and it is repeated.
"""

Status: TypeAlias = Literal["ok", "failed", "invalid"]
"""How a run ended: with a result, with an error, or with a result that is not valid."""


class ExperimentPlan(Struct, frozen=True):
    """All runs of an experiment, and their origin."""

    title: str
    source: str
    """Text of the experiment file."""
    settings: Sequence[str]
    """Changes from the command line, as `key=value`."""
    backend: str
    runs: Sequence[RunPlan]

    @property
    def axes(self) -> dict[str, list[str]]:
        """The values of each axis in the order of the file."""
        values: dict[str, dict[str, None]] = {}
        for run in self.runs:
            for axis, value in run.axes.items():
                values.setdefault(axis, {})[value] = None
        return {axis: list(seen) for axis, seen in values.items()}

    def identities(self) -> dict[str, str]:
        """The identity of each run, by its name."""
        return {run.name: run.identity(self.backend) for run in self.runs}


class Finished(Struct, frozen=True):
    """The results of a run: tables, the summary over its measurement window, cost and time."""

    tables: Mapping[str, _core.Table]
    summary: Mapping[str, Any]
    cost: Mapping[str, float]
    started: str
    duration_s: float
    captures: Mapping[str, bytes] = field(default_factory=dict)
    """pcapng by host."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of the manifest, from the backend."""
    qdiscs: Sequence[Mapping[str, Any]] = ()
    """The disciplines at the end, as in `tc -s -j qdisc show`."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Further files of the folder, from the backend."""


class Store(Struct, frozen=True):
    """The results folder of a plan. `claim` locks it for writing; without that it may only be read.
    Writing different runs from several threads is safe.
    """

    path: Path
    plan: ExperimentPlan
    identities: Mapping[str, str]
    damaged: dict[str, str] = field(default_factory=dict)
    """The damage of run folders that do not count as complete, by name of the run."""

    def folder(self, run: RunPlan) -> Path:
        """The folder of `run` once it is complete."""
        return self.path / RUNS / run.name

    def complete(self, run: RunPlan) -> soundness.Read | None:
        """Manifest and summary of `run` if it is complete, undamaged and of the same scenario, else None. Damage is
        recorded in `damaged`.
        """
        folder = self.folder(run)
        if not os.path.lexists(folder):
            return None
        try:
            found = soundness.read(folder, "contents")
            if found.manifest["identity"] != self.identities[run.name]:
                raise RunDamaged(folder, "it contains another run")
        except RunDamaged as damaged:
            self.damaged[run.name] = damaged.what
            return None
        return found

    def write(self, run: RunPlan, finished: Finished) -> Path:
        """Writes the folder of `run`; returns its path."""
        contents = {name + tables.SUFFIX: table.to_parquet() for name, table in finished.tables.items()}
        contents |= {f"{host}{CAPTURE}": capture for host, capture in finished.captures.items()}
        contents |= finished.files
        contents[SUMMARY] = _json(finished.summary)
        if finished.qdiscs:
            contents[QDISCS] = _json(finished.qdiscs)
        manifest = manifest_of(self.plan, run, finished)
        manifest["tables"] = {name: {"rows": len(table)} for name, table in finished.tables.items()}
        manifest["files"] = soundness.noted(contents)
        contents[MANIFEST] = _json(manifest)
        return self._keep(run, contents, "now" if finished.duration_s >= FLUSHED_FROM_S else "later")

    def take_over(self, run: RunPlan, there: Path) -> soundness.Read | None:
        """Copies the folder of the same run of another experiment; returns its manifest and summary, `None` if it is
        unreadable.
        """
        try:
            found = soundness.read(there, "contents")
            names = sorted(file.name for file in there.iterdir() if file.name != MANIFEST)
            contents = {name: soundness.content(there, name) for name in names}
        except (RunDamaged, OSError):
            return None
        noted = {"files": soundness.noted(contents), **self._identification(run), "taken_from": str(there.resolve())}
        manifest = {**found.manifest, **noted}
        contents[MANIFEST] = _json(manifest)
        self._keep(run, contents, "later")
        return soundness.Read(manifest, found.summary)

    def replace_summary(self, run: RunPlan, manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
        """Gives a complete run the summary that the present analysis makes of its tables.

        If the process is killed between the two files, the checksum in the manifest is not that of the summary; then
        the run counts as damaged and is repeated.
        """
        content = _json(summary)
        files = {**manifest.get("files", {}), **soundness.noted({SUMMARY: content})}
        noted = {**manifest, "analysis": provenance.analysis_digest(), "files": files}
        durable.write_file(self.folder(run) / MANIFEST, _json(noted))
        durable.write_file(self.folder(run) / SUMMARY, content)

    def write_failure(self, run: RunPlan, status: Status, error: str, trace: str | None = None) -> None:
        """Records that `run` failed. It gets no folder, so the next attempt repeats it."""
        durable.make_subfolder(self.path / FAILURES)
        note = {"status": status, "error": error, "at": provenance.utc_now(), **self._identification(run)}
        if trace is not None:
            note["traceback"] = trace.splitlines()
        durable.write_file(self._failure(run.name), _json(note))

    def _keep(self, run: RunPlan, contents: Mapping[str, bytes], flush: durable.Flush) -> Path:
        if os.path.lexists(self.folder(run)) and (run.name in self.damaged or self.complete(run) is None):
            # A damaged run is kept until there is a complete one to replace it.
            durable.set_aside(self.folder(run), self.path / ASIDE)
        durable.write_folder(self.folder(run), contents, flush)
        self._failure(run.name).unlink(missing_ok=True)
        return self.folder(run)

    def _failure(self, name: str) -> Path:
        return self.path / FAILURES / f"{name}.json"

    def forget_overcome_failures(self) -> None:
        """Removes failure records of runs that are complete; they remain if a process is killed in between."""
        for run in self.plan.runs:
            note = self._failure(run.name)
            if note.is_file() and self.complete(run) is not None:
                note.unlink(missing_ok=True)

    def _identification(self, run: RunPlan) -> dict[str, Any]:
        return _identification(self.plan, run, self.identities[run.name])


def manifest_of(plan: ExperimentPlan, run: RunPlan, finished: Finished) -> dict[str, Any]:
    """The manifest of a finished run of `plan`, but for its tables and files."""
    return {
        "tailback": provenance.tailback_version(),
        "status": "ok",
        **_identification(plan, run, run.identity(plan.backend)),
        "measure": run.measure,
        "analysis": provenance.analysis_digest(),
        "scenario": run.scenario,
        "versions": provenance.versions(),
        "host": provenance.host(),
        "kernel": provenance.kernel(),
        "started": finished.started,
        "duration_s": finished.duration_s,
        "cost": dict(finished.cost),
        **finished.notes,
    }


def _identification(plan: ExperimentPlan, run: RunPlan, identity: str) -> dict[str, Any]:
    return {
        "name": run.name,
        "title": plan.title,
        "axes": dict(run.axes),
        "repetition": run.repetition,
        "seed": run.seed,
        "backend": plan.backend,
        "fingerprint": run.fingerprint,
        "identity": identity,
    }


@contextlib.contextmanager
def claim(path: Path, plan: ExperimentPlan) -> Iterator[Store]:
    """Makes `path` the results folder of `plan`, and locks it against other processes.

    Raises `FolderTaken` if it contains anything but this experiment, `ResultsUnwritable` if it cannot be written.
    """
    store = Store(path, plan, plan.identities())
    if not _fits(path, store.identities):
        raise FolderTaken(
            f"`{path}` {_content(path, store.identities)}\n  hint: name a folder that does not exist yet with `--out`"
        )
    durable.make_folder(path)
    with _locked(path):
        _write_head(store)
        durable.make_folder(path / RUNS)
        durable.sweep_partials(path / RUNS)
        if (path / FAILURES).is_dir():
            store.forget_overcome_failures()
        yield store


def default_folder(stem: str, plan: ExperimentPlan, parent: Path = Path("results")) -> Path:
    """`results/STEM` if it is empty or contains this experiment, else `results/STEM-2`, `-3`, …"""
    identities = plan.identities()
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(parent / name for name in names if _fits(parent / name, identities))


def _fits(path: Path, identities: Mapping[str, str]) -> bool:
    """Whether `path` is empty, or contains the same experiment: either set of runs contains the other."""
    try:
        if not path.exists() or not any(path.iterdir()):
            return True
    except NotADirectoryError:
        return False
    except OSError as error:
        raise ResultsUnwritable.because(path, error) from error
    head = read_head(path)
    there = {run["name"]: run["identity"] for run in head["runs"]} if head is not None else _identities(path)
    if head is None and not there:
        return _only_claimed(path)
    planned = set(identities.items())
    return set(there.items()) <= planned or planned <= set(there.items())


def _content(path: Path, identities: Mapping[str, str]) -> str:
    """What is in a folder that does not fit."""
    if path.is_file():
        return "is a file, not a folder"
    head = read_head(path)
    same = {run["name"] for run in head["runs"]} & set(identities) if head is not None else set()
    if same:
        return "has these runs, but by another backend, or another version of Tailback or of what the runs used"
    return "has other content"


def read_head(path: Path) -> dict[str, Any] | None:
    """The content of `experiment.json` in `path`; `None` if it is missing or damaged."""
    head = read_json(path / EXPERIMENT)
    try:
        return head if head is not None and _is_head(head) else None
    except (KeyError, TypeError, AttributeError):
        return None


def _is_head(head: Mapping[str, Any]) -> bool:
    """Whether `head` has the expected keys and types; may raise exceptions such as `KeyError` if not."""
    axes = [word for axis, values in head["axes"].items() for word in (axis, *values)]
    runs = [word for run in head["runs"] for word in (run["name"], run["identity"])]
    plain = all(Path(run["name"]).name == run["name"] for run in head["runs"])
    return (
        plain
        and isinstance(head["runs"], list)
        and all(isinstance(values, list) for values in head["axes"].values())
        and all(isinstance(each, str) for each in head.get("settings", []))
        and all(isinstance(each, str) for each in (head["title"], *axes, *runs))
    )


def _identities(path: Path) -> dict[str, str]:
    """The identities in the manifests of the runs in `path`, by name."""
    manifests = {file.parent.name: read_json(file) or {} for file in (path / RUNS).glob(f"*/{MANIFEST}")}
    return {name: str(manifest["identity"]) for name, manifest in manifests.items() if "identity" in manifest}


def _only_claimed(path: Path) -> bool:
    """Whether `path` only contains what a process leaves if it is killed during `claim`."""
    names = {entry.name for entry in path.iterdir() if not entry.name.endswith(durable.PARTIAL)}
    return names <= {SOURCE}


def _write_head(store: Store) -> None:
    """Writes `experiment.json`, unless it already lists these runs."""
    head = read_head(store.path)
    known = {run["name"] for run in head["runs"]} if head else set()
    if not _is_source(store):
        if os.path.lexists(store.path / SOURCE):
            durable.set_aside(store.path / SOURCE, store.path / ASIDE)
        durable.write_file(store.path / SOURCE, store.plan.source.encode())
    if head and set(store.identities) <= known:
        return
    if head is None and os.path.lexists(store.path / EXPERIMENT):
        durable.set_aside(store.path / EXPERIMENT, store.path / ASIDE)
    plan = store.plan
    runs = [
        {"name": run.name, "axes": dict(run.axes), "repetition": run.repetition, "seed": run.seed,
         "identity": store.identities[run.name]}
        for run in plan.runs
    ]  # fmt: skip
    document = {
        "tailback": provenance.tailback_version(),
        "title": plan.title,
        "identity": digest(store.identities),
        "backend": plan.backend,
        "settings": list(plan.settings),
        "created": provenance.utc_now(),
        "axes": plan.axes,
        "runs": runs,
    }
    durable.write_file(store.path / SOURCE, plan.source.encode())
    durable.write_file(store.path / EXPERIMENT, _json(document))


def _is_source(store: Store) -> bool:
    """Whether `experiment.yaml` can be read; if not, it is written again."""
    try:
        content_of(store.path / SOURCE).decode("utf-8")
    except (OSError, FileRefused, UnicodeDecodeError):
        return False
    return True


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds an advisory lock on the folder; this leaves no lock file."""
    if os.name != "posix":
        yield
        return
    import fcntl

    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ResultsUnwritable(
            f"another tailback is writing to `{path}`\n  hint: wait for it, or choose another folder with `--out`"
        ) from None
    except OSError:
        # Some network file systems do not support locks.
        pass
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _json(document: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> bytes:
    """A document with indented lines. Python's encoder is in C only without indentation, so msgspec indents its text,
    in a sixth of the time; what is not a number, which standard JSON does not have, it does not read.
    """
    return _indented(_on_one_line(document)) + b"\n"


def _indented(text: bytes) -> bytes:
    try:
        return msgspec.json.format(text, indent=INDENT)
    except msgspec.DecodeError:
        return json.dumps(json.loads(text), indent=INDENT, ensure_ascii=False).encode()


def _on_one_line(document: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> bytes:
    if not isinstance(document, Mapping):
        return _encoded(document)
    return b"{" + b",".join(b"%b:%b" % (_encoded(key), _encoded(value)) for key, value in document.items()) + b"}"


def _encoded(value: Any) -> bytes:
    """A value as JSON; a scenario may have 100,000 flows, of which `to_text` makes no objects."""
    return to_text(value) if isinstance(value, Scenario) else json.dumps(value, ensure_ascii=False).encode()
