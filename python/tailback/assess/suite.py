"""A suite: a folder of experiment files, and in its `criteria.yml` what is asked of their results.

Each experiment has an axis `control` and a variable of that name, which is the control that is assessed. A suite of
one's own is a folder of the same form.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tailback import plain
from tailback.assess.errors import WrongSuite
from tailback.assess.measures import check
from tailback.scenario import file_of
from tailback.scenario.document import plain as plain_value
from tailback.scenario.reader import read_file, read_yaml

CRITERIA = "criteria.yml"
"""The table of a suite. Not `.yaml`, because experiments are what ends so."""

HOME = "assess"
"""The folder of the suites that come with Tailback, among the experiments."""

BASELINES = ("reno", "cubic", "bbr")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Criterion(_Model):
    """One row: a question, and the number and the bound that answer it, or why there is no answer."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    section: str
    question: str
    absent: str = ""
    """Why this row has no verdict."""
    experiment: str = ""
    where: Mapping[str, tuple[str, ...]] = {}
    """The values of axes that it is about; the others of the experiment are not looked at."""
    measure: str = ""
    """An expression over `summary.json` (`measures`)."""
    unit: str = ""
    better: Literal["low", "high"] = "high"
    least: float | None = 0.0
    """The smallest possible value, where intervals end."""
    bound: float | None = None
    """What the mean has to reach; without it, what the controls of `against` reach."""
    against: tuple[str, ...] = ()
    allow: float = Field(default=0.0, ge=0)
    """How far, as a share, it may be on the worse side of the interval of `against`."""
    source: str = ""
    """Where the bound comes from."""
    silent: bool = False
    """Whether nothing may arrive in the window: where backing off is what is asked, that ends no run."""

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.absent:
            return self
        if not (self.experiment and self.measure and self.source):
            raise ValueError("write `experiment`, `measure` and `source`, or in `absent` why there is no verdict")
        if (self.bound is None) == (not self.against):
            raise ValueError("write `bound` or `against`, and not both")
        check(self.measure)
        return self


class Suite(_Model):
    """A table of criteria; `folder` has its experiments."""

    folder: Path
    title: str
    source: str
    baselines: tuple[str, ...] = BASELINES
    of: Literal["control", "qdisc"] = "control"
    """The variable and the axis of what is assessed."""
    experiments: str = ""
    """The folder of its experiments, relative to its own; by default the same."""
    criteria: tuple[Criterion, ...]

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.name

    @property
    def asked(self) -> Sequence[Criterion]:
        """The criteria with an experiment."""
        return [each for each in self.criteria if not each.absent]

    def file(self, experiment: str) -> Path:
        """The file of an experiment."""
        return self.folder / self.experiments / f"{experiment}.yaml"

    def only(self, rows: Sequence[str]) -> "Suite":
        """The suite with the criteria that are named by their `id`, its beginning, or their section."""
        if not rows:
            return self
        kept = [each for each in self.criteria if any(_names(row, each) for row in rows)]
        for row in rows:
            if not any(_names(row, each) for each in kept):
                known = [each.id for each in self.criteria]
                hint = f"{plain.meant(row, known)}there are {', '.join(f'`{name}`' for name in known)}"
                raise WrongSuite(f"`{self.name}` has no row `{row}`\n  hint: {hint}")
        return self.model_copy(update={"criteria": tuple(kept)})


def _names(row: str, criterion: Criterion) -> bool:
    return criterion.id == row or criterion.id.startswith(f"{row}-") or criterion.section in (row, f"§{row}")


def suites() -> Mapping[str, Path]:
    """The folders of the suites that come with Tailback, by name."""
    home = file_of(Path("demo")).parent / HOME
    return {file.parent.name: file.parent for file in sorted(home.glob(f"*/{CRITERIA}"))}


def load_suite(name: str) -> Suite:
    """The suite of this name, or in this folder; raises `WrongSuite`."""
    known = suites()
    folder = known.get(name, Path(name))
    file = folder / CRITERIA
    if not file.is_file():
        there = ", ".join(f"`{each}`" for each in known)
        hint = f"{plain.meant(name, list(known))}there are {there}; or name a folder with a file {CRITERIA}"
        raise WrongSuite(f"`{name}` is not a suite\n  hint: {hint}")
    table: Any = plain_value(read_yaml(read_file(file), str(file)))
    try:
        suite = Suite.model_validate({**table, "folder": folder} if isinstance(table, dict) else table)
    except ValidationError as error:
        raise WrongSuite(f"{file}: {_first(error, table)}\n  hint: docs/assess.md has the keys") from None
    names = [each.id for each in suite.criteria]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise WrongSuite(f"{file}: two criteria have the id `{twice}`\n  hint: rename one")
    return suite


def fits(suite: Suite, *, qdisc: bool) -> None:
    """Raises `WrongSuite` if a suite is about something other than what is assessed."""
    if qdisc and suite.of != "qdisc":
        raise WrongSuite(f"`{suite.name}` is about congestion controls\n  hint: --suite rfc7928 is about disciplines")


def _first(error: ValidationError, table: Any) -> str:
    """The first error with the id of its criterion."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"]]
    if place[:1] == ["criteria"] and len(place) > 1:
        row = table["criteria"][int(place[1])]
        place[1] = str(row.get("id", place[1])) if isinstance(row, dict) else place[1]
    message = first["msg"].removeprefix("Value error, ")
    return f"{'.'.join(place)}: {message}" if place else message


__all__ = ["BASELINES", "CRITERIA", "Criterion", "Suite", "fits", "load_suite", "suites"]
