"""The conditions of a paper's testbed as data, in three kinds that are never mixed.

Those that the paper states, with the section; those that we choose where it is silent; and those that contradict it,
which only a what-if has.

The files are in `testbeds`. A condition that changes experiments does so by their variables (`let`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Self

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from tailback.scenario.document import plain
from tailback.scenario.reader import read_yaml

Values = Mapping[str, str | int]
"""Values of variables (`let`) of experiments."""

SECTION = re.compile(r"(§[IVX]+|App\. [A-Z]|T [I1]|F\d+)")


class Model(BaseModel):
    """A part of a data file: all its keys are known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Stated(Model):
    """A condition that the paper states."""

    name: str
    section: str
    """Where the paper states it."""
    what: str
    nearest: str = ""
    """What runs here where this is not to be had exactly."""
    let: Values = {}

    @field_validator("section")
    @classmethod
    def _is_a_section(cls, section: str) -> str:
        if SECTION.match(section) is None:
            raise ValueError(f"`{section}` begins with no section, figure, table or appendix")
        return section


class Chosen(Model):
    """A condition of which the paper says nothing."""

    name: str
    silent: str
    """What the paper does not state."""
    what: str
    """Our choice in words."""
    because: str
    let: Values = {}
    grid: Mapping[str, Values] = {}
    """The values that a search compares, by name; the first departs from nothing."""

    @model_validator(mode="after")
    def _from_its_grid(self) -> Self:
        if self.grid and self.let not in self.grid.values():
            raise ValueError(f"condition {self.name}: `let` is none of its `grid`")
        if any(values.keys() != self.let.keys() for values in self.grid.values()):
            raise ValueError(f"condition {self.name}: values of its `grid` have other variables")
        return self

    @property
    def value(self) -> str:
        """The name of the choice; empty if nothing is compared."""
        return next((name for name, values in self.grid.items() if values == self.let), "")


class Against(Model):
    """A condition that contradicts the paper: for a what-if only."""

    name: str
    contradicts: str
    """The name of the stated condition."""
    what: str
    because: str
    """What it would explain."""
    let: Values


class WhatIf(Model):
    """All departures together."""

    what: str
    let: Values = {}
    """The choices that go with them."""


class Disagreement(Model):
    """Where the paper contradicts itself."""

    section: str
    what: str
    """What it says in either place, and what we do."""


class Diagram(Model):
    """A figure of the paper that shows no data, as a chain of boxes."""

    figure: str
    caption: str
    chain: Sequence[str]
    links: Sequence[str] = ()
    """What the arrows between them say."""
    back: str = ""
    """What goes back from the last box."""
    back_to: int = 0
    """The place of the box that it goes to."""


class PrintedTable(Model):
    """A table of the paper, in our words."""

    figure: str
    """`T1` for the first."""
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Form(Model):
    """What a figure of the paper with data shows: what its axes say, and the words of its series."""

    figure: str
    section: str
    axes: Sequence[str]
    """How the labels of its axes begin."""
    series: Sequence[str]
    """Names in the legend, on an axis or in titles of panels."""


class PaperTestbed(Model):
    """The conditions of a paper."""

    stated: Sequence[Stated]
    chosen: Sequence[Chosen]
    against: Sequence[Against] = ()
    what_if: WhatIf | None = None
    disagrees: Sequence[Disagreement] = ()
    search_note: str = ""
    """What the page says beside the numbers of the search: how free its grid is of what was known."""
    figures: Sequence[Form] = ()
    diagrams: Sequence[Diagram] = ()
    tables: Sequence[PrintedTable] = ()

    @model_validator(mode="after")
    def _kinds_apart(self) -> Self:
        stated = {variable: one.name for one in self.stated for variable in one.let}
        for choice in self.chosen:
            taken = stated.keys() & choice.let.keys()
            if taken:
                raise ValueError(f"condition {choice.name}: `{taken.pop()}` is stated, so nothing is to be chosen")
        for departure in self.against:
            if departure.contradicts not in {stated[variable] for variable in departure.let if variable in stated}:
                raise ValueError(f"condition {departure.name}: it changes nothing of `{departure.contradicts}`")
        if (self.what_if is None) != (not self.against):
            raise ValueError("a what-if has departures, and departures have a what-if")
        return self

    @property
    def let(self) -> Values:
        """The variables of what is stated and chosen."""
        return merged([*(one.let for one in self.stated), *(one.let for one in self.chosen)])

    @property
    def departures(self) -> Values:
        """The variables that a what-if changes."""
        return merged([*(one.let for one in self.against), self.what_if.let if self.what_if else {}])

    @property
    def searched(self) -> Sequence[Chosen]:
        """The choices that a search compares."""
        return [choice for choice in self.chosen if choice.grid]


def merged(parts: Iterable[Values]) -> Values:
    """The variables of all parts; the last one that has a variable has its value."""
    return {variable: value for part in parts for variable, value in part.items()}


def load_testbed(paper: str) -> PaperTestbed:
    """The conditions of a paper."""
    text = resources.files("tailback.papers").joinpath("testbeds", f"{paper}.yaml").read_text(encoding="utf-8")
    return PaperTestbed.model_validate(plain(read_yaml(text, paper)))
