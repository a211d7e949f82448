"""Runs the experiments of a paper, or takes the complete runs that are there, and scores its claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback import scenario, sweep
from tailback.backends import open_backend
from tailback.papers.claims import Claim, Paper, load_paper
from tailback.papers.errors import UnknownPaper
from tailback.papers.scorecard import Row, score
from tailback.results import NotResults, Results, default_folder, open_results
from tailback.sweep import Watch

EXPERIMENTS = Path("experiments") / "papers"
CHECKOUT = Path(__file__).resolve().parents[3]
QUICK = ("repeat=1",)
"""Shorter runs would not show what happens each 10 s."""


@dataclass(frozen=True)
class Wanted:
    """What to reproduce, and how."""

    paper: str
    figure: str | None = None
    quick: bool = False
    """One repetition of each configuration instead of those of the file."""
    jobs: int | None = None
    out: Path = Path("results")


@dataclass(frozen=True)
class Reproduction:
    """The scorecard of a paper, and the folders it was measured from."""

    paper: Paper
    rows: Sequence[Row]
    folders: Mapping[str, Path]
    """By the name of the experiment."""
    errors: Sequence[str]
    """Runs that failed."""


def reproduce(wanted: Wanted, watch: Watch) -> Reproduction:
    """Runs what is missing and scores the claims."""
    paper = load_paper(wanted.paper)
    claims = paper.of_figure(wanted.figure)
    files = {claim.experiment: experiment_file(paper.paper, claim) for claim in claims}
    carried = {name: carry_out(wanted, file, watch) for name, file in files.items()}
    folders = {name: done.folder for name, done in carried.items()}
    errors = [f"{name}: run {run.run.name}: {run.error}" for name, done in carried.items() for run in done.failed]
    found = {name: opened for name, folder in folders.items() if (opened := opened_if_any(folder)) is not None}
    return Reproduction(paper, score(paper, claims, found), folders, errors)


def experiment_file(paper: str, claim: Claim) -> Path:
    """The file of a claim's experiment, here or in the checkout this package runs from."""
    places = [parent / EXPERIMENTS / paper / f"{claim.experiment}.yaml" for parent in (Path(), CHECKOUT)]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise UnknownPaper(f"no file `{places[0]}`\n  hint: it is part of the repository; run in a clone of it")
    return found


def carry_out(wanted: Wanted, file: Path, watch: Watch) -> sweep.Carried:
    """Runs one experiment in the folder it has among the results of the paper."""
    settings = list(QUICK) if wanted.quick else []
    experiment = scenario.load(file, settings)
    plan = sweep.plan_of(experiment, open_backend("sim"), settings)
    folder = default_folder(file.stem, plan, wanted.out / wanted.paper)
    return sweep.carry_out(experiment, sweep.Request(jobs=wanted.jobs, out=folder, settings=settings), watch)


def opened_if_any(folder: Path) -> Results | None:
    try:
        return open_results(folder)
    except NotResults:
        return None
