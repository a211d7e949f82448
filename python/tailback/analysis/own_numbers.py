"""What programs of the user report of themselves, as numbers for comparisons.

They are no metrics of the registry: which there are is known when a run is over, and each program defines its own.
"""

from collections.abc import Iterable, Iterator, Mapping

from tailback.analysis.metric import Metric, Number, Summary, at

UNITS = {"mbps": "Mbit/s", "ms": "ms", "per_s": "1/s", "percent": "%"}
"""Units by the ends of names."""


def reported(summary: Summary) -> Mapping[str, float]:
    """The figures that the program reports itself (`iperf3 -J`, `curl -w '%{json}'`, the data file of Flent): what it
    counted, over the time that it measured, and not over the window.
    """
    return {f"{name}: {key}": value for name, key, value in _figures(summary)}


def of_programs(summaries: Iterable[Summary]) -> Iterator[tuple[Metric, Number]]:
    """A number for each figure that a program of these runs reports."""
    found = {(name, key): None for summary in summaries for name, key, _ in _figures(summary)}
    for name, key in found:
        unit = next((end for end in UNITS if key.endswith(f"_{end}")), "")
        title = f"{name}: {key.removesuffix(f'_{unit}').replace('_', ' ')}"
        read = at("programs", name, "reported", key)
        number = Number(title, f"programs.{name}.reported.{key}", read, test="permutation")
        metric = Metric(
            name=f"of {name}",
            key=None,
            unit=UNITS.get(unit, ""),
            tables=(),
            defined_by=reported,
            source="tailback",
            numbers=(number,),
            rank="outcome",
        )
        yield metric, number


def _figures(summary: Summary) -> Iterator[tuple[str, str, float]]:
    programs = summary.get("programs")
    for name, entry in programs.items() if isinstance(programs, Mapping) else ():
        figures = entry.get("reported") if isinstance(entry, Mapping) else None
        for key, value in figures.items() if isinstance(figures, Mapping) else ():
            if isinstance(value, int | float):
                yield name, key, float(value)
