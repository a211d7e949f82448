"""The report of a comparison: one HTML page with embedded figures, which needs no network."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tailback.analysis.rows import records
from tailback.plots import conformance, one_of_several, overlay, rendered
from tailback.plots.errors import NotDrawable
from tailback.results import RunPair, RunResult
from tailback.results.pairing import CANDIDATE, REFERENCE, Side
from tailback.results.provenance import tailback_version
from tailback.results.reading import Results
from tailback.validation.around import Around, around
from tailback.validation.comparison import Comparison, Divergence, divergence
from tailback.validation.session import LeftOut
from tailback.validation.words import number, percent, share

MAX_FIGURES = 24
"""Maximum number of configurations with a figure of traces, to limit the size of the page."""

MAX_POINTS = 20_000
"""Maximum number of points of a vector figure; larger ones are embedded as pixels."""

TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


@dataclass(frozen=True)
class Section:
    """One configuration on the page."""

    number: int
    label: str
    repetitions: Sequence[int]
    metrics: Sequence[Mapping[str, Any]]
    distances: Sequence[Mapping[str, Any]]
    divergences: Sequence[Mapping[str, Any]]
    divergence: Divergence | None
    around: Around | None
    silent: Sequence[Side]
    """Sides without events."""
    figure: str | None
    """The figure as a data URI."""

    @property
    def off(self) -> int:
        """Cells out of tolerance."""
        return sum(row["outcome"] == "off" for row in self.metrics)

    @property
    def undecided(self) -> int:
        """Cells that further repetitions could decide."""
        return sum(row["outcome"] == "undecided" for row in self.metrics)


def html(comparison: Comparison, left_out: Sequence[LeftOut] = ()) -> str:
    """The page."""
    drawn = _drawn(comparison)
    places = range(len(comparison.pairing.configurations))
    figures = {place: _overlay(comparison, place) for place in drawn}
    sections = [_section(comparison, place, figures.get(place)) for place in places]
    return _environment().get_template("report.html.j2").render(
        comparison=comparison,
        pairing=comparison.pairing,
        names=comparison.names(),
        sides={"reference": _runs(comparison.pairing.reference), "candidate": _runs(comparison.pairing.candidate)},
        tolerances={name: by.words for name, by in comparison.criteria.tolerances.items() if by.words != "off"},
        shares=records(comparison.share_within),
        matrix=_matrix(comparison),
        sections=sections,
        left_out=left_out,
        version=tailback_version(),
        figures_left_out=len(sections) - len(drawn),
    )  # fmt: skip


def has_matrix(comparison: Comparison) -> bool:
    """Whether there is more than one configuration with a verdict."""
    return len(comparison.pairing.configurations) > 1 and not comparison.deviations.empty


def as_json(document: Mapping[str, Any]) -> bytes:
    """A JSON document as the bytes of a file."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tailback.validation", "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["number"] = number
    environment.filters["share"] = share
    environment.filters["percent"] = percent
    environment.filters["records"] = records
    return environment


def _runs(results: Results) -> dict[str, str]:
    """The folder, backend and host of results."""
    manifests = [run.manifest for run in results.runs]
    backends = dict.fromkeys(str(manifest["backend"]) for manifest in manifests)
    builds = dict.fromkeys(str(manifest["fingerprint"]) for manifest in manifests)
    return {
        "folder": str(results.path),
        "backend": ", ".join(backends),
        "build": ", ".join(builds),
        "started": min(str(manifest["started"]) for manifest in manifests),
    }


def _drawn(comparison: Comparison) -> set[int]:
    """The configurations whose traces are drawn: all if they fit, else those farthest out of tolerance."""
    count = len(comparison.pairing.configurations)
    if count <= MAX_FIGURES:
        return set(range(count))
    worst = comparison.judged.groupby("configuration")["excess"].apply(lambda excess: excess.abs().max())
    return {int(place) for place in worst.fillna(0).sort_values(ascending=False, kind="stable").index[:MAX_FIGURES]}


def _section(comparison: Comparison, place: int, figure: str | None) -> Section:
    pairing, first = comparison.pairing, divergence(comparison, place)
    rows = comparison.rows
    metrics, distances, divergences = (
        of_each.get(place, ()) for of_each in (rows.judged, rows.distances, rows.divergences)
    )
    return Section(
        number=place + 1,
        label=", ".join(f"{axis} {value}" for axis, value in pairing.configurations[place].items()) or "all runs",
        repetitions=[pair.repetition for pair in pairing.of(place)],
        metrics=metrics,
        distances=distances,
        divergences=_first_of_each_flow(divergences),
        divergence=first,
        around=None if first is None else around(first),
        silent=[] if first is None else _silent(first.pair),
        figure=figure,
    )


def _silent(pair: RunPair) -> list[Side]:
    sides: dict[Side, RunResult] = {REFERENCE: pair.reference, CANDIDATE: pair.candidate}
    return [side for side, run in sides.items() if not run.has("events")]


def _first_of_each_flow(divergences: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first divergence of each flow; they are sorted by time."""
    first: dict[tuple[int, str], Mapping[str, Any]] = {}
    for row in divergences:
        first.setdefault((row["repetition"], row["flow"]), row)
    return list(first.values())


def _overlay(comparison: Comparison, place: int) -> str | None:
    """The figure with the traces of the first repetition."""
    pairs = comparison.pairing.of(place)
    pair = pairs[0]
    if not (pair.reference.has("tcp_info") or pair.candidate.has("tcp_info")):
        return None
    found = comparison.divergences
    theirs = found[(found["configuration"] == place) & (found["repetition"] == pair.repetition)]
    try:
        table = overlay.data(pair).assign(**one_of_several.columns([each.reference for each in pairs]))
    except NotDrawable:
        return None
    shown = theirs[theirs["flow"].isin(table["flow"])]
    divergences = {str(flow): float(t) for flow, t in shown.groupby("flow")["t"].min().items()}
    figure = overlay.draw(table, {str(side): name for side, name in comparison.names().items()}, divergences)
    suffix = ".png" if len(table) > MAX_POINTS else ".svg"
    return data_uri(rendered(figure, suffix), suffix)


def _matrix(comparison: Comparison) -> str | None:
    if not has_matrix(comparison):
        return None
    return data_uri(rendered(conformance.draw(comparison.deviations), ".svg"), ".svg")


def data_uri(content: bytes, suffix: str) -> str:
    """A file as a data URI."""
    return f"data:{TYPES[suffix]};base64,{base64.b64encode(content).decode()}"
