"""Determines the features of this machine's kernel by trying them.

The agent executes the steps of a job in temporary namespaces, and reports which are refused
(`crates/agent/src/probe.rs`).
"""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.backends.backend import RunFailed, Unsuitable
from tailback.backends.linux import disciplines, job, process
from tailback.backends.linux.disciplines import root_of
from tailback.backends.linux.hops import hops_of
from tailback.backends.linux.links import Hop, wire
from tailback.backends.linux.steps import IP, Json, run
from tailback.backends.linux.suitable import Finding
from tailback.resolved import Qdisc, Scenario

FOLDER = "tailback-probe-"
TIMEOUT_S = 600.0
NO_NAMESPACES = 3
"""Exit status of an agent that is not allowed to create namespaces."""

VIRTUAL_TIME = "run it in virtual time: --backend uml"


@dataclass(frozen=True)
class Trial:
    """A feature to try, and the remedy if it is refused."""

    what: str
    remedy: str
    steps: Sequence[Json]


class Probe:
    """Determines features of the kernel through the agent; caches the answers."""

    def __init__(self, agent: Path) -> None:
        self._agent = agent
        self._answers: dict[str, str | None] = {}

    def findings(self, scenario: Scenario) -> Iterator[Finding]:
        """The features of `scenario` that this kernel lacks."""
        trials = list(_trials(scenario))
        own = {source.name for source in scenario.controls}
        controls = sorted({flow.cc.name for flow in scenario.connections} - own)
        self._ask(trials, controls)
        for name in controls:
            refusal = self._answers[_key(name)]
            if refusal is not None:
                remedy = f"load it as root (modprobe tcp_{name}), or {VIRTUAL_TIME}"
                yield f"this kernel does not have the congestion control `{name}` ({refusal})", remedy
        for trial in trials:
            refusal = self._answers[_key(trial.steps)]
            if refusal is not None:
                yield f"{trial.what}\n  {refusal}", trial.remedy

    def _ask(self, trials: Sequence[Trial], controls: Sequence[str]) -> None:
        new_trials = [trial for trial in trials if _key(trial.steps) not in self._answers]
        new_controls = [name for name in controls if _key(name) not in self._answers]
        if not new_trials and not new_controls:
            return
        placed = [_placed(trial.steps, number) for number, trial in enumerate(new_trials)]
        answers = _probe_answers(self._agent, {"trials": placed, "controls": new_controls})
        keys = [*(_key(trial.steps) for trial in new_trials), *map(_key, new_controls)]
        self._answers.update(zip(keys, [*answers["trials"], *answers["controls"]], strict=True))


def _probe_answers(agent: Path, questions: Json) -> Mapping[str, Any]:
    try:
        with process.run_folder(FOLDER) as folder:
            process.place(agent, folder)
            command, text = [str(folder / "agent"), "probe"], json.dumps(questions)
            done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except RunFailed as failure:
        raise Unsuitable(f"the features of this kernel cannot be determined: {failure}") from failure
    message = done.stderr.strip()
    if done.returncode == NO_NAMESPACES:
        remedy = (
            "run as root, allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, "
            f"kernel.apparmor_restrict_unprivileged_userns; a container: --privileged), or {VIRTUAL_TIME}"
        )
        raise Unsuitable(f"this machine does not allow namespaces: {message}\n  hint: {remedy}")
    if done.returncode:
        raise Unsuitable(f"the features of this kernel cannot be determined: {message}\n  hint: {VIRTUAL_TIME}")
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def _key(asked: object) -> str:
    return json.dumps(asked)


def _placed(steps: Sequence[Json], host: int) -> list[Json]:
    """The steps, assigned to a host."""
    return [step | {"host": host} for step in steps]


def _trials(scenario: Scenario) -> Iterator[Trial]:
    yield Trial("this kernel has no veth devices", f"modprobe veth, or {VIRTUAL_TIME}", [_veth()])
    yield from _sysctls(scenario)
    for hop in hops_of(scenario):
        link = scenario.links[hop.link]
        root = disciplines.tree_of(root_of(scenario, hop), link.rate_bps[hop.end])
        yield from (_discipline(node) for node in (root.tree if root is not None else ()))
        yield from _wire(scenario, hop)


def _veth() -> Json:
    return run(0, IP, "link", "add", "name", "l0", "type", "veth", "peer", "name", "p0")


def _sysctls(scenario: Scenario) -> Iterator[Trial]:
    for step in job.job_of(scenario)["setup"]:
        if step["kind"] == "write":
            name = step["path"].removeprefix("/proc/sys/").replace("/", ".")
            remedy = f"remove it, or {VIRTUAL_TIME}"
            what = f"`{name}` cannot be {step['value']} in a namespace of this machine:"
            yield Trial(what, remedy, [step | {"host": 0}])


def _discipline(node: Qdisc) -> Trial:
    kind = node.kind
    remedy = f"load it as root (modprobe sch_{kind}), or {VIRTUAL_TIME}"
    steps = [_veth(), *disciplines.attach(Hop(link=0, end=0, host=0, neighbour=0), 0, kind, node.options)]
    return Trial(f"this kernel does not accept the discipline `{kind}`:", remedy, steps)


def _wire(scenario: Scenario, hop: Hop) -> Iterator[Trial]:
    """Trials of the emulation of a link's rate and delay."""
    link = scenario.links[hop.link]
    steps = list(wire(Hop(link=0, end=hop.end, host=0, neighbour=0), link))
    if not steps:
        return
    ends = " - ".join(scenario.hosts[end].name for end in link.ends)
    what = f"the rate or delay of the link {ends} needs netem behind an ifb, which this kernel does not have:"
    remedy = (
        "load them as root (modprobe -a sch_netem ifb cls_matchall act_mirred), remove `rate` and `delay` of links "
        f"and shape in `qdiscs`, or {VIRTUAL_TIME}"
    )
    if link.police[hop.end] is not None:
        what = f"the policer of the link {ends} needs act_police behind cls_matchall, which this kernel does not have:"
        remedy = f"load it as root (modprobe -a act_police sch_netem ifb cls_matchall act_mirred), or {VIRTUAL_TIME}"
    yield Trial(what, remedy, [_veth(), *steps])
