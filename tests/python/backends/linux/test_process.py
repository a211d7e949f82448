"""The folder of a run, and the program in it."""

import os
import subprocess
import sys
from pathlib import Path

PLACES = """
import os, sys
from pathlib import Path
from tailback.backends.linux import process
def opened(event, words):
    if event == "open" and str(words[0]).startswith(sys.argv[1]) and (words[2] or 0) & (os.O_WRONLY | os.O_RDWR):
        os._exit(3)
sys.addaudithook(opened)
process.place(Path(sys.executable), Path(sys.argv[1]))
"""
"""Ends with 3 if this process itself opens the copy to write it."""


def test_no_child_of_another_thread_can_hold_the_copy_of_the_agent_open(tmp_path: Path) -> None:
    """A program that anybody has open for writing cannot be executed: ETXTBSY."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", PLACES, str(tmp_path)], env=environment, check=False)
    assert done.returncode == 0
    assert os.access(tmp_path / "agent", os.X_OK)
    assert (tmp_path / "agent").read_bytes() == Path(sys.executable).read_bytes()
