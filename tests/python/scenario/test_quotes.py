"""Numbers and switches in quotes, numbers without a unit, and nothing at all: each message names what to write."""

from collections.abc import Callable

import pytest

Refusal = Callable[..., str]

FILE = """\
links:
  - {{ends: [client, router], rate: 100mbit, delay: 5ms{link}}}
  - {{wifi: {{ap: router, stations: [phone]}}, standard: 802.11n, width: 20MHz{cell}}}
traffic:
  - {{tcp: client -> phone{entry}}}
duration: 10s
{top}
"""


def filled(place: str, text: str) -> str:
    return FILE.format(**{"link": "", "cell": ", mcs: 7", "entry": "", "top": "", place: text})


@pytest.mark.parametrize(
    ("place", "text", "path", "right"),
    [
        ("top", "seed: '1'", "seed", "write it without quotes: seed: 1"),
        ("top", "repeat: '3'", "repeat", "write it without quotes: 3"),
        ("top", "routes: {client -> phone: [router]}\nseed: ' 7 '", "seed", "write it without quotes: seed: 7"),
        ("link", ", ring: '64'", "links[0].ring", "write it without quotes: 64"),
        ("link", ", ring: [64, '64']", "links[0].ring", "write a number of descriptors"),
        ("link", ", mtu: '1500'", "links[0].mtu", "write it without quotes: mtu: 1500"),
        ("cell", ", mcs: '7'", "links[1].mcs", "write it without quotes: 7"),
        ("entry", ", flows: '2'", "traffic[0].flows", "write it without quotes: flows: 2"),
    ],
)
def test_a_number_in_quotes_is_told_to_be_text(place: str, text: str, path: str, right: str, refusal: Refusal) -> None:
    told = refusal(filled(place, text))
    assert f"{path}: " in told
    assert right in told


@pytest.mark.parametrize("word", ["1", "2.5", "1 25%"])
def test_a_jitter_needs_a_unit_as_the_delay_beside_it_does(word: str, refusal: Refusal) -> None:
    told = refusal(filled("link", f", jitter: '{word}'"))
    number = word.split(maxsplit=1)[0]
    assert f"links[0].jitter: `{number}` has no unit\n  hint: did you mean `{number}ms`" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("duration: ''", "`''` is not a time"),
        ("duration: {a: 1}", "`{a: 1}` is not a time"),
        ("seed: []", "is an empty list"),
        ("seed: [1]", "write the value itself: seed: 1"),
    ],
)
def test_what_is_no_value_is_quoted_as_it_would_be_written(text: str, message: str, refusal: Refusal) -> None:
    assert message in refusal(filled("top", "").replace("duration: 10s", "").rstrip() + f"\n{text}")
