"""Runs scripts: the core first, then the code of the script, as packetdrill does."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tailback import _core
from tailback.drill.code import CodeFailed, CodeUnsupported, Evaluation
from tailback.drill.report import Finding, Report, Verdict
from tailback.limits import NotTaken, read_bounded

LARGEST = 1_000_000
"""Bytes of a script."""


class WrongDrill(Exception):
    """A script that cannot be read, or a stack that there is not."""


@dataclass(frozen=True)
class Settings:
    """How to run scripts; what is `None` is as the script says."""

    tolerance_usecs: int | None = None
    stack: str | None = None


def run_files(files: Iterable[Path], settings: Settings) -> list[Report]:
    """Runs each of the files."""
    return [run_file(file, settings) for file in files]


def run_file(file: Path, settings: Settings) -> Report:
    """Runs the script in `file`."""
    try:
        text = read_bounded(file, LARGEST).decode("utf-8")
    except (OSError, UnicodeDecodeError, NotTaken) as error:
        raise WrongDrill(f"{file}: cannot read the script: {error}\n  hint: give the path of a .pkt file") from error
    return run_text(text, file, settings)


def run_text(text: str, file: Path, settings: Settings) -> Report:
    """Runs the script `text`, which is told of as `file`."""
    try:
        drilled = _core.drill(text, settings.tolerance_usecs, settings.stack)
    except ValueError as error:
        raise WrongDrill(f"--stack: {error}") from error
    findings = tuple(Finding(line, message) for line, message in drilled["findings"])
    evaluation = Evaluation()
    verdict, of_code = _evaluate(evaluation, drilled["snippets"])
    if of_code is not None and drilled["verdict"] in ("passed", "failed"):
        # Code stands before whatever the run failed at.
        return Report(file, verdict, (of_code, *findings), tuple(evaluation.printed), drilled["events"])
    return Report(file, drilled["verdict"], findings, tuple(evaluation.printed), drilled["events"])


def _evaluate(
    evaluation: Evaluation, snippets: list[tuple[int, str, dict[str, int]]]
) -> tuple[Verdict, Finding | None]:
    for line, code, variables in snippets:
        try:
            evaluation.run(code, line, variables)
        except CodeFailed as failed:
            return "failed", Finding(failed.line, failed.message)
        except CodeUnsupported as unsupported:
            return "unsupported", Finding(unsupported.line, unsupported.message)
    return "passed", None
