"""The registry of kinds of traffic: one name per file, which is imported when an experiment has that kind."""

import importlib
from collections.abc import Iterator, MutableMapping

from tailback.scenario.traffic.kind import Kind
from tailback.scenario.values import Section


class Kinds(MutableMapping[str, Kind]):
    """Kinds by name; each is `ROW` in the file of that name."""

    def __init__(self, *names: str) -> None:
        self._rows: dict[str, Kind | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Kind:
        row = self._rows[name]
        if row is None:
            row = self._rows[name] = importlib.import_module(f"{__package__}.{name}").ROW
        return row

    def __setitem__(self, name: str, row: Kind) -> None:
        self._rows[name] = row

    def __delitem__(self, name: str) -> None:
        del self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def with_keys(self, model: type[Section]) -> Kind | None:
        """The kind with these keys; `None` if they are those of a preset."""
        # Who has the keys has imported the file.
        return next((row for row in self._rows.values() if row is not None and issubclass(model, row.keys)), None)


KINDS = Kinds("tcp", "udp", "ping", "call", "game", "request", "page", "video")


class NotListed(LookupError):
    """A kind of traffic without a name in the registry."""


def of(kind: object) -> Kind:
    """The kind of that name; raises `NotListed` if there is none."""
    found = KINDS.get(str(kind))
    if found is None:
        raise NotListed(
            f"the kind of traffic `{kind}` is not in python/tailback/scenario/traffic/registry.py\n"
            f"  hint: write python/tailback/scenario/traffic/{kind}.py as CONTRIBUTING.md says, and its name there"
        )
    return found
