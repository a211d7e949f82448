"""All commands: a file each, options in groups, no slow import before it is needed."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from msgspec import Struct
from typer.testing import CliRunner

from command import in_process
from tailback.cli import failures, show
from tailback.cli.app import COMMANDS
from tailback.cli.app import app as whole
from tailback.cli.groups import loaded
from tailback.cli.options import Changes, grouped

COMMANDS_FOLDER = Path(show.__file__).parent / "commands"


class Group(Struct, frozen=True):
    """Options that belong together."""

    many: Annotated[list[str] | None, typer.Option("--many")] = None
    number: Annotated[int, typer.Option(min=1, help="How many.")] = 1


def command(word: str, group: Group, *, other: Annotated[bool, typer.Option("--other")] = False) -> None:
    """A command with a group of options."""
    show.result((word, group, other), lambda found: {"found": str(found)}, print, as_json=other)


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    made.command()(grouped(command))
    return made


def test_a_command_has_an_option_for_each_field_of_a_group(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["w", "--many", "a", "--many", "b", "--number", "3"])
    assert done.output == "('w', Group(many=['a', 'b'], number=3), False)\n"
    assert CliRunner().invoke(app, ["w"]).output == "('w', Group(many=None, number=1), False)\n"
    assert "How many." in CliRunner().invoke(app, ["--help"]).output
    assert CliRunner().invoke(app, ["w", "--number", "0"]).exit_code == 2


def test_a_command_says_json_or_text_in_one_way(app: typer.Typer) -> None:
    assert CliRunner().invoke(app, ["w", "--other"]).output.startswith('{\n  "found":')


def test_every_command_has_a_file_of_its_own_and_takes_few_arguments() -> None:
    files = {file.stem.rstrip("_") for file in COMMANDS_FOLDER.glob("*.py") if file.stem != "__init__"}
    assert set(COMMANDS) - {"sweep"} == files
    for name, place in COMMANDS.items():
        function = loaded("tailback.cli.commands", place)
        if isinstance(function, typer.Typer):
            continue
        assert function.__doc__, name
        assert function.__code__.co_argcount + function.__code__.co_kwonlyargcount <= 5, name


DATA = {"numpy", "pandas", "pyarrow", "matplotlib", "scipy", "jinja2"}
"""What only results need."""
RENDERING = {"rich.markdown", "pygments"}
UNUSED = {"tailback.results.reading", "tailback.scenario.traffic.video", "tailback.qdiscs.cake", "tailback.cli.qdiscs"}
"""What a run of TCP through a plain queue does not use."""


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["--help"], DATA | RENDERING | {"importlib.metadata", "pydantic", "rich", "ruamel.yaml", "tailback._core"}),
        (["run", "--help"], DATA | RENDERING | {"rich", "ruamel.yaml", "tailback._core"}),
        (["list", "cc"], DATA | RENDERING | {"ruamel.yaml", "tailback.scenario"}),
        (["list", "experiment"], DATA | RENDERING),
        (["explain", "cubic"], DATA | RENDERING),
        (["explain", "goodput"], {"matplotlib", "scipy"}),
        (["schema"], DATA | RENDERING),
        (["check", "small.yaml"], DATA | RENDERING),
        (["check", "demo"], DATA | RENDERING),
        (["check", "absent.yaml"], DATA | RENDERING),
        (
            ["run", "small.yaml", "--out", "out"],
            {"pandas", "scipy", "matplotlib", "jinja2", "asyncio", "rich.live", "numpy.ma", *UNUSED},
        ),
    ],
)
def test_a_command_imports_only_what_it_needs(words: list[str], heavy: set[str], file: Path) -> None:
    assert file.exists()
    program = f"""
import sys
sys.argv = ["tailback", *{words!r}]
from tailback.cli import main
try:
    main()
finally:
    print(*({heavy!r} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == (2 if "absent.yaml" in words else 0), done.stderr
    assert done.stderr.split("\n")[-2] == ""


def test_a_comparison_that_is_only_printed_imports_nothing_that_draws() -> None:
    program = "import sys, tailback.cli.verdicts; print(*({'matplotlib', 'jinja2'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_a_command_does_not_import_the_files_of_others(file: Path) -> None:
    program = f"""
import sys
sys.argv = ["tailback", "check", {str(file)!r}]
from tailback.cli import main
try:
    main()
finally:
    print(*(name for name in sys.modules if name.startswith("tailback.cli.commands.")), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.split("\n")[-2] == "tailback.cli.commands.check"


def test_little_time_goes_into_the_search_for_garbage_while_a_command_starts(file: Path) -> None:
    program = f"""
import gc, sys
sys.argv = ["tailback", "check", {str(file)!r}]
searched = []
gc.callbacks.append(lambda phase, about: searched.append(phase))
from tailback.cli import main
try:
    main()
finally:
    print(searched.count("start"), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stderr.split()[-1]) <= 20, "it would be a hundred times"


def test_what_a_sweep_makes_is_searched_more_often_than_what_its_start_made(file: Path, tmp_path: Path) -> None:
    program = f"""
import gc, sys
sys.argv = ["tailback", "run", {str(file)!r}, "--out", {str(tmp_path / "out")!r}]
searched = []
gc.callbacks.append(lambda phase, about: searched.append((gc.get_threshold()[0], about["generation"])))
from tailback.cli import garbage, main
try:
    main()
finally:
    print(gc.get_threshold()[0] == garbage.IN_WORK, gc.get_freeze_count() > 50_000, file=sys.stderr)
    print(sum(least == garbage.AT_THE_START for least, _ in searched), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.split()[-3:] == ["True", "True", "0"], done.stderr


def test_the_package_itself_imports_nothing_but_names() -> None:
    heavy = DATA | RENDERING | {"pydantic", "rich", "typer", "ruamel.yaml", "tailback._core"}
    program = f"import sys, tailback; print(*({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_every_error_with_a_status_is_there() -> None:
    for place in failures.STATUS:
        module, _, name = place.rpartition(".")
        kind = getattr(importlib.import_module(module), name)
        assert issubclass(kind, Exception)
        assert f"{kind.__module__}.{kind.__qualname__}" == place


def test_python_can_run_the_package() -> None:
    done = subprocess.run([sys.executable, "-m", "tailback", "list", "cc"], capture_output=True, text=True, check=True)
    assert "cubic" in done.stdout


def test_a_wrong_choice_is_named_without_the_exception_of_a_library(file: Path) -> None:
    said = in_process("run", file, "--by", "colour", status=2).stderr
    assert "Invalid value for '--by': 'colour' is not one of 'flow'" in said


def _leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that takes options, with the words that call it."""
    for name, each in getattr(command, "commands", {}).items():
        yield from _leaves(each, (*words, name)) if hasattr(each, "commands") else [((*words, name), each)]


def _twice() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every option of every command that takes a value."""
    for words, command in _leaves(typer.main.get_command(whole)):
        for option in command.params:
            if option.param_type_name == "option" and not option.is_flag:
                yield words, option


@pytest.mark.parametrize(
    ("words", "option"), [pytest.param(*each, id=" ".join((*each[0], each[1].opts[-1]))) for each in _twice()]
)
def test_an_option_that_is_given_twice_accumulates_or_is_refused(words: tuple[str, ...], option: Any) -> None:
    """Never does one of them win silently."""
    command: Any = typer.main.get_command(whole)
    for word in words:
        command = command.commands[word]
    called = [*option.opts[:1], "1", *option.opts[-1:], "1"]
    if option.multiple:
        given, _, _ = command.make_parser(click_context(command)).parse_args(args=called)
        assert given[option.name] == ["1", "1"]
        return
    with pytest.raises(failures.WrongInput, match=f"{option.opts[-1]} is given twice\\n  hint: "):
        command.parse_args(click_context(command), called)


def click_context(command: Any) -> Any:
    return command.context_class(command)


def test_a_pair_that_is_given_twice_is_refused_and_two_values_of_an_axis_select_both() -> None:
    with pytest.raises(failures.WrongInput, match="--tolerance: `goodput` is given twice"):
        failures.pairs(["goodput=1%", "goodput=3%"], "--tolerance")
    with pytest.raises(failures.WrongInput, match="--set: `cc` is given twice"):
        Changes(sets=["cc=bbr", "cc=cubic"]).settings  # noqa: B018
    assert Changes(sets=["cc=bbr", "repeat=2"], repeat=3).settings == ["cc=bbr", "repeat=2", "repeat=3"]
