"""The parts of fuzzing campaigns, with inputs that crash, hang or fill the memory of a process."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns import fuzzing, journal
from campaigns.fuzzing import Chosen, Wanted
from campaigns.targets import Target
from waiting import alive, until


def target_that_fails_on(bad: bytes) -> Target:
    def read(content: bytes, _folder: Path) -> None:
        if content.startswith(bad):
            raise IndexError(content)

    return Target("made up", read, (ValueError,), list, 0)


def test_one_input_of_each_kind_is_kept(tmp_path: Path) -> None:
    place, folder = tmp_path / "place", tmp_path / "folder"
    folder.mkdir()
    kept = journal.Journal(place)
    for content in (b"good", b"bad 1", b"bad 2"):
        kept.hold(target_that_fails_on(b"bad"), content, folder)
    kept.tell(now=True)
    assert journal.executions(place) == 3
    assert [file.read_bytes() for file in (place / "finds").iterdir() if not file.suffix] == [b"bad 1"]


ABORTS = """\
import os, sys
from pathlib import Path
from campaigns import journal
from campaigns.targets import Target
from waiting import alive, until

place = Path(sys.argv[1])
(place / "folder").mkdir()
target = Target("made up", lambda content, _: content == b"bad" and os.abort(), (), list, 0)
for content in (b"good", b"bad"):
    journal.Journal(place).hold(target, content, place / "folder")
"""


def test_the_input_that_ends_the_process_is_kept(tmp_path: Path) -> None:
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    ended = subprocess.run([sys.executable, "-c", ABORTS, str(tmp_path)], env={**os.environ, **paths}, check=False)
    assert ended.returncode < 0
    journal.keep_last(tmp_path, "ended")
    assert [file.read_bytes() for file in tmp_path.glob("crash-ended-*")] == [b"bad"]


def test_a_campaign_runs_the_requested_number_of_executions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    fuzzed = fuzzing.fuzz("word", Wanted(runs=200, minutes=600, seed=1, chosen=Chosen.SEED), tmp_path)
    assert (fuzzed.executions, fuzzed.finds) == (200, [])


IN_FOLDER = """\
import sys
from pathlib import Path
from campaigns import __main__ as campaigns

campaigns.WORK = Path(sys.argv[1])
campaigns.main(["fuzz", "word", "--by", "seed", "--runs", "1000000000", "--minutes", "600"])
"""


def of_session(leader: int) -> list[str]:
    """The numbers of the running processes of a session."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _parent, _group, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.append(entry.name)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_campaign_that_is_terminated_leaves_nothing_running(tmp_path: Path) -> None:
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    words = [sys.executable, "-c", IN_FOLDER, str(tmp_path)]
    campaign = subprocess.Popen(words, env={**os.environ, **paths}, start_new_session=True)
    until(lambda: journal.executions(tmp_path / "word"), while_=alive(campaign))
    campaign.terminate()
    assert campaign.wait() == 128 + signal.SIGTERM
    until(lambda: not of_session(campaign.pid))
