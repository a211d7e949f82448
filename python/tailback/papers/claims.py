"""Claims of papers as data, read from the YAML file of each paper in this folder.

A claim names its experiment (`experiments/papers/PAPER/NAME.yaml`), describes in our words what the paper reports and
how we measure it, and gives the expected range of each of its quantities.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from tailback.papers.errors import UnknownPaper
from tailback.papers.testbed import Model, PaperTestbed, Values, load_testbed
from tailback.scenario.document import plain
from tailback.scenario.reader import read_yaml

HALF = 128
"""Claims whose hash begins with less choose."""

Kind = Literal["value", "order", "rank", "shape"]
"""A number in the text; an order of magnitude; a ranking; behaviour over time."""


class Expected(Model):
    """The expected range of a quantity; a missing bound is unlimited."""

    low: float | None = Field(default=None, alias="from")
    high: float | None = Field(default=None, alias="to")
    unit: str

    @model_validator(mode="after")
    def _binds(self) -> Self:
        if self.low is None and self.high is None:
            raise ValueError("a bound is missing: write `from`, `to` or both")
        return self

    def holds(self, value: float) -> bool:
        """Whether `value` lies within the bounds; NaN does not."""
        low = -math.inf if self.low is None else self.low
        return low <= value <= (math.inf if self.high is None else self.high)

    def __str__(self) -> str:
        if self.low is None:
            words = f"≤ {self.high:g}"
        elif self.high is None:
            words = f"≥ {self.low:g}"
        else:
            words = f"{self.low:g} … {self.high:g}"
        return f"{words} {self.unit}".rstrip()


class Claim(Model):
    """One measurable statement of a paper."""

    id: str
    figure: str
    kind: Kind
    experiments: Sequence[str] = Field(alias="experiment")
    """The experiments whose results its evaluator takes, in this order."""
    says: str
    measure: str
    expected: Mapping[str, Expected]
    witness: Mapping[str, Expected] = Field(default_factory=dict)
    """What shows that the mechanism of the paper is at work, if the values hold: a counter, or the limit that held."""
    note: str | None = None
    """Why it does not hold, if so."""

    @property
    def bounds(self) -> Mapping[str, Expected]:
        """The ranges of all quantities, of the witness too."""
        return {**self.expected, **self.witness}

    @property
    def chooses(self) -> bool:
        """Whether it is one of those that choose among silent conditions; the others test the choice.

        Drawn before any run: by the first byte of the hash of its id, half of the values each.
        """
        return hashlib.sha256(self.id.encode()).digest()[0] < HALF

    @field_validator("experiments", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value


Range = tuple[float, float]


class Reported(Model):
    """A value that a figure of a paper shows, as read off it or as its text says."""

    figure: str
    quantity: str
    """Beginning of the label of the vertical axis."""
    panel: str = ""
    """Title of the panel; all panels without it."""
    series: str = ""
    """The name of the series in the legend, if it is one of several."""
    at: float | Range | str | None = None
    """Where on the horizontal axis, as a number, a range or a name; without it the value holds for all of it."""
    value: float | Range | None = None
    """On the vertical axis; without it only the place on the horizontal one is known."""


class Instead(Model):
    """What runs on a real kernel have in place of a condition of the testbed."""

    what: str
    because: str
    let: Values = Field(default_factory=dict)
    """The variables of the experiments that express it."""


class OnKernel(Model):
    """How experiments of a paper run on a real kernel, and on the simulator beside it."""

    backend: str
    """The kernel that the committed runs have, as `--backend` takes it."""
    version: str
    """Its version, as `6.12`."""
    instead: Sequence[Instead]
    left_out: Sequence[str]
    """Values of axes that no kernel has."""
    settings: Mapping[str, Sequence[str]]
    """The settings of each experiment that runs there, fewer and shorter repetitions among them."""
    figures: Sequence[str] = ()
    """The figures of these experiments that have all their series there; without it all of them."""
    found: Mapping[str, str] = Field(default_factory=dict)
    """What the real kernel changes in a figure, by its number."""

    @property
    def let(self) -> Values:
        """The variables of all that is different."""
        return {variable: value for one in self.instead for variable, value in one.let.items()}


class Paper(Model):
    """A paper's claims."""

    paper: str
    title: str
    quick: Mapping[str, Sequence[str]]
    """The settings of `--quick`, by experiment; `default` for those without an entry."""
    testbed: PaperTestbed
    kernel: OnKernel | None = None
    reported: list[Reported] = Field(default_factory=list)
    claims: list[Claim]

    @property
    def figures(self) -> list[str]:
        """The figures of the paper, with the numbers in the claims."""
        return list(dict.fromkeys(claim.figure for claim in self.claims))

    def quick_settings(self, experiment: str) -> list[str]:
        """The settings of `--quick` for an experiment."""
        return list(self.quick.get(experiment, self.quick["default"]))

    def of_figure(self, figure: str | None) -> list[Claim]:
        """The claims about `figure` (`5` includes 5a, 5b and 5c), or all."""
        return [claim for claim in self.claims if figure is None or is_part(claim.figure, figure)]


def is_part(figures: str, wanted: str) -> bool:
    """Whether a claim about `figures` (`5a`, `4a-b`, `5, 12`, `10-14`) is about the figure `wanted` (`fig5`, `5b`)."""
    table = _TABLE.fullmatch(wanted.lower())
    if table is not None or figures.startswith("T"):
        return table is not None and figures == f"T{table['number']}"
    part = _PART.fullmatch(wanted.removeprefix("fig"))
    if part is None:
        return False
    number, letter = int(part["number"]), part["letter"]
    return any(
        number in numbers and not (letter and letters and letter not in letters) for numbers, letters in _parts(figures)
    )


_PART = re.compile(r"(?P<number>\d+)(?P<letter>[a-z]?)(?:-(?P<last>\d*)(?P<last_letter>[a-z]?))?")


_TABLE = re.compile(r"(?:t|table ?)(?P<number>\d+)")


def _parts(figures: str) -> list[tuple[range, str]]:
    """The numbers and letters of each part; an empty string stands for all letters."""
    found = []
    for words in figures.split(", "):
        part = _PART.fullmatch(words)
        if part is None:
            raise ValueError(f"`{figures}` names no figures")
        number = int(part["number"])
        first, last = part["letter"], part["last_letter"] or part["letter"]
        letters = "".join(map(chr, range(ord(first), ord(last) + 1))) if first else ""
        found.append((range(number, int(part["last"] or number) + 1), letters))
    return found


def papers() -> list[str]:
    """The names of all papers."""
    files = resources.files("tailback.papers").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_paper(name: str) -> Paper:
    """The claims of the paper `name`."""
    if name not in papers():
        there = ", ".join(f"`{paper}`" for paper in papers())
        raise UnknownPaper(f"no claims of a paper `{name}`\n  hint: there is {there}")
    text = resources.files("tailback.papers").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    entries: Mapping[str, object] = {key: plain(node) for key, node in read_yaml(text, name).entries().items()}
    return Paper.model_validate({**entries, "testbed": load_testbed(name)})
