"""The versions of Linux that are measured, each with its kernel and its stack, and the cells of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from msgspec.structs import replace

from conformance.kinds.kinds import Case
from tailback import _core, scenario
from tailback.scenario import Experiment

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "conformance"

WIRED, WIFI, DUALPI2 = "versions", "versions-wifi", "versions-dualpi2"
"""The files."""


@dataclass(frozen=True)
class Version:
    """A kernel beside the simulator's stack."""

    name: str
    file: str
    release: str
    """Debian's `linux-source` of it."""
    features: Sequence[str] = ()

    @property
    def kernel(self) -> str:
        """The name of its kernel, as `tailback kernel build` gives it."""
        if self.release == "6.12":
            return "-".join(self.features) or "stock"
        return "-".join((f"linux-{self.release}", *self.features))

    @property
    def build(self) -> list[str]:
        """The words that build it."""
        return ["kernel", "build", "--version", self.release, *(f"--with={feature}" for feature in self.features)]

    @property
    def stack(self) -> str:
        """The stack of the simulator: that of the point release, where there is one."""
        own = f"linux-{self.release}"
        return next((row["name"] for row in _core.stacks() if row["name"].startswith(f"{own}.")), own)


VERSIONS = (
    Version("5.10", WIRED, "5.10"),
    Version("6.1", WIRED, "6.1"),
    Version("7.3", WIRED, "7.3", ("wifi",)),
    Version("6.12, Wi-Fi", WIFI, "6.12", ("wifi",)),
    Version("7.3, Wi-Fi", WIFI, "7.3", ("wifi",)),
    Version("7.3, dualpi2", DUALPI2, "7.3", ("wifi",)),
)
"""6.12 over wires has tables of its own (`conformance.kinds`)."""


@cache
def experiment(version: Version, stack: str) -> Experiment:
    """The cells of a version, all of whose hosts have a stack."""
    hosts = yaml.safe_load((FOLDER / f"{version.file}.yaml").read_text(encoding="utf-8"))["hosts"]
    return scenario.load(FOLDER / f"{version.file}.yaml", [f"hosts.{host}.stack={stack}" for host in hosts])


def only(whole: Experiment, cases: Sequence[str]) -> Experiment:
    """The configurations of these cases."""
    return replace(whole, configurations=tuple(each for each in whole.configurations if each.labels["case"] in cases))


def cases(version: Version) -> list[Case]:
    """The cells of a version; the name of the version stands for their file."""
    return [Case(version.name, each.labels["case"]) for each in experiment(version, version.stack).configurations]


def runs_of(version: Version) -> set[tuple[str, int]]:
    """The runs of a version: cell and repetition."""
    return {(run.axes["case"], run.repetition) for run in experiment(version, version.stack).runs()}
