"""The small conformance matrix: simulator and kernel both run, and new differences show here first.

It reads the registries: a control or a discipline that both sides have is included automatically.
"""

from pathlib import Path

import pytest

from fake_backend import Nobody
from tailback import scenario
from tailback.analysis.tolerances import FIDELITY
from tailback.backends.uml import Uml
from tailback.validation import Criteria, Request, every, validate

FILE = Path(__file__).parents[4] / "experiments" / "conformance" / "ci.yaml"
FLOOR = 0.95
"""Share of cells within tolerance; all of 82 when it was set, and all of the 118 of each day since, for a kernel's run
is one draw."""

CONTROLS = [*every(["cc"]), "qdisc=pfifo_fast", "tsq=1ms"]
DISCIPLINES = [*every(["qdisc"]), "cc=cubic", "tsq=1ms"]

SENDER = "bottleneck=[L10M]"
"""The bottleneck at which a second of a run costs a tenth of what it costs at the other."""

SHORT = ["duration=8s", "traffic[0].stop=7s"]
"""Of the 14 s that the campaign takes: slow start and what follows it are over."""

DAILY = {
    "controls": [*CONTROLS, SENDER, *SHORT],
    "disciplines": [*DISCIPLINES, SENDER, *SHORT],
    "small queues": ["cc=[cubic, bbr]", "qdisc=[pfifo_fast]", *SHORT],
}
"""Each row of a registry once, at the bottleneck in the sender; and each pair of bottleneck and small queue with a
window control and a model control. What is left to the campaign is their product, and the whole length."""

WHOLE = {"controls": CONTROLS, "disciplines": DISCIPLINES, "small queues": ["cc=[cubic, bbr]"]}


@pytest.mark.parametrize("walk", DAILY)
def test_simulator_and_kernel_agree_for_each_row_of_a_registry(uml: Uml, tmp_path: Path, walk: str) -> None:
    agree(uml, tmp_path, DAILY[walk])


@pytest.mark.campaign
@pytest.mark.parametrize("walk", WHOLE)
def test_simulator_and_kernel_agree_in_the_small_matrix(uml: Uml, tmp_path: Path, walk: str) -> None:
    agree(uml, tmp_path, WHOLE[walk])


def agree(uml: Uml, tmp_path: Path, settings: list[str]) -> None:
    """Fails if the share of cells whose difference is within tolerance is below the recorded minimum. There is one run
    on each side, so an interval decides nothing.
    """
    request = Request("sim", f"uml:{uml.kernel.manifest.digest}", Criteria(FIDELITY), None, tmp_path / "m", settings)
    done = validate(scenario.load(FILE, settings), request, Nobody())
    assert done.failed == 0
    assert done.comparison is not None
    cells = done.comparison.differences.query("outcome in ('within', 'off', 'undecided')")
    off = cells[cells["excess"].abs() > 1]
    assert 1 - len(off) / len(cells) >= FLOOR, off.to_string()
