"""The commands of the tutorial, run in its order, do what it says."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailback.cli.app import app

TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorial.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)


def test_its_commands_and_its_code_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first.yaml").write_text(blocks("yaml")[0])
    said = ""
    for line in "".join(blocks("sh")).splitlines():
        words = shlex.split(line)
        assert words[0] == "tailback"
        done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
        assert done.exit_code == 0, f"{line}\n{done.output}"
        said += done.output
    assert Path("results/first/plots/candlestick.png").is_file()
    assert Path("results/first/report.html").is_file()
    assert "most goodput with ping p99 < 30 ms" in said
    [finding] = re.findall(r"^• .*?(?=^```)", TUTORIAL.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert " ".join(finding.split()) in " ".join(said.split())
    exec(blocks("python")[0], {})
    assert Path("cdf.pdf").stat().st_size > 1000
