"""The process that simulates for one page: reads settings from its input, and answers with what it found.

It answers a setting that it has read with `read` (knobs, findings, key), and waits for `go` or `skip`, because the
server may know the picture. A newer setting or `stop` ends the runs of the one before.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from tailback import sweep
from tailback.analysis.quantities import WrongBound
from tailback.backends import Unsuitable
from tailback.lab import frames, setting, simulator
from tailback.lab.live import NotLive, live
from tailback.lab.packets import packets
from tailback.lab.picture import picture
from tailback.limits import trust
from tailback.results import Results
from tailback.scenario import ScenarioError


class Stopped(Exception):
    """The page no longer waits for this setting."""


class Worker:
    """Answers the requests of one page, one after another."""

    def __init__(self, requests: BinaryIO, answers: BinaryIO, place: setting.Place) -> None:
        self._answers, self._place = answers, place
        self._queue: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.stopped = threading.Event()
        threading.Thread(target=self._listen, args=(requests,), daemon=True).start()

    def _listen(self, requests: BinaryIO) -> None:
        while (message := frames.read(requests)) is not None:
            if message["type"] == "stop":
                self.stopped.set()
            else:
                self._queue.put(message)
        self._queue.put(None)
        self.stopped.set()

    def serve(self) -> None:
        """Until the input ends."""
        while (message := self._queue.get()) is not None:
            if message["type"] in ("show", "packets", "page"):
                self.stopped.clear()
                wanted = msgspec.convert(message["wanted"], setting.Wanted)
                {"show": self._show, "packets": self._log, "page": self._save}[message["type"]](wanted)
            else:
                self._answer(message["type"], msgspec.convert(message["wanted"], setting.Wanted))

    def _answer(self, kind: str, wanted: setting.Wanted) -> None:
        """What needs no run: the errors of configurations that are not shown, and an axis of all settings."""
        try:
            if kind == "axis":
                self.say("axis", wanted, text=setting.axis(wanted, self._place))
            else:
                self.say("others", wanted, findings=setting.others(wanted, self._place))
        except setting.Refused as refused:
            self.say("refused", wanted, findings=refused.findings)

    def say(self, kind: str, wanted: setting.Wanted, **what: Any) -> None:
        """Sends an answer to this setting."""
        self._answers.write(frames.pack({"type": kind, "id": wanted.id, **what}))
        self._answers.flush()

    def _show(self, wanted: setting.Wanted) -> None:
        try:
            found = setting.read(wanted, self._place)
        except setting.Refused as refused:
            self.say("refused", wanted, findings=refused.findings)
            return
        knobs = msgspec.to_builtins(found.knobs)
        self.say("read", wanted, knobs=knobs, findings=found.findings, key=found.key, title=found.experiment.title)
        answer = self._queue.get()
        if answer is not None and answer["type"] == "go":
            self._simulate(wanted, found)

    def _log(self, wanted: setting.Wanted) -> None:
        """Where each packet is in a window."""
        try:
            found = setting.read(wanted, self._place)
        except setting.Refused as refused:
            self.say("refused", wanted, findings=refused.findings)
            return
        ran = self._run(wanted, found)
        if ran is not None:
            self.say("packets", wanted, view=packets(ran[1].runs[0]))

    def _save(self, wanted: setting.Wanted) -> None:
        """What a page needs to simulate by itself."""

        def told(done: int, total: int) -> None:
            watch.update(done, total, done / total)

        watch = _Watch(self, wanted)
        try:
            # Whether there is one is known at once; the page loads it from the server.
            simulator.letters()
            found = live(wanted, setting.read(wanted, self._place), self._place, told)
        except setting.Refused as refused:
            self.say("refused", wanted, findings=refused.findings)
        except Stopped:
            self.say("stopped", wanted)
        except (NotLive, simulator.NoSimulator) as error:
            self.say("page", wanted, live=None, why=str(error))
        else:
            self.say("page", wanted, live=found, why="")

    def _run(self, wanted: setting.Wanted, found: setting.Setting) -> tuple[list[sweep.Outcome], Results] | None:
        """Runs a setting; `None` if that fails, which it says."""
        try:
            outcomes, results = sweep.simulate(found.experiment, None, _Watch(self, wanted))
        except Stopped:
            self.say("stopped", wanted)
            return None
        except (ScenarioError, Unsuitable, WrongBound) as error:
            self.say("failed", wanted, message=str(error))
            return None
        wrong = [str(outcome.error) for outcome in outcomes if outcome.status != "ok"]
        if wrong:
            self.say("failed", wanted, message=wrong[0])
            return None
        return outcomes, results

    def _simulate(self, wanted: setting.Wanted, found: setting.Setting) -> None:
        try:
            conditions = sweep.expected(found.experiment)
        except (ScenarioError, WrongBound) as error:
            self.say("failed", wanted, message=str(error))
            return
        ran = self._run(wanted, found)
        if ran is not None:
            outcomes, results = ran
            # What is relative to the best of all configurations has no meaning for one.
            judged = [each for each in sweep.verdicts(conditions, outcomes) if not each.bound.of_best]
            expect = [{"text": str(each.bound), "holds": each.holds} for each in judged]
            self.say("picture", wanted, key=found.key, picture={**picture(results), "expect": expect})


class _Watch:
    """Tells the page how far the runs are, and ends them when nobody waits for them."""

    def __init__(self, worker: Worker, wanted: setting.Wanted) -> None:
        self._worker, self._wanted = worker, wanted

    def update(self, done: int, total: int, fraction: float) -> None:
        if self._worker.stopped.is_set():
            raise Stopped
        if done < total:
            self._worker.say("progress", self._wanted, done=done, total=total, fraction=fraction)


def main(folder: str, name: str, trusted: str) -> None:
    """Serves until the input ends. What code of the user prints goes to the terminal, and not between the messages."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    place = setting.Place(Path(folder), name, trusted == "trust")
    with trust.trusting(place.trust):
        Worker(sys.stdin.buffer, answers, place).serve()
    answers.flush()
    # The thread that reads the input may hold its lock, for which a usual end would wait.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
