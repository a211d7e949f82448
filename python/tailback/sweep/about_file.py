"""The warnings about the file that belong to the summary of each run: those of its configuration."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tailback.results import RunPlan
from tailback.scenario import Experiment, alike, lint

KEY = "key"
"""A warning with this entry is about a key of the file; all others are about the run."""


class FileWarnings:
    """The warnings about an experiment file by configuration. Each is made when its first run needs it."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._places = {tuple(each.labels.items()): each for each in experiment.configurations}
        self._made: dict[tuple[tuple[str, str], ...], list[dict[str, Any]]] = {}

    def __call__(self, run: RunPlan) -> Sequence[Mapping[str, Any]]:
        """The warnings of the configuration of a run, one for each code. The name of the file is not among them, so
        that the summary has the same bytes wherever the file is.
        """
        place = tuple(run.axes.items())
        if place not in self._made:
            one = replace(self._experiment, configurations=(self._places[place],))
            kinds = alike(each for each in lint(one) if each.severity == "warning")
            self._made[place] = [
                {
                    "code": kind.worst.code, "severity": kind.worst.severity, "text": kind.worst.text,
                    "hint": kind.worst.remedy, "extent": kind.worst.extent, KEY: kind.worst.path,
                    "count": len(kind.all),
                    **({} if kind.worst.where.line is None else {"line": kind.worst.where.line}),
                }
                for kind in kinds
            ]  # fmt: skip
        return self._made[place]
