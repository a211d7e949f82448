"""How much of the processor time of a sweep is the simulator's: `python -m performance.share --jobs 2`.

The words are those of `tailback run`; without a file it runs the demo. Only processor time is counted, that of the
whole process and that of the threads while they are in the simulator, so other work on the machine matters little.
"""

import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tailback import _core, cli

DEMO = Path(__file__).parents[1] / "experiments" / "demo.yaml"


class Counted:
    """`_core.run`, and the time of its threads in it."""

    def __init__(self) -> None:
        self._run = _core.run
        self._lock = threading.Lock()
        self.seconds = 0.0

    def __call__(self, *given: Any) -> Any:
        begun = time.thread_time()
        try:
            return self._run(*given)
        finally:
            with self._lock:
                self.seconds += time.thread_time() - begun


def main(words: list[str]) -> None:
    """Runs a sweep into a temporary folder, and prints where its time went."""
    counted = Counted()
    file = [] if any(word.endswith(".yaml") for word in words) else [str(DEMO)]
    # Set by hand, since to import `unittest.mock` takes a tenth of what is measured.
    _core.run = counted  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["tailback", "run", *file, *words, "--out", f"{folder}/out"]
        try:
            cli.main()
        finally:
            whole = time.process_time()
            share = counted.seconds / whole
            print(f"simulator {counted.seconds:.2f} s of {whole:.2f} s: {share:.0%}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
