"""The result of `pip install .`: one wheel for every Python from 3.11 on, and the command."""

import os
import struct
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tailback.kernel import build_agent

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, from the code that `make` has already compiled."""
    folder = tmp_path_factory.mktemp("wheel")
    # pip calls maturin by its name, and the Python used is part of cargo's fingerprint of the build.
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # So are the flags with which `make` has compiled.
    profiled = [str(ROOT / "scripts" / "profiled.sh"), "fast"]
    command = [*profiled, sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    agent = str(build_agent()) if sys.platform == "linux" else ""
    profile = ["--config-settings", "build-args=--profile fast --strip false"]
    subprocess.run(
        [*command, *profile, "-w", str(folder), str(ROOT)],
        env={**os.environ, "PATH": programs, "PYO3_PYTHON": sys.executable, "TAILBACK_AGENT": agent},
        check=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment that contains only the wheel."""
    folder = tmp_path_factory.mktemp("fresh") / "environment"
    venv.create(folder, symlinks=True)
    into = ["--python", str(folder / "bin" / "python"), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([sys.executable, "-m", "pip", *into, str(wheel)], check=True)
    return folder


def run(fresh: Path, *words: str) -> str:
    """The output of a program of the fresh environment, which can import the dependencies of this one."""
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    command = [str(fresh / "bin" / words[0]), *words[1:]]
    done = subprocess.run(command, cwd=fresh, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_is_for_every_python_from_3_11_on(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    extensions = [name for name in names if name.startswith("tailback/_core.") and not name.endswith(".pyi")]
    assert len(extensions) == 1
    assert {"tailback/_core.pyi", "tailback/py.typed"} <= set(names)
    if sys.platform == "linux":
        assert extensions == ["tailback/_core.abi3.so"]


def test_the_wheel_gives_the_command_and_the_package(fresh: Path) -> None:
    assert run(fresh, "tailback", "--version").startswith("tailback ")
    assert "cubic" in run(fresh, "tailback", "list", "cc")
    place = run(fresh, "python", "-c", "import tailback._core; print(tailback._core.__file__)")
    assert Path(place.strip()).is_relative_to(fresh)


def names_an_interpreter(program: bytes) -> bool:
    """Whether a 64-bit ELF file needs a dynamic loader: it has a program header of type PT_INTERP, 3."""
    (headers,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    return any(struct.unpack_from("<I", program, headers + size * number) == (3,) for number in range(count))


@pytest.mark.skipif(sys.platform != "linux", reason="a kernel runs in virtual time on Linux only")
def test_the_wheel_contains_the_files_that_a_real_kernel_needs(fresh: Path) -> None:
    ask = "from tailback.kernel import checkout, find_agent; print(find_agent()); print(checkout.part('kernel'))"
    agent, changes = map(Path, run(fresh, "python", "-c", ask).split())
    assert agent.is_relative_to(fresh)
    assert not names_an_interpreter(agent.read_bytes()), "the agent is static"
    names = {str(file.relative_to(ROOT / "kernel")) for file in (ROOT / "kernel").rglob("*") if file.is_file()}
    assert {str(file.relative_to(changes)) for file in changes.rglob("*") if file.is_file()} == names


def test_the_wheel_contains_the_experiments_and_runs_them_by_name(fresh: Path) -> None:
    place = "import tailback; from pathlib import Path; print(Path(tailback.__file__).with_name('experiments'))"
    carried = Path(run(fresh, "python", "-c", place).strip())
    assert carried.is_relative_to(fresh)
    ours = ROOT / "experiments"
    files = {file.relative_to(ours): file.read_bytes() for file in ours.rglob("*") if file.is_file()}
    assert {file.relative_to(carried): file.read_bytes() for file in carried.rglob("*") if file.is_file()} == files
    one_run = [f"--set={change}" for change in ("cc=reno", "qdisc=pfifo_fast", "tsq=1ms", "repeat=1")]
    assert "Mbit/s" in run(fresh, "tailback", "run", "demo", *one_run, "--out", str(fresh / "results"))
    # With a trace beside it.
    assert "ok" in run(fresh, "tailback", "check", "cellular")
