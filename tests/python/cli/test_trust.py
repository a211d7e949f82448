"""What of a foreign file is executed (SECURITY.md): code by commands that run experiments, by others with `--trust`."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import tailback
from command import in_process
from tailback.cli import commands, options

CONTROL = """\
from pathlib import Path
Path({mark!r}).write_text("executed")

class Mine:
    def on_ack(self, flow, acked):
        flow.cwnd += 1
    def on_loss(self, flow):
        return 10
"""

EXPERIMENT = """\
title: a control of somebody else
links: [{ends: [a, b], rate: 10mbit, delay: 5ms}]
traffic: [{tcp: a -> b, cc: mine.py}]
duration: 300ms
"""


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that the control makes when it is executed."""
    monkeypatch.chdir(tmp_path)
    found = tmp_path / "mark"
    (tmp_path / "mine.py").write_text(CONTROL.format(mark=str(found)))
    (tmp_path / "x.yaml").write_text(EXPERIMENT)
    return found


SAID = "the code of mine.py was not executed: add --trust to check it, too"


@pytest.mark.parametrize(
    "words", [["check", "x.yaml"], ["check", "x.yaml", "--json"], ["run", "x.yaml", "--dry-run"],
              ["run", "x.yaml", "--dry-run", "--json"]], ids=" ".join,
)  # fmt: skip
def test_a_command_that_runs_nothing_executes_the_code_of_a_file_only_if_asked(words: list[str], mark: Path) -> None:
    done = in_process(*words)
    assert not mark.exists()
    if "--json" in words:
        document = json.loads(done.stdout)
        found = document.get("findings", document.get("warnings"))
        assert [each["code"] for each in found if each["file"] == "mine.py"] == ["code-not-executed"]
    if words[-1] != "--json" or "--dry-run" in words:
        assert done.stderr.strip().splitlines().count(SAID) == 1
    trusted = in_process(*words, "--trust")
    assert mark.exists()
    assert "was not executed" not in trusted.stderr + trusted.stdout


@pytest.mark.parametrize(
    "words", [["check", "x.yaml", "--expand"], ["export", "out", "--csv", "-o", "csv"]], ids=" ".join
)
def test_other_readers_execute_nothing(words: list[str], mark: Path) -> None:
    in_process("run", "x.yaml", "-o", "out")
    assert mark.exists()
    mark.unlink()
    in_process(*words)
    assert not mark.exists()


def test_figures_and_reports_of_results_execute_nothing(mark: Path) -> None:
    in_process("run", "x.yaml", "-o", "out")
    mark.unlink()
    in_process("report", "out")
    in_process("plot", "out", "-o", "x.svg")
    tailback.load("x.yaml")
    assert not mark.exists()


def test_wrong_code_is_found_by_check_with_trust_and_the_rest_without(mark: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class Nothing: pass\n")
    in_process("check", "x.yaml")
    refused = in_process("check", "x.yaml", "--trust", status=2)
    assert "mine.py has to have one class" in refused.stderr
    (tmp_path / "x.yaml").write_text(EXPERIMENT.replace("duration", "kernel: other\nduration"))
    refused = in_process("check", "x.yaml", status=2)
    assert "`kernel` is `other`" in refused.stderr
    assert not mark.exists()


def test_a_module_is_compiled_only_if_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def compiled(*_: Any) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr("tailback.backends.modules.modules", compiled)
    (tmp_path / "tcp_mine.c").write_text("int broken(")
    (tmp_path / "x.yaml").write_text(EXPERIMENT.replace("mine.py", "tcp_mine.c"))
    in_process("check", "x.yaml")
    in_process("run", "x.yaml", "--dry-run")
    with pytest.raises(AssertionError, match="compiled"):
        in_process("check", "x.yaml", "--trust")


def test_trust_is_one_option_with_one_sentence() -> None:
    sources = [path.read_text() for path in Path(inspect.getfile(commands)).parent.glob("*.py")]
    assert not [text for text in sources if '"--trust"' in text]
    assert Path(inspect.getfile(options)).read_text().count('"--trust"') == 1
    for words in (["check"], ["run"], ["validate"], ["testbed", "check"], ["testbed", "plan"]):
        shown = " ".join(in_process(*words, "--help").stdout.replace("│", " ").split())
        assert "Execute the code that the file names (`cc: x.py`, kernel modules, BPF programs)." in shown
