"""One reader under atheris: libFuzzer chooses the inputs by what of our Python they reach.

It never stops at a find: each is kept once, by the way and the place in which it breaks the promise, and it goes on. A
crash of the interpreter or libFuzzer's own limits end the process; `__main__` keeps that input and starts another.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

TOLD_EACH_S = 1.0


class Progress:
    """What the parent reads, also after a crash."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.executions = 0
        self.finds: set[tuple[str, str]] = set()
        self._told = 0.0

    def tell(self, *, now: bool = False) -> None:
        """Writes it down, once a second."""
        if now or time.monotonic() - self._told > TOLD_EACH_S:
            self._told = time.monotonic()
            self.file.write_text(json.dumps({"executions": self.executions, "finds": sorted(self.finds)}))


def main(words: Sequence[str]) -> None:
    """Fuzzes one target; libFuzzer ends the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("place", type=Path)
    parser.add_argument("libfuzzer", nargs="*")
    options = parser.parse_args(words)

    import atheris

    # Who imports what later is not instrumented; the seeds have everything imported.
    with atheris.instrument_imports(include=["tailback"], enable_loader_override=False):
        from campaigns import guard
        from campaigns.targets import target

        chosen = target(options.target)
        _begin(chosen.seeds(), chosen.dictionary(), options.place)
        for seed in chosen.begin():
            with guard.scratch() as folder:
                chosen.read(seed, Path(folder))

    scratch = guard.scratch()
    progress = Progress(options.place / "progress.json")

    def one(content: bytes) -> None:
        progress.executions += 1
        try:
            guard.hold(chosen, content, Path(scratch.name))
        except guard.Broken as broken:
            _keep(broken, content, progress, options.place)
        if os.listdir(scratch.name):  # noqa: PTH208
            guard.empty(Path(scratch.name))
        progress.tell()

    def whole(content: bytes) -> None:
        one(content)
        if progress.executions == wanted:
            progress.tell(now=True)

    wanted = next((int(word.partition("=")[2]) for word in options.libfuzzer if word.startswith("-runs=")), 0)
    dictionary, corpus = options.place / "words.dict", options.place / "corpus"
    flags = [f"-dict={dictionary}", "-timeout=120", "-rss_limit_mb=4096", f"-artifact_prefix={options.place}/crash-"]
    atheris.Setup([sys.argv[0], *flags, *options.libfuzzer, str(corpus)], whole)
    atheris.Fuzz()


def _begin(seeds: Sequence[bytes], words: Sequence[bytes], place: Path) -> None:
    corpus = place / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    quoted = ["".join(f"\\x{byte:02x}" for byte in word) for word in words if word]
    (place / "words.dict").write_text("".join(f'"{word}"\n' for word in quoted))


def _keep(broken: object, content: bytes, progress: Progress, place: Path) -> None:
    from campaigns.guard import Broken

    assert isinstance(broken, Broken)
    kind = (broken.way, broken.place)
    if kind in progress.finds:
        return
    progress.finds.add(kind)
    finds = place / "finds"
    finds.mkdir(exist_ok=True)
    name = hashlib.sha256(content).hexdigest()[:16]
    (finds / name).write_bytes(content)
    (finds / f"{name}.txt").write_text(str(broken))
    progress.tell(now=True)


if __name__ == "__main__":
    main(sys.argv[1:])
