"""The tree of objects of a kernel, kept in the cache so that a changed line costs seconds and not a whole build.

There is one tree per name: `$XDG_CACHE_HOME/tailback/trees/NAME/linux`. Before each build it is brought up to date
with the source, our patches and our driver; a file is written only if its content changes, because `make` compiles
again what is newer than its object. What our patches change is patched aside first, from the source's own text.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tailback.kernel import cache
from tailback.kernel.errors import BuildFailed, CacheUnwritable
from tailback.kernel.scratch import scratch
from tailback.kernel.source import Source, digest_of_file

TREE = "linux"
ORIGINAL = "original"
"""The source's own text of the files that our patches change."""
RECORD = "source.json"
"""Digests of the files of the source that the tree has, and under `WHOLE` of the source."""
WHOLE = ""
ADDED = "added.json"
"""The files that our patches add."""

CHANGED = re.compile(r"^\+\+\+ b/(\S+)$", re.MULTILINE)
"""A file that a patch changes or adds."""

ROOM_BYTES = 2 << 30
"""Free space that a source, its objects and the kernel need: 1.0 to 1.3 GB with radios."""

ROOM_HINT = "free some space (tailback kernel remove NAME), or point XDG_CACHE_HOME to a folder with more"

Say = Callable[[str], None]


def home() -> Path:
    """Where the trees are."""
    return cache.home() / "trees"


@contextlib.contextmanager
def held(name: str, say: Say) -> Iterator[Path]:
    """The folder of the tree of this name, for this process alone; another build of it is waited for."""
    folder = home() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("a", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"another process builds the kernel `{name}`: waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
    except OSError as error:
        reason = error.strerror or str(error)
        raise CacheUnwritable(f"cannot write `{folder}`: {reason}\n  hint: {ROOM_HINT}") from error


def check_room(folder: Path) -> None:
    """Raises `BuildFailed` if the disk has no room for a new tree; one that is there needs little more."""
    if (folder / RECORD).exists():
        return
    free = shutil.disk_usage(folder).free
    if free < ROOM_BYTES:
        short = f"`{folder}` has {free >> 20} MiB free; a build needs {ROOM_BYTES >> 20}"
        raise BuildFailed(f"{short}\n  hint: {ROOM_HINT}")


def update(folder: Path, source: Source) -> None:
    """Brings the tree in `folder` up to date with a source."""
    tree, record = folder / TREE, _record(folder / RECORD)
    digest = source.digest()
    if record.get(WHOLE) == digest and tree.is_dir():
        return
    (folder / RECORD).unlink(missing_ok=True)
    if not record or not tree.is_dir():
        for left in (tree, folder / ORIGINAL):
            shutil.rmtree(left, ignore_errors=True)
        source.unpack(tree)
        fresh = _digests(tree)
    else:
        fresh = _changed(folder, source, record)
    _write_record(folder / RECORD, {WHOLE: digest, **fresh})


def _changed(folder: Path, source: Source, record: Mapping[str, str]) -> dict[str, str]:
    """Takes over what has changed since the record; returns the digests of all files."""
    known = source.digests()
    with scratch("new-", folder) as room:
        new = room / TREE
        source.unpack(new, None if known is None else {name for name in known if known[name] != record.get(name)})
        fresh = _digests(new) if known is None else dict(known)
        _take_over(new, folder, {name for name in fresh if fresh[name] != record.get(name)})
    for name in record.keys() - fresh.keys() - {WHOLE}:
        (folder / TREE / name).unlink(missing_ok=True)
        (folder / ORIGINAL / name).unlink(missing_ok=True)
    return fresh


def change(folder: Path, names: Sequence[str], applied: Callable[[Path], None]) -> None:
    """Lets `applied` (our patches, the driver) change the source's own text of these files, aside, and lays the result
    into the tree. Some of the names may be those of files that it adds.
    """
    tree, original = folder / TREE, folder / ORIGINAL
    for name in names:
        # What an earlier build has changed is no source any more.
        if (tree / name).is_file() and not (original / name).is_file() and not _was_added(folder, name):
            _copy(tree / name, original / name)
    with scratch("patched-", folder) as aside:
        for name in _files(original) if original.is_dir() else ():
            _copy(original / name, aside / name)
        applied(aside)
        added = []
        for name in _files(aside):
            if not (original / name).is_file():
                added.append(name)
            _write_if_other(aside / name, tree / name)
    for name in set(_added(folder)) - set(added):
        (tree / name).unlink(missing_ok=True)
    (folder / ADDED).write_text(json.dumps(added), encoding="utf-8")


def files_of(patches: Sequence[Path]) -> list[str]:
    """The files that patches change or add."""
    return sorted({name for patch in patches for name in CHANGED.findall(patch.read_text(encoding="utf-8"))})


def disk_bytes(name: str) -> int:
    """What the tree of this name takes on the disk."""
    folder = home() / name
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*")) if folder.is_dir() else 0


def _write_record(file: Path, content: Mapping[str, str]) -> None:
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(content), encoding="utf-8")
    partial.replace(file)


def _take_over(new: Path, folder: Path, names: set[str]) -> None:
    """Moves the files of these names from a new source into the tree, or, of patched ones, beside it."""
    for name in names:
        place = folder / (ORIGINAL if (folder / ORIGINAL / name).is_file() else TREE) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (new / name).replace(place)
        if not place.is_symlink():
            # As new: a source may come with times of long ago.
            os.utime(place)


def _digests(tree: Path) -> dict[str, str]:
    return {name: digest_of_file(tree / name) for name in _files(tree)}


def _files(folder: Path) -> list[str]:
    found = []
    for place, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(place, name), folder) for name in names]  # noqa: PTH118
    return sorted(found)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)


def _write_if_other(source: Path, target: Path) -> None:
    if target.is_file() and target.read_bytes() == source.read_bytes():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _record(file: Path) -> dict[str, str]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def _added(folder: Path) -> list[str]:
    try:
        return [str(name) for name in json.loads((folder / ADDED).read_text(encoding="utf-8"))]
    except (OSError, ValueError):
        return []


def _was_added(folder: Path, name: str) -> bool:
    return name in _added(folder)
