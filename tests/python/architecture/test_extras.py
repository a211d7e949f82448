"""The package works without its optional libraries: what needs one names its extra, and nothing else imports one."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import tailback
from statements import statements
from tailback.extras import EXTRAS
from tailback.plots import band, candlestick, names, timeseries
from tailback.plots.registry import PLOTS

PACKAGE = Path(tailback.__file__).parent
PROJECT = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())["project"]
ONLY_IN_TESTS = ("scipy", "statsmodels", "pytest", "hypothesis")
DRAW = {"plots", "report", "duels", "assess", "search", "papers"}
MAY = {"gymnasium": {"gym"}, "matplotlib": DRAW, "starlette": {"lab"}, "uvicorn": {"lab"}}
"""The rooms that may import an optional library when they are imported."""

WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name.partition(".")[0])
sys.meta_path.insert(0, Absent())
sys.argv = ["tailback", *{words!r}]
from tailback.cli import main
main()
"""
"""Runs the command line as where the optional libraries, and those that only tests have, are not installed."""

EXPERIMENT = """\
links: [{ends: [a, b], rate: 10mbit, delay: 5ms}]
traffic: [{tcp: a -> b, name: upload}, {ping: a -> b, interval: 100ms}]
duration: 2s
measure: {warmup: 500ms}
vary: {cc: [cubic, reno]}
repeat: 2
"""

BASE: list[list[str]] = [
    ["--version", "--verbose"],
    ["list", "plot"],
    ["list", "metric"],
    ["explain", "fq_codel"],
    ["explain", "candlestick"],
    ["explain", "access21"],
    ["check", "a.yaml"],
    ["run", "a.yaml", "-o", "again"],
    ["compare", "out", "out"],
    ["compare", "out", "cc=cubic", "cc=reno"],
    ["recommend", "out", "--for", "ping p99 < 1s"],
    ["sensitivity", "out"],
    ["export", "out", "--csv", "-o", "csv"],
    ["bundle", "out", "-o", "out.zip"],
]
NEED = {
    "matplotlib": [
        ["plot", "out"],
        ["report", "out"],
        ["pareto", "out"],
        ["compare", "out", "out", "--report", "compared"],
        ["duel", "cubic", "reno"],
        ["assess", "cubic"],
        ["reproduce", "access21"],
        ["validate", "a.yaml"],
    ],
    "cma": [["search", "a.yaml", "--find", "jain < 1", "--over", "rate"]],
    "distributed": [["run", "a.yaml", "-o", "third", "--cluster", "tcp://127.0.0.1:1"]],
    "starlette": [["lab", "a.yaml", "--no-browser"]],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("extras")
    (place / "a.yaml").write_text(EXPERIMENT)
    tailback.run(place / "a.yaml", out=place / "out")
    return place


def without(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    program = WITHOUT.format(absent=(*EXTRAS, *ONLY_IN_TESTS), words=words)
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", BASE, ids=" ".join)
def test_a_command_of_the_base_installation_needs_no_extra(folder: Path, words: list[str]) -> None:
    done = without(folder, *words)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("library", "words"), [(library, words) for library, rows in NEED.items() for words in rows], ids=str
)
def test_a_command_that_lacks_a_library_names_its_extra(folder: Path, library: str, words: list[str]) -> None:
    done = without(folder, *words)
    assert done.returncode in (1, 2), (done.stdout, done.stderr)
    assert f"pip install 'tailback[{EXTRAS[library].name}]'" in done.stderr
    assert "Traceback" not in done.stderr
    # Nothing was run whose result would be lost.
    assert not any((folder / "results").glob("*"))


def test_frames_of_polars_name_their_extra(folder: Path) -> None:
    program = WITHOUT.partition("sys.argv")[0].format(absent=tuple(EXTRAS))
    asked = "import tailback\ntry: tailback.open('out').polars('ping')\nexcept Exception as error: print(error)"
    done = subprocess.run(
        [sys.executable, "-c", program + asked], cwd=folder, capture_output=True, text=True, check=True
    )
    assert "pip install 'tailback[polars]'" in done.stdout


def test_every_optional_library_has_an_extra_of_its_name_and_only_they_are_absent_from_the_base() -> None:
    optional = PROJECT["optional-dependencies"]
    for library, extra in EXTRAS.items():
        assert any(word.startswith(library) for word in optional[extra.name]), library
        assert extra.name in optional["all"][0]
    needed = {word.split(">")[0].split("=")[0].replace("-", "_").lower() for word in PROJECT["dependencies"]}
    known = packages_distributions()
    for module, line, imported in imports():
        library = imported.partition(".")[0]
        owners = {name.replace("-", "_").lower() for name in known.get(library, [])}
        # Some come with others that the base needs.
        told = owners & needed or library in EXTRAS or library in ("markupsafe", "pydantic_core", "click", "numpy")
        assert not owners or told, f"{module}:{line} imports {imported}, which pyproject.toml does not name"


def test_only_rooms_that_need_an_optional_library_import_it_at_their_top() -> None:
    for module, line, imported in imports(at_top=True):
        library = imported.partition(".")[0]
        if library in (*EXTRAS, *ONLY_IN_TESTS):
            allowed = module.parts[0].removesuffix(".py") in MAY.get(library, ())
            assert allowed, f"{module}:{line} imports {imported} at its top"


def imports(*, at_top: bool = False) -> Iterator[tuple[Path, int, str]]:
    """Each import of the package: where it is, and of what."""
    for file in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(file.read_text())
        nodes = tree.body if at_top else list(statements(tree))
        typing = {id(node) for block in nodes if _is_for_types(block) for node in statements(block)}
        for node in nodes:
            if id(node) in typing:
                continue
            if isinstance(node, ast.Import):
                yield from ((file.relative_to(PACKAGE), node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield file.relative_to(PACKAGE), node.lineno, node.module


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def test_a_list_of_plots_says_what_the_plots_do() -> None:
    assert list(names.PLOTS) == list(PLOTS)
    assert ", ".join(candlestick.PANELS) == names.SAMPLES
    assert ", ".join(band.SERIES) == names.SERIES
    assert ", ".join(timeseries.METRICS) == names.TRACES
