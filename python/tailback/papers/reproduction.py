"""Runs the experiments of a paper, or reuses complete runs; measures its claims and draws its figures."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tailback import scenario, sweep
from tailback.backends import open_backend
from tailback.papers.claims import OnKernel, Paper, Reported, is_part, load_paper, papers
from tailback.papers.drawing import Drawing
from tailback.papers.errors import UnknownPaper
from tailback.papers.figures import drawings_of
from tailback.papers.scorecard import Row, score
from tailback.papers.testbed import Values
from tailback.results import NotResults, Results, default_folder, open_results
from tailback.scenario.document import plain
from tailback.scenario.reader import read_yaml
from tailback.sweep import Watch

EXPERIMENTS = "papers"
"""The folder of the papers in the folder of experiments."""


Conditions = Literal["stated", "what-if", "kernel"]
"""What the paper states, with our choices where it is silent; with the departures of its what-if, too; or what a real
kernel can have (`kernel` in the paper's file).
"""

WHAT_IF = "what-if"
"""The folder of a what-if in the folder of results."""


@dataclass(frozen=True)
class Wanted:
    """A paper or figure to reproduce, with options."""

    paper: str
    figure: str | None = None
    quick: bool = False
    """Run one shorter repetition of each configuration."""
    jobs: int | None = None
    out: Path = Path("results")
    backend: str = "sim"
    conditions: Conditions = "stated"
    let: Mapping[str, str | int] = field(default_factory=dict)
    """Variables of the experiments that have other values, where an experiment has them."""


@dataclass(frozen=True)
class Reproduction:
    """The scorecard of a paper, its figures, and the results folders."""

    paper: Paper
    rows: Sequence[Row]
    drawings: Sequence[Drawing]
    folders: Mapping[str, Path]
    """Results folders by experiment."""
    errors: Sequence[str]
    """The errors of failed runs."""
    left_out: Set[str] = frozenset()
    """Values of axes that it has no runs of."""

    @property
    def results(self) -> Mapping[str, Results]:
        """The results of the experiments that have any."""
        opened = ((name, opened_if_any(folder)) for name, folder in self.folders.items())
        return {name: found for name, found in opened if found is not None}

    @property
    def reported(self) -> Sequence[Reported]:
        """The paper's values of what was run."""
        return [one for one in self.paper.reported if one.series not in self.left_out]


def reproduce(wanted: Wanted, watch: Watch) -> Reproduction:
    """Runs the missing runs and measures the claims."""
    paper = load_paper(wanted.paper)
    there = experiments_of(wanted, paper)
    claims = [one for one in paper.of_figure(wanted.figure) if there.issuperset(one.experiments)]
    drawings = [
        one
        for one in shown(wanted, paper)
        if there.issuperset(one.experiments) and (wanted.figure is None or is_part(one.figure, wanted.figure))
    ]
    experiments = [*(claim.experiments for claim in claims), *(drawing.experiments for drawing in drawings)]
    names = list(dict.fromkeys(name for each in experiments for name in each))
    if not (claims or drawings):
        drawn = (one.figure for one in shown(wanted, paper) if there.issuperset(one.experiments))
        known = ", ".join(f"`{name}`" for name in dict.fromkeys(drawn))
        raise UnknownPaper(f"`{paper.paper}` has no figure `{wanted.figure}` here\n  hint: there is {known}")
    carried = {name: reproduced(wanted, paper, name, watch) for name in names}
    folders = {name: done.folder for name, done in carried.items()}
    errors = [f"{name}: run {run.run.name}: {run.error}" for name, done in carried.items() for run in done.failed]
    left_out = frozenset(on_kernel(paper).left_out if wanted.conditions == "kernel" else ())
    found = Reproduction(paper, [], drawings, folders, errors, left_out)
    return replace(found, rows=score(paper, claims, found.results, left_out))


def shown(wanted: Wanted, paper: Paper) -> Sequence[Drawing]:
    """The figures of a paper; on a kernel those with runs, since its diagrams and tables are not what is compared."""
    if wanted.conditions != "kernel":
        return drawings_of(paper)
    figures = on_kernel(paper).figures
    return [one for one in drawings_of(paper) if one.experiments and (not figures or one.figure in figures)]


def experiments_of(wanted: Wanted, paper: Paper) -> frozenset[str]:
    """The experiments that run under the wanted conditions."""
    if wanted.conditions == "kernel":
        return frozenset(on_kernel(paper).settings)
    claimed = (name for claim in paper.claims for name in claim.experiments)
    return frozenset([*claimed, *(name for one in drawings_of(paper) for name in one.experiments)])


def on_kernel(paper: Paper) -> OnKernel:
    """How a paper runs on a real kernel; raises `UnknownPaper` if it does not."""
    if paper.kernel is None:
        there = ", ".join(f"`{name}`" for name in papers() if load_paper(name).kernel is not None)
        raise UnknownPaper(
            f"`{paper.paper}` does not say what a real kernel has in place of its testbed\n  hint: there is {there}; "
            "`tailback run` runs each of its experiments on other backends"
        )
    return paper.kernel


def with_conditions(conditions: Conditions) -> list[str]:
    """The papers that can be reproduced under these conditions."""
    return [name for name in papers() if conditions != "what-if" or load_paper(name).testbed.against]


def folder_of_pages(out: Path, conditions: Conditions) -> Path:
    """The folder of the page and the figures."""
    return out / WHAT_IF if conditions == "what-if" else out


def departures_of(wanted: Wanted, paper: Paper) -> Values:
    """The variables that differ from what is stated and chosen."""
    if wanted.conditions == "kernel":
        return on_kernel(paper).let
    if wanted.conditions == "stated":
        return {}
    if not paper.testbed.against:
        there = ", ".join(f"`{name}`" for name in papers() if load_paper(name).testbed.against)
        raise UnknownPaper(
            f"`{paper.paper}` has no what-if: none of our conditions contradicts it\n  hint: there is {there}"
        )
    return paper.testbed.departures


def experiment_file(paper: str, experiment: str) -> Path:
    """The file of an experiment."""
    name = f"{EXPERIMENTS}/{paper}/{experiment}"
    file = scenario.ready().get(name)
    if file is None:
        raise UnknownPaper(f"there is no experiment `{name}`\n  hint: `tailback list experiment` lists all experiments")
    return file


def variables_of(file: Path) -> Mapping[str, str | int]:
    """The variables of an experiment with their values."""
    entries = read_yaml(file.read_text(encoding="utf-8"), file.name).entries()
    values = {name: plain(node) for name, node in entries["let"].entries().items()} if "let" in entries else {}
    return {name: value for name, value in values.items() if isinstance(value, str | int)}


def reproduced(wanted: Wanted, paper: Paper, name: str, watch: Watch) -> sweep.SweepResult:
    """Runs one experiment in its folder in the results of the paper."""
    file = experiment_file(paper.paper, name)
    settings = paper.quick_settings(name) if wanted.quick else []
    there, let = variables_of(file), {**departures_of(wanted, paper), **wanted.let}
    if wanted.conditions == "kernel":
        settings = [*on_kernel(paper).settings[name], *settings]
    settings += [f"let.{variable}={value}" for variable, value in let.items() if variable in there]
    experiment = scenario.load(file, settings)
    plan = sweep.plan_of(experiment, open_backend(wanted.backend), settings)
    above = wanted.out / WHAT_IF if wanted.conditions == "what-if" else wanted.out
    folder = default_folder(file.stem, plan, above / wanted.paper)
    request = sweep.Request(wanted.backend, wanted.jobs, folder, settings)
    return sweep.run_experiment(experiment, request, watch)


def opened_if_any(folder: Path) -> Results | None:
    try:
        return open_results(folder)
    except NotResults:
        return None
