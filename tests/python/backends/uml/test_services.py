"""What of a kernel the programs of a run find in the kernel `stock`, and in one that is built for them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from backends.uml.test_programs import command, of_file, run
from tailback.backends.uml import Uml
from tailback.kernel import Recipe, build, build_agent, package

SERVICES = Path(__file__).parents[3] / "data/programs/services.py"

ABSENT = [
    "uts", "users", "processes", "ipc", "groups", "inotify", "semaphores", "shared_memory", "message_queues",
    "posix_queues", "ipv6", "ipv6_inside", "seccomp", "keys",
]  # fmt: skip
"""What `stock` does not have, as docs/programs.md says."""


def found(uml: Uml, folder: Path, **more: Any) -> dict[str, str | None]:
    """What a program of `nobody` says of each service: null, or why it does not work."""
    shutil.copy(SERVICES, folder)
    entry = command("python3 services.py", files=["services.py"], **more)
    result = run(uml, of_file(folder, entry, {"ping": "client -> server"}, duration="1s"))
    answers: dict[str, str | None] = json.loads(result.files["it.stdout"])
    return answers


def test_the_stock_kernel_has_terminals_and_lacks_what_the_page_says(uml: Uml, tmp_path: Path) -> None:
    answers = found(uml, tmp_path)
    assert [name for name, why in answers.items() if why is not None] == ABSENT
    assert answers["terminals"] is None


@pytest.mark.campaign
def test_a_kernel_built_for_programs_has_all_of_it(tmp_path: Path) -> None:
    build(Recipe(package("6.12"), "programs", ("programs",)), print)
    build_agent()
    answers = found(Uml.named("programs"), tmp_path)
    assert answers == dict.fromkeys([*answers])
    assert set(ABSENT) < set(answers)


@pytest.mark.campaign
@pytest.mark.parametrize("feature", ["ipv6", "mptcp"])
def test_programs_have_ipv6_where_the_kernel_has_it(feature: str, tmp_path: Path) -> None:
    build(Recipe(package("6.12"), feature, (feature,)), print)
    build_agent()
    answers = found(Uml.named(feature), tmp_path)
    assert answers["ipv6"] is None
