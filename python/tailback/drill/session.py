"""Runs scripts in packetdrill's order: first packets and calls, then the code."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tailback import _core
from tailback.drill.code import CodeFailed, CodeUnsupported, Evaluation
from tailback.drill.meant import with_hint
from tailback.drill.report import Finding, Report, Verdict
from tailback.limits import FileRefused, read_bounded

LARGEST = 1_000_000
"""Maximum size of a script in bytes."""


class WrongDrill(Exception):
    """The script cannot be read, or the stack or backend is unknown."""


@dataclass(frozen=True)
class Settings:
    """How to run scripts; `None` means the setting of the script."""

    tolerance_usecs: int | None = None
    stack: str | None = None
    backend: str = "sim"
    """The backend: `sim`, or a real kernel, `uml` or `uml:NAME`."""


Player: TypeAlias = Callable[[str], "_core.Drilled"]
"""Runs the text of a script."""


def run_files(files: Iterable[Path], settings: Settings) -> list[Report]:
    """Runs several scripts; on a kernel, in parallel."""
    play = _player(settings)
    if settings.backend == "sim":
        return [_run(file, play) for file in files]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(lambda file: _run(file, play), files))


def run_file(file: Path, settings: Settings) -> Report:
    """Runs the script in `file`."""
    return _run(file, _player(settings))


def run_text(text: str, file: Path, settings: Settings) -> Report:
    """Runs the script `text`; messages call it `file`."""
    return _played(text, file, _player(settings))


def _player(settings: Settings) -> Player:
    if settings.backend == "sim":
        return lambda text: _on_machines(text, settings)
    if settings.backend.partition(":")[0] != "uml":
        hint = "choose --backend sim, --backend uml or --backend uml:NAME"
        raise WrongDrill(f"scripts cannot run on the backend `{settings.backend}`\n  hint: {hint}")
    if settings.stack is not None:
        hint = "remove --stack, or build that kernel and name it: --backend uml:NAME"
        raise WrongDrill(f"--stack selects a TCP of the simulator, not that of a kernel\n  hint: {hint}")
    # Imported here, because the simulator does not need it.
    from tailback.backends.uml import Uml, scripts

    kernel = Uml.named(settings.backend.partition(":")[2] or None)
    return lambda text: scripts.play(kernel, text, settings.tolerance_usecs)


EMPTY = "the script has no event: it would check nothing"


def _on_machines(text: str, settings: Settings) -> "_core.Drilled":
    try:
        return _core.drill(text, settings.tolerance_usecs, settings.stack)
    except ValueError as error:
        raise WrongDrill(f"--stack: {error}") from error


def _run(file: Path, play: Player) -> Report:
    try:
        text = read_bounded(file, LARGEST).decode("utf-8")
    except (OSError, UnicodeDecodeError, FileRefused) as error:
        reason = getattr(error, "strerror", None) or error
        raise WrongDrill(f"{file}: cannot read the script: {reason}\n  hint: give the path of a .pkt file") from error
    return _played(text, file, play)


def _played(text: str, file: Path, play: Player) -> Report:
    drilled = play(text)
    findings = tuple(Finding(line, with_hint(message)) for line, message in drilled["findings"])
    evaluation = Evaluation()
    verdict, of_code = _evaluate(evaluation, drilled["snippets"])
    if of_code is not None and drilled["verdict"] in ("passed", "failed"):
        # The code precedes the point at which the run failed.
        return Report(file, verdict, (of_code, *findings), tuple(evaluation.printed), drilled["events"])
    if drilled["verdict"] == "passed" and not drilled["events"]:
        return Report(file, "malformed", (Finding(1, EMPTY),), tuple(evaluation.printed), 0)
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
