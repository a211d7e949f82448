"""The state of a fuzzing process, which its parent can read even if it crashes or hangs."""

from __future__ import annotations

import hashlib
import json
import mmap
import time
from pathlib import Path

from campaigns import guard
from campaigns.targets import Target

TOLD_EACH_S = 1.0
LENGTH_BYTES = 8
LAST_BYTES = 1 << 20
"""Longer inputs are kept up to here."""


class Journal:
    """The executions, the finds, and the input that is being read."""

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self.executions = 0
        self._place, self._told = place, 0.0
        self._finds: set[tuple[str, str]] = set()
        # In shared memory, because a crash leaves nothing else behind.
        last = _last(place)
        last.write_bytes(bytes(LENGTH_BYTES + LAST_BYTES))
        with last.open("r+b") as file:
            self._last = mmap.mmap(file.fileno(), 0)
        self.tell(now=True)

    def hold(self, target: Target, content: bytes, folder: Path) -> None:
        """Lets `target` read an input, and stores it if that breaks a rule."""
        kept = content[:LAST_BYTES]
        self._last[: LENGTH_BYTES + len(kept)] = len(kept).to_bytes(LENGTH_BYTES, "little") + kept
        self.executions += 1
        try:
            guard.hold(target, content, folder)
        except guard.Broken as broken:
            self._keep(broken, content)
        guard.empty(folder)
        self.tell()

    def tell(self, *, now: bool = False) -> None:
        """Records its progress once a second."""
        if now or time.monotonic() - self._told > TOLD_EACH_S:
            self._told = time.monotonic()
            told = json.dumps({"executions": self.executions, "finds": sorted(self._finds)})
            # Atomically, because the process may end at any time.
            new = self._place / "progress.new"
            new.write_text(told)
            new.replace(_progress(self._place))

    def _keep(self, broken: guard.Broken, content: bytes) -> None:
        """One input of each kind (rule and place)."""
        kind = (broken.way, broken.place)
        if kind in self._finds:
            return
        self._finds.add(kind)
        finds = self._place / "finds"
        finds.mkdir(exist_ok=True)
        name = hashlib.sha256(content).hexdigest()[:16]
        (finds / name).write_bytes(content)
        (finds / f"{name}.txt").write_text(str(broken))
        self.tell(now=True)


def begin(place: Path) -> None:
    """Removes the progress of an earlier process."""
    _progress(place).unlink(missing_ok=True)
    _last(place).unlink(missing_ok=True)


def executions(place: Path) -> int | None:
    """The number of executions; 0 if the process did not get that far."""
    progress = _progress(place)
    return int(json.loads(progress.read_text())["executions"]) if progress.is_file() else None


def keep_last(place: Path, way: str) -> None:
    """Stores the input that the process was reading when it ended, as a finding."""
    content = _last(place).read_bytes()
    length = int.from_bytes(content[:LENGTH_BYTES], "little")
    found = content[LENGTH_BYTES : LENGTH_BYTES + length]
    (place / f"crash-{way}-{hashlib.sha256(found).hexdigest()[:16]}").write_bytes(found)


def _progress(place: Path) -> Path:
    return place / "progress.json"


def _last(place: Path) -> Path:
    return place / "last"
