"""Connects to each machine once before the runs of all configurations, and determines its kernel's features once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from tailback.backends.linux.steps import Json
from tailback.backends.ssh import facts as facts_of_machines
from tailback.backends.ssh.connection import Agent
from tailback.backends.ssh.facts import Facts
from tailback.backends.ssh.session import Offset, Session, at_once
from tailback.testbed import Machine, Testbed


class Known:
    """The known facts about the machines of a testbed."""

    def __init__(self) -> None:
        self.facts: dict[str, Facts] = {}
        self.offsets: dict[str, Offset] = {}
        self.answers: dict[str, dict[str, str | None]] = {}
        """By host and feature: None if it works, else the refusal. A host whose kernel cannot be tried has no entry."""


class Visit:
    """Connections to machines for reading facts, which are closed at the end of the block."""

    def __init__(self, testbed: Testbed, agent: Agent, known: Known) -> None:
        self._testbed = testbed
        self._agent = agent
        self._known = known
        self._opened: dict[str, Session] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        at_once(lambda session: session.close(), list(self._opened.values()))

    def facts(self, machines: Mapping[str, Machine]) -> dict[str, Facts]:
        """The facts of machines; connects to those that are not known yet."""
        self._connect(host for host in machines if host not in self._known.facts)
        new = [session for host, session in self._opened.items() if host not in self._known.facts]
        self._known.facts |= {found.host: found for found in at_once(facts_of_machines.gather, new)}
        self._known.offsets |= dict(zip((each.host for each in new), at_once(Session.offset, new), strict=True))
        return {host: self._known.facts[host] for host in machines}

    def offset(self, host: str) -> Offset:
        """The offset of the clock of a machine whose facts are known."""
        return self._known.offsets[host]

    def tried(self, questions: Mapping[str, Mapping[str, Sequence[Json] | None]]) -> dict[str, dict[str, str | None]]:
        """The results of each machine for features by name: the steps to try, or nothing for a congestion control."""
        known = self._known.answers
        new = {
            host: {name: steps for name, steps in each.items() if name not in known.get(host, {})}
            for host, each in questions.items()
        }
        hosts = [host for host, each in new.items() if each]
        self._connect(hosts)
        for host, answers in zip(hosts, at_once(lambda host: self._probed(host, new[host]), hosts), strict=True):
            if answers is not None:
                known.setdefault(host, {}).update(answers)
        return {host: known[host] for host in questions if host in known}

    def _probed(self, host: str, new: Mapping[str, Sequence[Json] | None]) -> dict[str, str | None] | None:
        trials = {name: steps for name, steps in new.items() if steps is not None}
        placed = [[step | {"host": number} for step in steps] for number, steps in enumerate(trials.values())]
        controls = [name for name, steps in new.items() if steps is None]
        questions = {"trials": placed, "controls": controls}
        output = self._opened[host].tried("/proc/self/exe", "probe", stdin=json.dumps(questions))
        if output is None:
            return None
        answers: Mapping[str, Any] = json.loads(output)
        return dict(zip([*trials, *controls], [*answers["trials"], *answers["controls"]], strict=True))

    def _connect(self, hosts: Iterable[str]) -> None:
        wanted = [host for host in hosts if host not in self._opened]

        def connect(host: str) -> None:
            machine, silence = self._testbed.machines[host], self._testbed.keys.silence
            self._opened[host] = Session(host, machine, self._agent, silence)

        at_once(connect, wanted)
