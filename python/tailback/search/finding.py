"""What becomes of a finding: its file and figure, a row of a suite, a run on another backend, and its document."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from tailback import plots, scenario, sweep
from tailback.assess import measures
from tailback.assess.suite import CRITERIA
from tailback.backends import Unsuitable
from tailback.results.durable import make_folder, write_file
from tailback.results.provenance import tailback_version
from tailback.scenario.document import plain as plain_value
from tailback.scenario.reader import read_file, read_yaml
from tailback.search.errors import WrongSearch
from tailback.search.session import Found, Wanted, document_of, score_of, with_settings, written

CONTROL = "control"


class Place(Struct, frozen=True):
    """Where a finding is to go."""

    out: Path | None = None
    save: Path | None = None
    verify: str | None = None


class Kept(Struct, frozen=True):
    """Where it went."""

    files: Sequence[Path] = ()
    verified: Sequence[str] = ()


def keep(found: Found, wanted: Wanted, place: Place) -> Kept:
    """Writes the file of a finding and its figure; nothing without one."""
    if not found.text:
        return Kept()
    folder = place.out or Path("results") / "search" / wanted.file.stem
    make_folder(folder)
    file, figure = folder / f"{wanted.file.stem}.yaml", folder / f"{wanted.file.stem}.png"
    write_file(file, commented(found, wanted).encode())
    experiment = scenario.load(file)
    _, results = sweep.simulate(experiment, 1, sweep.Silent())
    plots.draw_to(plots.find_plot("cwnd"), results, figure)
    files = [file, figure]
    if place.save is not None:
        files += saved(found, wanted, place.save)
    return Kept(files, [] if place.verify is None else [verified(file, wanted, place.verify)])


def commented(found: Found, wanted: Wanted) -> str:
    """The file with what it shows."""
    lasting = f" for {wanted.condition.for_s:g} s" if wanted.condition.for_s else ""
    return f"# Found by `tailback search`: {wanted.condition.text}{lasting}\n{found.text}"


def verified(file: Path, wanted: Wanted, backend: str) -> str:
    """Whether the finding shows on another backend."""
    try:
        request = sweep.Request(backend, out=file.parent / backend.replace(":", "-"))
        carried = sweep.run_experiment(scenario.load(file), request, sweep.Silent())
    except Unsuitable as refused:
        return f"{backend}: cannot run it: {refused}"
    if carried.failed:
        return f"{backend}: the run failed: {carried.failed[0].error}"
    score = score_of(wanted.condition, carried.results)
    return f"{backend}: {'shows it, too' if score > 0 else 'does not show it'} (score {score:.3f})"


def saved(found: Found, wanted: Wanted, folder: Path) -> list[Path]:
    """Adds the experiment with the settings of the finding to a suite, with a row that fails while it happens."""
    whole = with_settings(document_of(wanted.file, wanted.settings), found.settings)
    if CONTROL not in whole.get("let", {}):
        raise WrongSearch(
            f"`{wanted.file}` has no variable `{CONTROL}`, which `assess` sets\n"
            f"  hint: write `let: {{{CONTROL}: bbr}}` and `cc: ${{{CONTROL}}}`"
        )
    [part] = wanted.condition.parts if len(wanted.condition.parts) == 1 else [None]
    if part is None or part.over_time:
        raise WrongSearch(
            "only one comparison of numbers of the summary becomes a row of a suite\n  hint: leave --save out"
        )
    for side in (part.left, part.right):
        measures.check(side)
    make_folder(folder)
    table = folder / CRITERIA
    known: Any = plain_value(read_yaml(read_file(table), str(table))) if table.is_file() else None
    suite = known or {"title": "counter-examples", "source": "tailback search", "criteria": []}
    name = _free(wanted.file.stem, [row["id"] for row in suite["criteria"]])
    suite["criteria"].append({
        "id": name, "section": "found", "question": f"Does it avoid {wanted.condition.text}?", "experiment": name,
        "measure": f"({part.left}) - ({part.right})", "better": "low", "least": None, "bound": 0,
        "source": "found by a search",
    })  # fmt: skip
    control = whole["let"][CONTROL]
    whole = {**whole, "vary": {CONTROL: [control]}, "repeat": 3}
    write_file(folder / f"{name}.yaml", written(whole).encode())
    write_file(table, yaml.safe_dump(suite, sort_keys=False, allow_unicode=True, width=120).encode())
    return [folder / f"{name}.yaml", table]


def _free(stem: str, taken: Sequence[str]) -> str:
    name = "".join(letter if letter.isalnum() else "-" for letter in stem.lower())
    return next(each for each in [name, *(f"{name}-{n}" for n in range(2, 10_000))] if each not in taken)


def document(found: Found, wanted: Wanted, kept: Kept) -> dict[str, Any]:
    """The search as JSON: `found` is false if nothing was, and then `settings` are the nearest."""
    return {
        "tailback": tailback_version(),
        "file": str(wanted.file),
        "find": wanted.condition.text,
        "for_s": wanted.condition.for_s,
        "seed": wanted.seed,
        "found": bool(found.text),
        "settings": list(found.settings),
        "score": found.score,
        "evaluations": found.evaluations,
        "shrinking": found.shrinking,
        "cpu_s": found.cpu_s,
        **({"text": found.text, "lines": found.lines} if found.text else {}),
        **({"verified": list(kept.verified)} if kept.verified else {}),
        "files": [str(each) for each in kept.files],
    }
