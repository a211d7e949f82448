"""Explains algorithms, metrics and stacks, from the registries; `topics` explains all other words."""

import re
from collections.abc import Mapping, Sequence

from tailback import qdiscs
from tailback.algorithms import ETHERNET_MTU, CoreRegistry
from tailback.cli.explanation import Explanation, ParameterRow
from tailback.cli.failures import WrongInput
from tailback.scenario import stacks, words
from tailback.scenario.defaults import STACK
from tailback.tc import options as tc
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.rows import Parameter, Row


def explained(text: str) -> list[Explanation]:
    """Explains the algorithm that `text` names, with the options in it; a discipline is followed by its children."""
    registry = CoreRegistry()
    bare = registry.named(text.strip())
    if bare is not None:
        return documented(bare)
    kind = _kind(text)
    try:
        if kind in {row.name for row in registry.congestion_controls}:
            return _chain(words.control(text, registry.congestion_controls), registry.congestion_controls)
        if kind in {row.name for row in registry.drivers}:
            return _chain(words.driver(text, registry.drivers), registry.drivers)
        needy = next((row for row in registry.qdiscs if row.name == text.strip() and _requires(row)), None)
        if needy is not None:
            return documented(needy)
        if kind in {row.name for row in registry.qdiscs}:
            return _chain(words.discipline(text, registry.qdiscs), registry.qdiscs)
        return _other(text.strip(), registry)
    except WordError as error:
        raise WrongInput(f"{error.message}\n  hint: {error.hint}") from None


def _other(word: str, registry: CoreRegistry) -> list[Explanation]:
    """Explains what is no algorithm: a stack, a metric, a key of the experiment file and so on."""
    from tailback.cli import topics

    stack = _stack(word) or _paper(word)
    if stack is not None:
        return [stack]
    metric = _metric(word)
    found = [*([] if metric is None else [metric]), *topics.explained(word)] or list(topics.plot(word))
    found = found or list(topics.absent(word))
    if not found:
        raise _unknown(word, registry)
    return found


def _requires(row: Row) -> bool:
    """Whether this algorithm cannot be used without options."""
    return any(parameter.required for parameter in row.parameters)


def documented(row: Row) -> list[Explanation]:
    """Explains an algorithm without options, and its classes if it has any."""
    classes = [Explanation(f"a class of {row.name}", "", _parameters(row.classes, None))] if row.classes else []
    return [_explanation(row, None), *classes]


_STATISTIC = re.compile(r" (p[\d.]+|min|max|mean)$")


def _metric(text: str) -> Explanation | None:
    """The metric with this name, with this key in a summary, or of which this is a number (`ping p99`)."""
    from tailback.analysis import quantities

    row = quantities.metric(text) or quantities.metric(_STATISTIC.sub("", text))
    if row is None:
        return None
    unit = f" ({row.unit})" if row.unit else ""
    return Explanation(f"{row.name}{unit}", f"{row.definition}\n\nSource: {row.source}", [])


def _stack(text: str) -> Explanation | None:
    """The network stack with this name, with a paragraph per difference."""
    stack = next((each for each in stacks.stacks() if each.name == text.strip()), None)
    if stack is None:
        return None
    found = stacks.from_the_modelled(stack)
    against = "the others" if stack.name == STACK else STACK
    count = f"{len(found)} of {len(stacks.differences())}"
    intro = f"Release: {stack.release}. It differs from {against} in {count} points:"
    paragraphs = [_difference(stack, difference) for difference in found]
    return Explanation(f"{stack.name}: {stack.summary}", "\n\n".join([intro, *paragraphs]), [])


PAPERS = ("access21", "teacup14", "ton22", "wlan18")
"""The papers that can be reproduced: their files are slow to load, so only their names are known here."""


def _paper(word: str) -> Explanation | None:
    """The testbed and the score of the paper with this name."""
    if word not in PAPERS:
        return None
    from tailback import papers

    return Explanation(f"{word}: {papers.load_paper(word).title}", papers.explained(word), [])


def _difference(stack: stacks.Stack, difference: stacks.Difference) -> str:
    """The value of a difference in `stack` and in the others, since when, its effect, and its sources."""
    others = (f"{', '.join(names)}: {words}" for words, names in stacks.elsewhere(stack, difference).items())
    sources = ", ".join(f"[{source}]" for source in difference.sources)
    lines = [
        f"{difference.what}: {difference.values[stack.values[difference.key]]}",
        *(f"  {other}" for other in others),
        f"  when: {difference.since} {sources}",
        f"  known: {difference.evidence.of(stack.name)}",
        f"  effect: {difference.effect}",
        f"  code: {', '.join(difference.where)}",
    ]
    return "\n".join(lines)


def _unknown(name: str, registry: CoreRegistry) -> WordError:
    from tailback.cli import listings, topics

    kind = listings.singular(name)
    if kind in (each for each, _ in listings.listed(None)):
        return WordError(f"nothing here is called `{name}`", f"`tailback list {kind}` lists what can be explained")
    algorithms = [row.name for row in (*registry.congestion_controls, *registry.qdiscs, *registry.drivers)]
    known = [*algorithms, *(stack.name for stack in stacks.stacks()), *PAPERS, *topics.names()]
    close = nearest_hint(name, known)
    return WordError(f"nothing here is called `{name}`", close if close.startswith("did you mean") else WHERE_NAMES_ARE)


WHERE_NAMES_ARE = "`tailback list cc` shows congestion controls; it also lists " + (
    "qdisc, driver, stack, metric, plot, preset and experiment. Keys of the experiment file: docs/experiment-file.md"
)


def _kind(text: str) -> str:
    return (text.split() or [""])[0]


def _chain(algorithm: words.Algorithm, rows: Sequence[Row]) -> list[Explanation]:
    """The algorithm, its classes, and its children."""
    found: list[Explanation] = []
    row = next((row for row in rows if row.name == algorithm.kind), None)
    if row is not None:
        found.append(_explanation(row, _resolved(row, algorithm.options) if algorithm.options else None))
        found += [
            Explanation(f"class 1:{each.minor:x} of {row.name}", "", _parameters(row.classes or (), each.options))
            for each in algorithm.classes
            if row.classes
        ]
    different = [child for place, child in enumerate(algorithm.children) if child not in algorithm.children[:place]]
    return found + [one for child in different for one in _chain(child, rows)]


def _explanation(row: Row, values: Mapping[str, int] | None) -> Explanation:
    syntax = qdiscs.syntax(row) if row.name in qdiscs.KINDS else ""
    is_driver = row.name in {driver.name for driver in CoreRegistry().drivers}
    parameters = _parameters(row.parameters, values, NO_LIMIT if is_driver else DERIVED)
    return Explanation(f"{row.name}: {row.summary}", row.source, parameters, syntax)


def _resolved(row: Row, given: Mapping[str, int]) -> Mapping[str, int]:
    """All options of a discipline on an Ethernet device. For controls, and if a required option is missing, only the
    given ones.
    """
    registry = CoreRegistry()
    if row.name not in {qdisc.name for qdisc in registry.qdiscs}:
        return given
    try:
        return registry.resolved_qdisc(row.name, given, ETHERNET_MTU)
    except ValueError as error:
        if all(parameter.name in given or not parameter.required for parameter in row.parameters):
            raise WrongInput(f"{error}\n  hint: change one of the values") from None
        return given


NO_LIMIT = "no AQL"
"""What a driver does without a parameter that has no default: airtime queue limits are the only ones."""

DERIVED = "derived"
"""What an algorithm does there, unless the meaning of the parameter says that it does without."""

_DOES_WITHOUT = re.compile(r"default: (none|unlimited|no RED)$")


def _parameters(
    table: Sequence[Parameter], values: Mapping[str, int] | None, without: str = DERIVED
) -> list[ParameterRow]:
    return [_parameter(parameter, values, without) for parameter in table]


def _parameter(parameter: Parameter, values: Mapping[str, int] | None, without: str) -> ParameterRow:
    default = _default(parameter, without)
    as_written = None if values is None else default
    if values is not None and parameter.name in values:
        as_written = _written(parameter, values[parameter.name])
    return ParameterRow(parameter.name, as_written, default, _values(parameter), parameter.meaning)


def _values(parameter: Parameter) -> str:
    if parameter.name == "priomap":
        return "0 – 15 each"
    if parameter.unit in ("choice", "flag"):
        return ", ".join(_written(parameter, value) for value in range(parameter.min, parameter.max + 1))
    return f"{_written(parameter, parameter.min)} – {_written(parameter, parameter.max)}"


def _default(parameter: Parameter, without: str) -> str:
    if parameter.default is not None:
        return _written(parameter, parameter.default)
    if parameter.required:
        return "required"
    said = _DOES_WITHOUT.search(parameter.meaning)
    return without if said is None else said[1]


def _written(parameter: Parameter, value: int) -> str:
    """A value in the syntax of an experiment file."""
    if parameter.name == "priomap":
        return " ".join(str(value >> (4 * priority) & 15) for priority in range(16))
    return f"{value}p" if parameter.unit == "packets" else tc.written(parameter, value)
