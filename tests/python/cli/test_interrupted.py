"""Ctrl-C in any phase of the program: status 130, a message, no traceback. Each phase announces itself and then works
endlessly, so that the signal arrives during it, however fast the machine is.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import GENEROUS_S

# A shell starts background jobs, such as a test suite, with SIGINT ignored.
BEGINNING = """
import importlib, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

def work(*_words, **_named):
    # In one piece: two threads may begin at once.
    os.write(1, b"works\\n")
    while True:
        pass
"""

ENDLESS = ["--set", "duration=1000000s", "--set", "measure.interval=1000s", "--set", "traffic[2].interval=1000s"]
"""Simulated for days, with few rows."""


def interrupted(program: str, folder: Path) -> str:
    """The result of a program that is interrupted after it has announced its phase."""
    command = [sys.executable, "-c", BEGINNING + program]
    with subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            said = process.stdout.readline()
            process.send_signal(signal.SIGINT)
            told = process.communicate(timeout=GENEROUS_S)[1]
        finally:
            # Else a failure would wait for it for ever.
            process.kill()
    assert said == "works\n", told
    assert process.returncode == 130, told
    assert "Traceback" not in told
    assert "interrupted" in told
    return told


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("tailback.scenario.experiment:read_yaml", ["check", "small.yaml"]),
        ("tailback.fitting.suitable:check_all", ["check", "small.yaml"]),
        ("tailback.sweep.session:plan_of", ["run", "small.yaml"]),
        ("tailback.sweep.preview:_trial", ["run", "small.yaml", "--dry-run"]),
        ("tailback.formats:import_captures", ["import", "pcap", "small.yaml"]),
        # In a thread of the pool, which receives no signal.
        ("tailback.sweep.work:summarise", ["run", "small.yaml", "--out", "out"]),
        ("tailback.results.store:Store.write", ["run", "small.yaml", "--out", "out"]),
    ],
)
def test_ctrl_c_ends_the_program_wherever_it_works(place: str, words: list[str], file: Path) -> None:
    module, _, name = place.partition(":")
    owner, _, attribute = name.rpartition(".")
    target = f"importlib.import_module({module!r}){f'.{owner}' if owner else ''}"
    program = f"""
setattr({target}, {attribute!r}, work)
sys.argv = ["tailback", *{words!r}]
from tailback.cli import main
main()
"""
    interrupted(program, file.parent)


def test_ctrl_c_ends_a_simulation_of_days(file: Path) -> None:
    program = f"""
import tailback.backends.sim as sim
real = sim.Sim.run
def run(self, scenario, progress):
    print("works", flush=True)
    return real(self, scenario, progress)
sim.Sim.run = run
sys.argv = ["tailback", "run", "small.yaml", "--out", "out", "--jobs", "1", *{ENDLESS!r}]
from tailback.cli import main
main()
"""
    told = interrupted(program, file.parent)
    assert "complete runs are kept" in told
    assert list((file.parent / "out" / "runs").iterdir()) == []


def test_ctrl_c_ends_a_simulation_that_the_main_thread_waits_for(file: Path) -> None:
    """The interpreter handles no signal while it runs compiled code: the other thread does."""
    program = f"""
from tailback import scenario
from tailback.backends.sim import Sim
from tailback.cli import interrupts
interrupts.arm()
[run, *_] = scenario.load("small.yaml", {ENDLESS[1::2]!r}).runs()
sim = Sim()
# If the signal arrives before the compiled code is reached, the interpreter handles it itself.
with interrupts.handled():
    print("works", flush=True)
    sim.run(run.scenario, sim.new_progress())
"""
    interrupted(program, file.parent)


def test_a_process_that_ignores_ctrl_c_keeps_ignoring_it(file: Path) -> None:
    program = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from tailback.cli import interrupts; "
    program += "interrupts.arm(); signal.raise_signal(signal.SIGINT); print('lives')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=file.parent, capture_output=True, text=True, check=True, timeout=GENEROUS_S
    )
    assert done.stdout == "lives\n"
