"""Reads a testbed file; reports all errors at once, each with its line, its key and a remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tailback.scenario.document import nearest, plain
from tailback.scenario.errors import Finding, ScenarioError, Where
from tailback.scenario.findings import quoted
from tailback.scenario.paths import Loc, show
from tailback.scenario.reader import read_file, read_yaml
from tailback.tc.errors import nearest_hint
from tailback.testbed import ssh_config
from tailback.testbed.schema import PLACES, SWITCH, TAGS, Access, Keys, Machine

SECRETS = ("password", "passphrase", "pass", "secret")


@dataclass(frozen=True)
class Testbed:
    """A testbed file that has been read."""

    # Tells pytest that this is not a test, despite its name.
    __test__ = False

    path: str
    keys: Keys

    @property
    def machines(self) -> Mapping[str, Machine]:
        """The machines by host, each with complete access settings."""
        hosts = self.keys.hosts.items()
        return {name: self._complete(entry) for name, entry in hosts if isinstance(entry, Machine)}

    @property
    def switches(self) -> frozenset[str]:
        """The hosts that are switches."""
        return frozenset(name for name, entry in self.keys.hosts.items() if entry == SWITCH)

    def document(self) -> dict[str, Any]:
        """The content, for manifest and fingerprint."""
        return self.keys.model_dump(exclude_none=True)

    def _complete(self, machine: Machine) -> Machine:
        common = {name: value for name in Access.model_fields if (value := getattr(self.keys.ssh, name)) is not None}
        own = {name: value for name in Machine.model_fields if (value := getattr(machine, name)) is not None}
        return Machine.model_construct(**{**common, **own})


def load(path: str | Path) -> Testbed:
    """Reads a testbed file; raises `ScenarioError` with all errors."""
    return loads(read_file(Path(path), otherwise=_ABSENT), file=str(path))


_ABSENT = (
    "name a testbed file, which says the machine of each host: hosts: {client: {address: 192.0.2.1, interfaces: "
    "{router: eth1}}, ...}; `tailback testbed schema` lists its keys"
)


def loads(text: str, *, file: str = "testbed") -> Testbed:
    """As `load`, from a text; error messages call it `file`."""
    tree = read_yaml(text, file)
    if not isinstance(tree.value, dict):
        hint = "write keys and values: hosts: {h1: {address: 192.0.2.7, interfaces: {router: eth1}}}"
        raise ScenarioError([Finding(tree.where, "", f"{quoted(plain(tree))} is not a testbed", hint)])
    try:
        keys = Keys.model_validate(plain(tree))
    except ValidationError as error:
        found = [_finding(details) for details in error.errors(include_url=False)]
        raise ScenarioError(
            Finding(nearest(tree, loc).where, show(loc), message, hint) for loc, message, hint in found
        ) from None
    problems = [*_shared_devices(keys), *_untrusted(keys)]
    if problems:
        raise ScenarioError(Finding(_where(tree, loc), show(loc), message, hint) for loc, message, hint in problems)
    return Testbed(file, keys)


Problem = tuple[Loc, str, str]


def _where(tree: Any, loc: Loc) -> Where:
    return nearest(tree, loc).where


def _shared_devices(keys: Keys) -> list[Problem]:
    """Checks that each device connects to only one neighbour (which may be a switch)."""
    problems: list[Problem] = []
    for name, entry in keys.hosts.items():
        seen: dict[str, str] = {}
        for neighbour, interface in entry.interfaces.items() if isinstance(entry, Machine) else ():
            device = interface.device or str(interface.address)
            other = seen.setdefault(device, neighbour)
            if other != neighbour:
                message = f"`{device}` already connects to `{other}`"
                hint = "name the switch in between as a host of the experiment and of the testbed: lan1: switch"
                problems.append((("hosts", name, "interfaces", neighbour), message, hint))
    return problems


def _untrusted(keys: Keys) -> Iterator[Problem]:
    """The configurations of ssh that may execute programs."""
    places: list[tuple[Loc, Access]] = [(("ssh", "config"), keys.ssh)]
    places += [(("hosts", name, "config"), entry) for name, entry in keys.hosts.items() if isinstance(entry, Machine)]
    for loc, access in places:
        found = None if access.config is None else ssh_config.refusal(access.config)
        if found is not None:
            yield loc, *found


def _loc(details: ErrorDetails) -> Loc:
    """The place in the file, without what pydantic adds: which kind of host it took, and that a key and not its value
    is meant. Keys of the file may look like these marks.
    """
    loc = details["loc"]
    if loc[:1] == ("hosts",) and loc[2:3] in {(tag,) for tag in TAGS}:
        loc = (*loc[:2], *loc[3:])
    of_key = loc[-1:] == ("[key]",) and details["type"] != "extra_forbidden"
    return loc[:-1] if of_key else loc


def _finding(details: ErrorDetails) -> Problem:
    loc = _loc(details)
    match details["type"]:
        case "word":
            context = details.get("ctx", {})
            return loc, str(context["message"]), str(context["hint"])
        case "extra_forbidden":
            return loc, f"there is no key `{str(loc[-1])[:60]}` here", _hint_of_unknown(loc)
        case "missing":
            return loc, "is missing", _SAMPLES.get(str(loc[-1]), f"write `{loc[-1]}: ...`")
        case "literal_error" if loc[:1] == ("hosts",):
            return loc, f"{quoted(details['input'])} is not a host", "describe the machine, or write `switch`"
        case "too_short":
            return loc, "is empty", _SAMPLES.get(str(loc[-1]), "give one")
    return loc, f"{quoted(details['input'])} cannot be used: {details['msg']}", "docs/testbed.md lists what a key takes"


_SAMPLES = {
    "hosts": "name the machines: hosts: {h1: {address: 192.0.2.7, interfaces: {router: eth1}}}",
    "address": "give the address of its sshd: address: 192.0.2.7",
    "interfaces": "name the device on each link, by neighbour: interfaces: {router: eth1}",
    "device": "name the device: device: eth1",
}


def _hint_of_unknown(loc: Loc) -> str:
    if str(loc[-1]).lower() in SECRETS:
        return "passwords are not supported: use a key, an ssh-agent (ssh-add), or `sudo` without a password"
    place = {1: "", 2: "ssh", 3: "host", 5: "interface"}.get(len(loc), "")
    return nearest_hint(str(loc[-1]), PLACES[place]())
