"""Testbeds on the command line: selects the testbed file, prints commands and findings."""

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.cli.failures import WrongInput

if TYPE_CHECKING:
    from tailback.backends.ssh import Finding, Plan, Ssh
    from tailback.resolved import Scenario
    from tailback.scenario import Experiment

STYLES = {"pass": "green", "warn": "yellow", "fail": "red"}


def backend_name(backend: str, testbed: Path | None) -> str:
    """The name of the backend given by `--backend` and `--testbed`."""
    if testbed is None:
        return backend
    if backend not in ("ssh", "sim"):
        raise WrongInput(f"--testbed is for --backend ssh, not {backend}\n  hint: remove one of the two")
    return f"ssh:{testbed}"


def is_testbed(backend: str) -> bool:
    """Whether the backend with this name is a testbed."""
    return backend.startswith("ssh:")


def dry_run(backend: str, experiment: "Experiment") -> None:
    """Prints the commands of a run on a testbed."""
    commands(opened(Path(backend.removeprefix("ssh:"))), experiment)


@contextlib.contextmanager
def live_lines() -> Iterator[None]:
    """Prints a line per second on stderr while a testbed measures."""
    from tailback.cli.console import stderr

    class Shown(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            stderr().print(record.getMessage())

    live, shown = logging.getLogger("tailback.live"), Shown()
    live.setLevel(logging.INFO)
    live.addHandler(shown)
    try:
        yield
    finally:
        live.removeHandler(shown)


def commands(backend: "Ssh", experiment: "Experiment") -> None:
    """Prints the shell commands of each configuration, by machine."""
    from tailback.cli.console import line

    for labels, scenario in _configurations(experiment):
        if labels:
            # On one line, even if a label contains a line feed: the output may be pasted into a shell.
            heading = ", ".join(f"{axis}={value}" for axis, value in labels.items())
            line(f"# == {' '.join(heading.split())}")
        for words in _lines(backend.plan(scenario)):
            line(words)


def _lines(plan: "Plan") -> Iterator[str]:
    for host in dict.fromkeys(step.host for step in plan.steps):
        own = [step for step in plan.steps if step.host == host]
        yield f"# {host}"
        yield from (step.words for step in own)
        undone = [step.undo_words for step in reversed(own) if step.undo_words]
        yield from (f"#   undone: {words}" for words in undone)
        yield ""


def _configurations(experiment: "Experiment") -> Iterator[tuple[Mapping[str, str], "Scenario"]]:
    """The configurations; their repetitions differ only in seeds."""
    for run in experiment.runs():
        if run.repetition == 1:
            yield run.axes, run.scenario


def distinct(backend: "Ssh", experiment: "Experiment") -> "list[Finding]":
    """The findings for an experiment; findings that several configurations share appear once."""
    found = (finding for _, scenario in _configurations(experiment) for finding in backend.findings(scenario))
    return list({(each.host, each.what, each.verdict, each.remedy): each for each in found}.values())


def opened(testbed: Path) -> "Ssh":
    """The backend of a testbed file."""
    from tailback.backends.ssh import Ssh

    return Ssh.of_file(str(testbed))


def document(found: "Sequence[Finding]") -> Mapping[str, Any]:
    """The JSON document of `testbed check --json`."""
    return {"findings": [asdict(finding) for finding in found]}


def show(found: "Sequence[Finding]") -> None:
    """Prints a row per finding."""
    from tailback.cli import sheets, tables
    from tailback.cli.sheets import Cell, Field, Sheet

    fields = [Field("host", "name"), Field("what", "name"), Field("", "name"), Field("says", "text")]
    rows = []
    for finding in found:
        says = finding.says if finding.verdict == "pass" else f"{finding.says}\n  hint: {finding.remedy}"
        verdict = Cell(finding.verdict, style=STYLES[finding.verdict])
        rows.append([*sheets.words(finding.host, finding.what), verdict, *sheets.words(says)])
    tables.show(Sheet("", fields, rows))
