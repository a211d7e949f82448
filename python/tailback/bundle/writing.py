"""Writes a bundle: the results folder, `bundle.json` and a README, as one zip archive."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tailback.bundle.contents import FORMAT, INDEX, README
from tailback.limits import FileRefused, open_regular
from tailback.results import Results, ResultsUnwritable, RunResult
from tailback.results.layout import ASIDE, FAILURES, MANIFEST, RUNS, TABLE, largest

TIME = (2000, 1, 1, 0, 0, 0)
"""The time of every file in the archive: that of the results is in their manifests."""

LEFT_OUT = (RUNS, FAILURES, ASIDE)
"""Subfolders whose files are not taken as they are; of `runs`, those of the complete runs are."""


def write(found: Results, target: Path) -> Path:
    """Writes the runs of `found` with all that stands beside them (figures, reports) to `target`; returns it.

    Raises `ResultsUnwritable` if it cannot be written.
    """
    top = target.stem
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
        partial = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                digests = {
                    str(inside): _add(archive, place, f"{top}/{inside}") for inside, place in _files(found, target)
                }
                index = _index(found, digests)
                _add_text(archive, f"{top}/{INDEX}", json.dumps(index, indent=2, ensure_ascii=False) + "\n")
                _add_text(archive, f"{top}/{README}", _readme(target.name, index))
            partial.chmod(0o644)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise ResultsUnwritable.because(target, error) from error
    return target


def _files(found: Results, target: Path) -> Iterator[tuple[Path, Path]]:
    """The files of the bundle: their place in it, and where they are."""
    single = (found.path / MANIFEST).is_file()
    beside = [] if single else sorted(_beside(found.path))
    for inside in beside:
        if (found.path / inside).resolve() != target.resolve():
            yield inside, found.path / inside
    for run in sorted(found.runs, key=lambda run: run.name):
        for name in sorted({MANIFEST, *run.manifest.get("files", {})}):
            yield Path(RUNS, run.name, name), run.path / name


def _beside(folder: Path) -> Iterator[Path]:
    """What stands in a results folder beside its runs."""
    for here, folders, names in os.walk(folder):
        inside = Path(here).relative_to(folder)
        folders[:] = [name for name in folders if not name.startswith(".") and str(inside / name) not in LEFT_OUT]
        for name in names:
            kept = not name.startswith(".") and not name.endswith(".zip") and name not in (INDEX, README)
            if kept and stat.S_ISREG((Path(here) / name).lstat().st_mode):
                yield inside / name


def _add(archive: zipfile.ZipFile, place: Path, name: str) -> str:
    """Adds a file; returns its SHA-256."""
    found = hashlib.sha256()
    try:
        with (
            open_regular(place, largest(place.name)) as source,
            archive.open(_entry(name), "w", force_zip64=True) as to,
        ):
            for piece in source.pieces():
                found.update(piece)
                to.write(piece)
    except FileRefused as error:
        raise ResultsUnwritable(f"`{place}` is not taken into a bundle: {error}\n  hint: remove it") from error
    return found.hexdigest()


def _add_text(archive: zipfile.ZipFile, name: str, text: str) -> None:
    archive.writestr(_entry(name), text.encode())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry


def _index(found: Results, digests: Mapping[str, str]) -> dict[str, Any]:
    """The content of `bundle.json`."""
    first = found.runs[0].manifest
    return {
        "bundle": FORMAT,
        "title": found.title,
        "tailback": first.get("tailback", ""),
        "backends": sorted({run.backend for run in found.runs}),
        "axes": {axis: list(values) for axis, values in found.axes.items()},
        "settings": list(found.head.get("settings", ())),
        "kernels": sorted({str(run.manifest["kernel"]) for run in found.runs if "kernel" in run.manifest}),
        "versions": dict(first.get("versions", {})),
        "runs": [_run(run, digests) for run in found.runs],
        "files": {name: {"sha256": digest} for name, digest in digests.items()},
    }


def _run(run: RunResult, digests: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": run.name,
        "axes": run.axes,
        "repetition": run.repetition,
        "seed": run.seed,
        "backend": run.backend,
        "fingerprint": run.manifest["fingerprint"],
        "tables": {
            name: {"rows": note["rows"], "sha256": digests[str(Path(RUNS, run.name, f"{name}{TABLE}"))]}
            for name, note in run.manifest["tables"].items()
        },
    }


def _readme(name: str, index: Mapping[str, Any]) -> str:
    axes = "".join(f"- `{axis}`: {', '.join(values)}\n" for axis, values in index["axes"].items())
    versions = ", ".join(f"{program} {version}" for program, version in index["versions"].items())
    kernels = ", ".join(index["kernels"])
    return f"""# {index["title"]}

{len(index["runs"])} runs of a Tailback experiment on the backend {", ".join(index["backends"])}.

    tailback rerun {name}        # runs all of them again, and says of each table whether its bytes are the same

{axes}
Made by {versions}, on {kernels}.

| file | what it is |
|---|---|
| `experiment.yaml` | the experiment as it was written; `settings` in `{INDEX}` are its changes from the command line |
| `experiment.json` | the list of its runs |
| `runs/NAME/manifest.json` | a run: all that it depends on, with its seed, versions, kernel and machine |
| `runs/NAME/summary.json` | its numbers over the window of measurement |
| `runs/NAME/*.parquet` | its tables, with units in the metadata of the columns |
| `{INDEX}` | SHA-256 of all these files |

The folder is a results folder: `tailback plot`, `report`, `compare` and `tailback.open` read it.
"""
