"""The small conformance matrix, simulator and kernel both run anew: what parts them shows here first.

It walks the registries: a control or a discipline that both sides have enters by itself.
"""

from pathlib import Path

import pytest

from fake_backend import Nobody
from tailback import scenario
from tailback.analysis.tolerances import FIDELITY
from tailback.backends.uml import Uml
from tailback.validation import Criteria, Request, every, validate

FILE = Path(__file__).parents[3] / "experiments" / "conformance" / "ci.yaml"
FLOOR = 0.95
"""Share of cells within tolerance; all of 82 when it was set, for a kernel's run is one draw."""

WALKS = {
    "controls": [*every(["cc"]), "qdisc=pfifo_fast", "tsq=1ms"],
    "disciplines": [*every(["qdisc"]), "cc=cubic", "tsq=1ms"],
    "small queues": ["cc=[cubic, bbr]"],
}


@pytest.mark.parametrize("walk", WALKS)
def test_simulator_and_kernel_agree_in_the_small_matrix(uml: Uml, tmp_path: Path, walk: str) -> None:
    settings = WALKS[walk]
    request = Request("sim", f"uml:{uml.kernel.manifest.digest}", Criteria(FIDELITY), None, tmp_path / "m", settings)
    done = validate(scenario.load(FILE, settings), request, Nobody())
    assert done.failed == 0
    assert done.comparison is not None
    whole = done.comparison.share_within.set_index("tolerance").loc["all"]
    off = done.comparison.differences.query("outcome == 'off'")
    assert whole["within"] / whole["judged"] >= FLOOR, off.to_string()
