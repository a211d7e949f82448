"""Lists the rows of the registries. Each listing imports only its own registry, because imports are slow."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tailback.algorithms import CoreRegistry
from tailback.cli.failures import WrongInput
from tailback.tc.errors import nearest_hint

if TYPE_CHECKING:
    from tailback.scenario.stacks import Stack

Listing = list[tuple[str, str]]


def listed(kind: str | None) -> Listing:
    """The names of a kind of things (`cc`, `qdisc`, ...), with one line of description each; without one, the kinds.

    The kind may be in the plural (`qdiscs`).
    """
    listings: Mapping[str, tuple[str, Callable[[], Listing]]] = {
        "cc": ("congestion controls", lambda: [(row.name, row.summary) for row in CoreRegistry().congestion_controls]),
        "qdisc": ("queue disciplines", lambda: [(row.name, row.summary) for row in CoreRegistry().qdiscs]),
        "driver": ("Wi-Fi drivers", lambda: [(row.name, row.summary) for row in CoreRegistry().drivers]),
        "stack": ("network stacks", _stacks),
        "sysctl": ("sysctls of hosts, with the default of Linux 6.12", _sysctls),
        "preset": ("tests of Flent, for `traffic`", _presets),
        "metric": ("metrics of a run", _metrics),
        "plot": ("figures", _plots),
        "experiment": ("experiments that come with Tailback", _experiments),
        "backend": ("simulator, kernels and testbeds", _backends),
        "table": ("tables of a run", _tables),
        "warning": ("warnings of `check` and `run`", _warnings),
        "word": ("words of the field", _words),
    }
    if kind is None:
        return [(name, what) for name, (what, _) in listings.items()]
    if singular(kind) not in listings:
        raise WrongInput(f"`{kind}` cannot be listed\n  hint: {nearest_hint(kind, list(listings))}")
    return listings[singular(kind)][1]()


def singular(kind: str) -> str:
    """`qdiscs` as `qdisc`; no kind ends in an s."""
    return kind.removesuffix("s")


def document(kind: str | None, rows: Listing) -> dict[str, Any]:
    """`{"tailback", "kind", "names": [{"name", "text"}]}`, the kind in the singular; without a kind, the names are
    those of the kinds.
    """
    from tailback.results.provenance import tailback_version

    names = [{"name": name, "text": text} for name, text in rows]
    return {"tailback": tailback_version(), **({} if kind is None else {"kind": singular(kind)}), "names": names}


def _stacks() -> Listing:
    from tailback.scenario import stacks

    return [(stack.name, f"{stack.summary}{_count(stack)}") for stack in stacks.stacks()]


def _count(stack: "Stack") -> str:
    from tailback.scenario import stacks
    from tailback.scenario.defaults import STACK

    if stack.name == STACK:
        return ""
    return f"; differs from {STACK} in {len(stacks.from_the_modelled(stack))} points"


def _sysctls() -> Listing:
    from tailback.scenario.sysctl import SYSCTLS

    return [(row.name, f"{row.default}: {row.meaning}") for row in SYSCTLS]


def _plots() -> Listing:
    from tailback.plots.names import PLOTS

    return [(name, plot.summary) for name, plot in PLOTS.items()]


def _presets() -> Listing:
    from tailback.scenario.flows import PRESETS

    return list(PRESETS.items())


def _metrics() -> Listing:
    from tailback.analysis.quantities import names_of
    from tailback.analysis.registry import METRICS

    return [
        (
            row.key or row.name,
            "; ".join(filter(None, [f"{row.name}, {row.unit or 'no unit'}", ", ".join(names_of(row))])),
        )
        for row in METRICS.values()
    ]


def _experiments() -> Listing:
    from tailback import scenario

    return [(name, scenario.title_of(file)) for name, file in scenario.ready().items()]


def _backends() -> Listing:
    from tailback import backends

    return [(name, _first_sentence(text)) for name, text in backends.TEXTS.items()]


def _warnings() -> Listing:
    from tailback.cli.run_warnings import CODES
    from tailback.scenario.lint import WARNINGS

    return [(name, _first_sentence(text)) for name, text in {**WARNINGS, **CODES}.items()]


def _tables() -> Listing:
    from tailback.results import data_dictionary

    return [(table.name, _first_sentence(table.row)) for table in data_dictionary.tables().values()]


def _words() -> Listing:
    from tailback.cli.glossary import field

    return [(name, _first_sentence(text)) for name, text in field().words.items()]


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".")
