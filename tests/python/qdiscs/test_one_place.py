"""All facts about a discipline are in two files: its algorithm in `crates/qdisc`, its syntax in `tailback/qdiscs`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import tailback
from command import in_process
from tailback import _core, qdiscs
from tailback.backends.linux.job import job_of
from tailback.backends.linux.suitable import findings
from tailback.backends.linux.trees import NOTHING, Tree
from tailback.backends.qdisc_stats import of_simulator
from tailback.cli.qdiscs import text
from tailback.qdiscs import registry
from tailback.resolved import Qdisc, shaped_rate
from tailback.scenario import CoreRegistry, Row, loads, rows, words
from tailback.scenario.lint import lint

PACKAGE = Path(tailback.__file__).parent
CRATES = PACKAGE.parents[1] / "crates"

KINDS = [row["name"] for row in _core.qdiscs()]


def test_every_discipline_has_both_a_row_in_rust_and_one_in_python() -> None:
    assert sorted(KINDS) == sorted(set(qdiscs.KINDS) - {"series"})
    assert [row.kind for row in qdiscs.KINDS.values()] == sorted(qdiscs.KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_options_in_a_python_file_exist_in_the_core(kind: str) -> None:
    row, known = qdiscs.of(kind), set(registry.units_of(kind))
    grammar = row.grammar
    named = {*grammar.options, *grammar.aliases.values(), *grammar.without_keyword, *row.kernel.refused}
    named |= {*row.above_classes, *row.class_rates, *filter(None, (row.classes_by, row.shaper))}
    assert named <= known


@pytest.mark.parametrize("row", CoreRegistry().qdiscs, ids=lambda row: row.name)
def test_a_discipline_with_classes_has_an_example_of_them_that_is_read(row: Row) -> None:
    example = qdiscs.of(row.name).tree
    assert bool(example) == (row.classes is not None)
    if example:
        tree = words.discipline(example, CoreRegistry().qdiscs)
        assert tree.kind == row.name
        assert len(tree.classes) == 2
        assert example.replace("; ", "\n    ") in in_process("explain", row.name).stdout


@pytest.mark.parametrize("row", CoreRegistry().qdiscs, ids=lambda row: row.name)
def test_every_keyword_of_a_discipline_has_a_meaning(row: Row) -> None:
    grammar = qdiscs.of(row.name).grammar
    parameters = (*row.parameters, *(row.classes or ()))
    known = {name for each in parameters for name in (each.name, *each.words)}
    # A parameter without a keyword of its own has one of another form, except for choices, whose values are listed.
    assert set(grammar.keywords) == {word for word in grammar.forms if word not in known}


def test_a_kind_without_a_row_is_an_error_that_says_what_to_write() -> None:
    core = Row("toy", "", "", ())
    with pytest.raises(qdiscs.NotListed, match=r"`toy` is not in .*\n  hint: write python/tailback/qdiscs/toy.py"):
        words.discipline("toy", [core])
    with pytest.raises(qdiscs.NotListed):
        qdiscs.shown("toy", {})
    with pytest.raises(qdiscs.NotListed):
        next(Tree("l0", NOTHING).commands(Qdisc(kind="toy")))


# -- names in other files

#: Where else a kind is named in code, and why.
NAMED: dict[str, str] = {
    "backends/linux/disciplines.py": "the default discipline of a device, and the shaper that stands for a link's rate",
    "backends/linux/links.py": "the netem that stands for a link's delay",
    "backends/ssh/plan.py": "likewise",
    "backends/ssh/suitable.py": "likewise, and an htb on which filters are tried",
    "scenario/lint.py": "what is a mistake with netem alone",
    "analysis/conditions.py": "what netem emulates",
    "formats/teacup/queues.py": "what TEACUP's words are in ours",
    "formats/teacup/systems.py": "which generation of a discipline TEACUP's routers had",
    "scenario/schema/keys.py": "examples",
    "lab/knobs.py": "what stands above a queue, and is no choice for the end of a chain",
}
#: The claims of papers are about disciplines.
ABOUT_DISCIPLINES = ("papers", "qdiscs")
#: Also words of another meaning.
OTHER_WORDS = ("series", "red", "fq", "prio")


def constants(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_other_file_in_python_knows_a_discipline_by_its_kind() -> None:
    found = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if file.relative_to(PACKAGE).parts[0] not in ABOUT_DISCIPLINES
        for text in constants(file)
        if text in KINDS and text not in OTHER_WORDS
    }
    assert found == set(NAMED), "ask `tailback.qdiscs` instead"


#: Where else a kind is named in Rust, and why.
NAMED_IN_RUST: dict[str, str] = {
    "world/src/build/disciplines.rs": "the default discipline of a device",
    "world/src/path.rs": "the netem that stands for what a link does to packets",
    "world/src/schedule.rs": "likewise",
    "drill/src/shell.rs": "what `tc` in a script of packetdrill means there, where no discipline is run",
    "agent/src/drill/commands.rs": "the discipline on which scripts begin",
    "net/src/plan.rs": "the key of what a link does to packets",
}


def test_no_other_file_in_rust_knows_a_discipline_by_its_kind() -> None:
    found = set()
    for file in CRATES.glob("*/src/**/*.rs"):
        code = file.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests")[0]
        literals = set(re.findall(r'(?<![/\w])"(\w+)"', "\n".join(_code(code)))) - set(OTHER_WORDS)
        name = str(file.relative_to(CRATES))
        if literals & set(KINDS) and not name.endswith("tests.rs") and not name.startswith("qdisc/src/"):
            found.add(name)
    assert found == set(NAMED_IN_RUST)
    for kind in KINDS:
        assert (CRATES / "qdisc" / "src" / f"{kind}.rs").is_file()
        assert (PACKAGE / "qdiscs" / f"{kind}.py").is_file()


def _code(source: str) -> Iterator[str]:
    return (line for line in source.splitlines() if not line.lstrip().startswith("//"))


# -- a discipline added as CONTRIBUTING.md says

#: Step 1: what its file in Rust would say; the core hands out such a table for each row.
TOY_ROW = {
    "name": "toy",
    "summary": "holds every second packet",
    "source": "`toy`, a discipline of the tests.",
    "classful": False,
    "parameters": [
        {"name": "limit", "unit": "packets", "default": 10, "min": 1, "max": 100, "meaning": "packets held"},
        {"name": "pause", "unit": "time", "default": None, "min": 1, "max": 10**9, "meaning": "of the second"},
    ],
}

#: Step 2: `python/tailback/qdiscs/toy.py`.
TOY_FILE = """
from tailback.qdiscs.discipline import Discipline, InKernel, Shown
from tailback.tc.options import Grammar, Option

ROW = Discipline(
    "toy",
    shown=Shown(
        lambda settings: {"limit": settings["limit"], "pause": settings["pause"] // 1000},
        counters=(("paused",),),
        units={"limit": "packets", "pause": "time"},
    ),
    kernel=InKernel(refused={"pause": "no kernel pauses"}, marks=(4,)),
    grammar=Grammar(options={"pause": Option(zero="not given")}, aliases={"wait": "pause"}),
)
"""

EXPERIMENT = """
links: [{ends: [client, server], rate: 10mbit}]
qdiscs: {client -> server: htb rate 10mbit | toy limit 5 wait 20ms}
traffic: [{tcp: client -> server}]
duration: 5s
"""


class WithToy(CoreRegistry):
    """The registry of a core that has the toy, too."""

    def resolved_qdisc(self, kind: str, given: Mapping[str, int], mtu: int) -> dict[str, int]:
        return dict(given) if kind == TOY_ROW["name"] else super().resolved_qdisc(kind, given, mtu)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CoreRegistry:
    """Adds the toy by its two files and its rows; returns the registry with its row of Rust."""
    (tmp_path / "toy.py").write_text(TOY_FILE, encoding="utf-8")
    monkeypatch.setattr(qdiscs, "__path__", [*qdiscs.__path__, str(tmp_path)])
    from importlib import import_module

    monkeypatch.setitem(qdiscs.KINDS, "toy", import_module("tailback.qdiscs.toy").ROW)
    found = (*registry.core_rows(), *rows([TOY_ROW]))
    monkeypatch.setattr(registry, "core_rows", lambda: found)
    algorithms = WithToy()
    algorithms.__dict__["qdiscs"] = found
    return algorithms


def test_a_discipline_added_by_the_recipe_is_known_everywhere(toy: CoreRegistry) -> None:
    experiment = loads(EXPERIMENT, (), toy)
    (run, *_) = experiment.runs()
    assert lint(experiment) is not None
    given = run.scenario.qdiscs[0].root
    assert given.child == Qdisc(kind="toy", options={"limit": 5, "pause": 20_000_000})
    assert shaped_rate(given) == 10_000_000
    commands = [" ".join(command) for command in Tree("l0", NOTHING).commands(given)]
    assert commands[-1] == "qdisc add dev l0 parent 1:1 handle 2: toy limit 5 pause 20000.000us"
    assert list(findings(run.scenario)) == [("`pause` of `toy`", "no kernel pauses")]
    assert job_of(run.scenario)["marks"]["toy"] == {"in": "statistics", "at": (4,)}


def test_its_counters_at_the_end_of_a_run_are_shown(toy: CoreRegistry) -> None:
    (run, *_) = loads(EXPERIMENT, (), toy).runs()
    counted = dict.fromkeys(("bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen"), 0)
    place = {"dev": "client -> server", **counted, "parts": []}
    shaper = place | {"kind": "htb", "handle": "1:", "root": True, "own": {}}
    below = place | {"kind": "toy", "handle": "2:", "parent": "1:1", "own": {"paused": 7}}
    entry = of_simulator(run.scenario, [shaper, below])[1]
    assert entry["options"] == {"limit": 5, "pause": 20_000}
    lines = text([entry]).splitlines()
    assert lines[0] == "qdisc toy 2: dev client -> server parent 1:1 limit 5p pause 20ms"
    assert lines[-1] == "  paused 7"
