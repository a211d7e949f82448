"""What a control of the user costs beside ours of the same name: `python -m performance.module tcp_cubic.c cubic`.

The same run with both, which makes the same decisions: one flow over 500 Mbit/s. Instructions are those of `World::run`
in the extension; nanoseconds are the processor time of the shortest of several runs of each, which take turns.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from performance.cases import Case, router
from performance.count import RUN, Runner, count, spend
from tailback import _core
from tailback.kernel.headers import find_headers
from tailback.kernel.messages import Source
from tailback.kernel.module import compiled

RATE, SECONDS, COUNTED_SECONDS = "500mbit", 15, 2
TURNS = 9

_IN_PYTHON = """
import sys, time
from importlib.util import module_from_spec, spec_from_file_location
extension, library, scenario = sys.argv[1:]
spec = spec_from_file_location("tailback._core", extension)
core = module_from_spec(spec)
spec.loader.exec_module(core)
with open(scenario) as file:
    text = file.read()
if library:
    core.watch_over_modules()
begun = time.process_time()
cost = core.run(text, None, (lambda name, parameters: (library, [])) if library else None)["cost"]
print(f"cpu: {time.process_time() - begun:.6f} s, memory: 0 KiB")
print(f"events: {cost['events']}, packets: {cost['packets']}, segments: {cost['segments']}")
"""


def runner(library: Path | None) -> Runner:
    """The extension, with a module or without."""
    words = [sys.executable, "-I", "-S", "-c", _IN_PYTHON, str(_core.__file__), str(library or "")]
    return Runner(words, ("--collect-atstart=no", f"--toggle-collect={RUN}"))


def case(name: str, seconds: int, sampled: str = "interval") -> Mapping[str, Any]:
    """The run."""
    text = router(1, RATE, seconds, cc=name).replace("interval: 1s", f"interval: 1s, tcp_info: {sampled}")
    return Case("one flow", text).resolved()


def acks_per_segment(name: str) -> float:
    """ACKs that the sender takes, per segment that it sends."""
    found = _core.run(json.dumps(case(name, COUNTED_SECONDS, "ack")), None)
    return len(found["tables"]["tcp_info"]) / int(found["cost"]["segments"])


def main(file: Path, name: str) -> None:
    """Prints what an ACK costs more in the file than in our control of this name."""
    library = compiled(Source(file.name, file.read_text(encoding="utf-8")), find_headers())
    with contextlib.chdir(file.parent):
        module = f"{{module: {file.name}}}"
        both = [(runner(None), name), (runner(library), module)]
        per_segment = acks_per_segment(name)
        ours, theirs = (count(each, case(cc, COUNTED_SECONDS)).per_segment for each, cc in both)
        turns = [[spend(each, case(cc, SECONDS)) for each, cc in both] for _ in range(TURNS)]
    fastest = [min(spent.cpu_s / spent.segments for spent in column) * 1e9 for column in zip(*turns, strict=True)]
    more = (fastest[1] - fastest[0]) / per_segment
    print(f"ACKs per segment: {per_segment:.3f}")
    print(f"instructions per ACK: {(theirs - ours) / per_segment:.0f} more than {name}")
    print(f"ns per ACK: {more:.0f} more; per segment {fastest[0]:.0f}, {fastest[1]:.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("name")
    chosen = parser.parse_args()
    main(chosen.file.resolve(), chosen.name)
