"""packetdrill scripts against the TCP of a real kernel: a guest for each script, in virtual time.

The guest's agent plays the script (`crates/agent/src/drill.rs`) and tells what came of it as the simulator's core does.
"""

import json
from typing import TYPE_CHECKING, cast

from tailback.backends import RunFailed
from tailback.backends.linux import process
from tailback.backends.uml import Uml, instance

if TYPE_CHECKING:
    from tailback._core import Drilled

SEED = 1
"""Of the guest's random numbers: initial sequence numbers, and nothing that a script sees."""


def play(kernel: Uml, text: str, tolerance_usecs: int | None) -> "Drilled":
    """Plays the script `text` on a guest of its own; raises `RunFailed` if the guest does not come to its end."""
    script = json.dumps({"text": text, "tolerance_usecs": tolerance_usecs})
    order = instance.Order(script, SEED, duration_ns=1, file="script.json")
    with instance.finished(kernel.machine, order, process.Progress()) as (folder, _):
        try:
            told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunFailed(f"the guest has not reported the result of the script: {error}") from error
    return cast("Drilled", told)
