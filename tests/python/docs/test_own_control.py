"""The commands of docs/your-own-control.md, run in an empty folder as they are written."""

import re
from pathlib import Path

import pytest
from PIL import Image

import jobs
from tailback.kernel import KernelMissing, find_agent, find_kernel

PAGE = jobs.DOCS / "your-own-control.md"


def commands(chapter: str) -> list[str]:
    """The lines of the blocks of commands of a chapter."""
    text = PAGE.read_text(encoding="utf-8")
    own = re.search(rf"^## {chapter}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert own is not None, f"the page has no chapter `{chapter}`"
    return "".join(re.findall(r"```sh\n(.*?)```", own[1], re.DOTALL)).splitlines()


def test_the_chapters_are_in_the_order_of_those_who_come_with_a_module_first() -> None:
    chapters = re.findall(r"^## (.*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert chapters == ["A kernel module", "A BPF program", "A control in Python", "In Rust"]


def test_the_commands_of_a_control_in_python_lead_to_its_figure_and_a_duel(tmp_path: Path) -> None:
    jobs.execute(commands("A control in Python"), tmp_path)
    assert (tmp_path / "results" / "mine" / "plots" / "timeseries.png").is_file()
    assert (tmp_path / "results" / "duel" / "plots" / "duel.png").is_file()


def once(line: str) -> str:
    """A command with one short repetition, if it runs on a kernel: all of them cost two minutes of processor time."""
    command = line.split("  #", maxsplit=1)[0].rstrip()
    return (
        f"{command} --repeat 1 --set duration=4s" if "--backend uml" in command or " validate " in command else command
    )


def test_the_commands_of_a_module_lead_to_figures_on_the_simulator_and_a_kernel_and_a_duel(tmp_path: Path) -> None:
    lead_to_figures([once(line) for line in commands("A kernel module")], tmp_path)


@pytest.mark.campaign
def test_the_commands_of_a_module_do_so_with_all_repetitions(tmp_path: Path) -> None:
    lead_to_figures(commands("A kernel module"), tmp_path)


def lead_to_figures(lines: list[str], tmp_path: Path) -> None:
    try:
        find_kernel()
        find_agent()
    except KernelMissing as missing:
        pytest.skip(f"needs a kernel: {missing}")
    jobs.execute(lines, tmp_path)
    drawn = tmp_path / "results" / "mine" / "plots" / "cwnd.png"
    with Image.open(drawn) as one, Image.open(jobs.DOCS / "pictures" / "your-own-control.png") as other:
        assert one.size == other.size
    assert (tmp_path / "results" / "on-kernel" / "experiment.json").is_file()
    assert (tmp_path / "results" / "duel" / "plots" / "duel.png").is_file()
