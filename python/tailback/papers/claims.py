"""Claims of papers as data, read from the YAML file of each paper in this folder.

A claim names the experiment that shows it (`experiments/papers/PAPER/NAME.yaml`), says in our words what the paper
reports and how it is measured, and where each of its quantities is expected to lie.
"""

import math
from collections.abc import Mapping
from importlib import resources
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from ruamel.yaml import YAML

from tailback.papers.errors import UnknownPaper

Kind = Literal["value", "order", "rank", "shape"]
"""A figure in the text; orders of magnitude; who is above whom; behaviour over time."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Expected(_Model):
    """Where a quantity must lie; a bound that is absent does not bind."""

    low: float | None = Field(default=None, alias="from")
    high: float | None = Field(default=None, alias="to")
    unit: str

    @model_validator(mode="after")
    def _binds(self) -> Self:
        if self.low is None and self.high is None:
            raise ValueError("a bound is missing: write `from`, `to` or both")
        return self

    def holds(self, value: float) -> bool:
        """Whether `value` lies within; what is not a number does not."""
        low = -math.inf if self.low is None else self.low
        return low <= value <= (math.inf if self.high is None else self.high)

    def __str__(self) -> str:
        if self.low is None:
            return f"≤ {self.high:g} {self.unit}"
        if self.high is None:
            return f"≥ {self.low:g} {self.unit}"
        return f"{self.low:g} … {self.high:g} {self.unit}"


class Claim(_Model):
    """One measurable statement of a paper."""

    id: str
    figure: str
    kind: Kind
    experiment: str
    says: str
    measure: str
    expected: Mapping[str, Expected]
    note: str | None = None
    """Why it is missed, if it is."""


class Paper(_Model):
    """A paper's claims."""

    paper: str
    title: str
    claims: list[Claim]

    @property
    def figures(self) -> list[str]:
        """Its figures, as the claims number them."""
        return list(dict.fromkeys(claim.figure for claim in self.claims))

    def of_figure(self, figure: str | None) -> list[Claim]:
        """The claims of `figure` (`5` means 5a, 5b and 5c too), or all."""
        if figure is None:
            return list(self.claims)
        wanted = figure.removeprefix("fig")
        found = [claim for claim in self.claims if wanted in {claim.figure, claim.figure.rstrip("abcdef")}]
        if not found:
            there = ", ".join(f"`{name}`" for name in self.figures)
            raise UnknownPaper(f"`{self.paper}` has no claim about figure `{figure}`\n  hint: there is {there}")
        return found


def papers() -> list[str]:
    """Names of the papers whose claims are known."""
    files = resources.files("tailback.papers").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_paper(name: str) -> Paper:
    """The claims of the paper `name`."""
    if name not in papers():
        there = ", ".join(f"`{paper}`" for paper in papers())
        raise UnknownPaper(f"no claims of a paper `{name}`\n  hint: there is {there}")
    text = resources.files("tailback.papers").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    return Paper.model_validate(YAML(typ="safe").load(text))
