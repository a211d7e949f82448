"""`tailback.frozen` makes classes that behave like those of the standard decorator."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import pytest
from pydantic import TypeAdapter, ValidationError

from tailback import frozen


@dataclasses.dataclass(frozen=True)
class Standard:
    """A class of the standard library."""

    kind: ClassVar[str] = "some"

    name: str
    count: int = 3
    labels: dict[str, int] = dataclasses.field(default_factory=dict, kw_only=True)
    size: int = dataclasses.field(default=0, kw_only=True)

    @cached_property
    def twice(self) -> int:
        """A value that is computed once."""
        return 2 * self.count


@frozen.dataclass(frozen=True)
class Ours:
    """The same class."""

    kind: ClassVar[str] = "some"

    name: str
    count: int = 3
    labels: dict[str, int] = dataclasses.field(default_factory=dict, kw_only=True)
    size: int = dataclasses.field(default=0, kw_only=True)

    @cached_property
    def twice(self) -> int:
        """A value that is computed once."""
        return 2 * self.count


@frozen.dataclass(frozen=True, kw_only=True)
class Above:
    """A class with another below."""

    first: int
    second: int = 2


@frozen.dataclass(frozen=True, kw_only=True)
class Below(Above):
    """It has its own text, and a field without a default behind one with."""

    third: int

    def __repr__(self) -> str:
        return "below"


GIVEN: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 4), {}),
    ((), {"name": "a", "count": 4, "labels": {"x": 1}}),
    (("a",), {"size": 5, "count": 6}),
]


@pytest.mark.parametrize(("values", "named"), GIVEN)
def test_its_objects_are_those_of_the_standard_decorator(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, standard = Ours(*values, **named), Standard(*values, **named)
    assert vars(ours) == vars(standard)
    assert list(vars(ours)) == list(vars(standard))
    assert repr(ours) == repr(standard).replace("Standard", "Ours")
    assert ours.twice == standard.twice
    assert dataclasses.asdict(ours) == dataclasses.asdict(standard)
    assert [field.name for field in dataclasses.fields(Ours)] == [field.name for field in dataclasses.fields(Standard)]
    assert Ours.__match_args__ == Standard.__match_args__


@pytest.mark.parametrize("kind", [Ours, Standard])
@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), (("a", 1, {}), {}), (("a",), {"name": "b"}), (("a",), {"other": 1})],
    ids=["missing", "too many", "twice", "unknown"],
)
def test_wrong_values_are_refused(kind: Callable[..., Any], values: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        kind(*values, **named)


@pytest.mark.parametrize("kind", [Ours, Standard])
def test_objects_are_equal_by_their_values_and_class(kind: Any) -> None:
    assert kind("a") == kind("a", 3)
    assert kind("a") != kind("a", 4)
    assert kind("a") != ("a", 3, {}, 0)
    assert kind("a") != Above(first=1)


def test_the_hash_is_that_of_the_values() -> None:
    assert hash(Above(first=1)) == hash(Above(first=1, second=2)) == hash((1, 2))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ours("a"))


@pytest.mark.parametrize("kind", [Ours, Standard])
@pytest.mark.parametrize("name", ["count", "other"])
def test_objects_cannot_be_changed(kind: Any, name: str) -> None:
    made = kind("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, name, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        delattr(made, name)


def test_objects_are_replaced_copied_and_pickled() -> None:
    made = Ours("a", labels={"x": 1})
    assert dataclasses.replace(made, count=5) == Ours("a", 5, labels={"x": 1})
    assert copy.deepcopy(made) == made
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_class_inherits_fields_and_keeps_its_own_methods() -> None:
    assert vars(Below(first=1, third=3)) == {"first": 1, "second": 2, "third": 3}
    assert repr(Below(first=1, third=3)) == "below"
    assert Below(first=1, third=3) != Above(first=1)


def test_pydantic_reads_it_as_a_dataclass() -> None:
    adapter = TypeAdapter(Ours)
    assert adapter.validate_python({"name": "a", "labels": {"x": "1"}}) == Ours("a", labels={"x": 1})
    assert adapter.dump_python(Ours("a")) == {"name": "a", "count": 3, "labels": {}, "size": 0}
    with pytest.raises(ValidationError):
        adapter.validate_python({"count": 1})
