"""Fuzzes one reader under atheris: libFuzzer chooses inputs by their coverage of our Python code.

It does not stop at a finding: one input of each kind (rule and place) is stored. A crash of the interpreter or a limit
of libFuzzer ends the process; `fuzzing` stores that input and starts another.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path


def main(words: Sequence[str]) -> None:
    """Fuzzes one target; libFuzzer ends the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("place", type=Path)
    parser.add_argument("libfuzzer", nargs="*")
    options = parser.parse_args(words)

    import atheris

    # Modules that are imported later are not instrumented; making the seeds imports everything.
    with atheris.instrument_imports(include=["tailback"], enable_loader_override=False):
        from campaigns import guard
        from campaigns.journal import Journal
        from campaigns.targets import target

        chosen = target(options.target)
        _begin(chosen.seeds(), chosen.dictionary(), options.place)
        for seed in chosen.begin():
            with guard.scratch() as folder:
                chosen.read(seed, Path(folder))

    scratch = guard.scratch()
    journal = Journal(options.place)

    def one(content: bytes) -> None:
        journal.hold(chosen, content, Path(scratch.name))
        if journal.executions == wanted:
            journal.tell(now=True)

    wanted = next((int(word.partition("=")[2]) for word in options.libfuzzer if word.startswith("-runs=")), 0)
    dictionary, corpus = options.place / "words.dict", options.place / "corpus"
    # libFuzzer's limits are of wall time, and machines are busy. The guard watches the time of an input, and who
    # started this process that of one in which the guard is not heard.
    flags = [
        f"-dict={dictionary}",
        "-timeout=0",
        "-report_slow_units=900",
        "-rss_limit_mb=4096",
        f"-artifact_prefix={options.place}/crash-",
    ]
    atheris.Setup([sys.argv[0], *flags, *options.libfuzzer, str(corpus)], one)
    # libFuzzer ends the process.
    clocks = guard.continuing_clocks()
    clocks.__enter__()
    atheris.Fuzz()


def _begin(seeds: Sequence[bytes], words: Sequence[bytes], place: Path) -> None:
    corpus = place / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    quoted = ["".join(f"\\x{byte:02x}" for byte in word) for word in words if word]
    (place / "words.dict").write_text("".join(f'"{word}"\n' for word in quoted))


if __name__ == "__main__":
    main(sys.argv[1:])
