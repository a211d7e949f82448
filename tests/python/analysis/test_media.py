"""Calls and games: the E-model beside published values, and streams with known delays and losses."""

import math
from collections.abc import Sequence

import pandas as pd
import pytest

from tailback.analysis import emodel, media
from tailback.analysis.media import Stream
from tailback.analysis.window import Window

MS = 1_000_000
SECOND = 1_000_000_000
FRAME = 20


def stream(codec: str = "g711", buffer_ms: int | None = None) -> Stream:
    return Stream(codec, None if buffer_ms is None else buffer_ms * MS, FRAME * MS, 0, 10 * SECOND)


def arrivals(delays: Sequence[float | None]) -> pd.DataFrame:
    """One datagram each 20 ms with these delays in ms; `None` is lost."""
    rows = [(number * FRAME + each, each) for number, each in enumerate(delays) if each is not None]
    rows.sort()
    return pd.DataFrame({"t": [at / 1000 for at, _ in rows], "flow": "call", "delay_ms": [each for _, each in rows]})


def heard(
    delays: Sequence[float | None], of: Stream | None = None, window: tuple[float, float] = (0, 10)
) -> dict[str, media.Heard]:
    within = Window(round(window[0] * SECOND), round(window[1] * SECOND))
    return media.heard(arrivals(delays), {"call": of or stream()}, within)


def test_a_call_without_delay_and_loss_has_the_rating_of_the_default_values() -> None:
    rating = emodel.rating(0, 0, impairment=0, robustness=25.1)
    assert rating == pytest.approx(93.2, abs=0.05)  # [itu-g107 §7.7]
    assert emodel.mos(rating) == pytest.approx(4.41, abs=0.005)


@pytest.mark.parametrize(("rating", "mos"), [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)])
def test_the_opinion_of_a_rating_is_that_of_the_table_of_the_recommendation(rating: float, mos: float) -> None:
    assert emodel.mos(rating) == pytest.approx(mos, abs=0.01)  # [itu-g107 Table B.1]


def test_opinions_stay_on_their_scale() -> None:
    found = [emodel.mos(rating) for rating in range(-20, 121)]
    assert (min(found), max(found)) == (1.0, 4.5)
    assert found == sorted(found)


@pytest.mark.parametrize("delay_ms", [10, 50, 100, 150, 250, 300])
def test_the_cost_of_delay_is_near_the_linear_approximation_that_was_published(delay_ms: float) -> None:
    # Cole and Rosenbluth, 2001: 0.024 d + 0.11 (d - 177.3) from 177.3 ms on, read from the curve of G.107.
    linear = 0.024 * delay_ms + 0.11 * max(0, delay_ms - 177.3)
    assert emodel.delayed(delay_ms) == pytest.approx(linear, abs=1.2)


def test_a_long_delay_costs_nothing_up_to_100_ms_and_grows_from_there() -> None:
    assert emodel.delayed(100) == pytest.approx(2.7, abs=0.05)
    cost = [emodel.delayed(each) for each in (100, 150, 200, 300, 400, 800)]
    assert cost == sorted(cost)
    assert emodel.rating(400, 0, 0, 25.1) == pytest.approx(62, abs=1)


def test_as_many_lost_frames_as_the_robustness_cost_half_of_what_is_left() -> None:
    assert emodel.equipment(0.251, impairment=0, robustness=25.1) == pytest.approx(95 / 2)
    assert emodel.equipment(0.19, impairment=11, robustness=19) == pytest.approx(11 + 84 / 2)
    assert emodel.equipment(0, impairment=11, robustness=19) == 11


def test_on_a_path_with_a_constant_delay_the_buffer_holds_one_frame() -> None:
    found = heard([30.0] * 500)
    assert media.losses(found) == {"call": 0}
    assert media.unheard(found) == {"call": 0}
    assert media.jitters(found)["call"] == pytest.approx(0, abs=1e-6)
    assert media.mouth_to_ear(found)["call"] == pytest.approx(FRAME + 30 + FRAME, abs=1e-3)
    expected = emodel.rating(70, 0, 0, 25.1)
    assert media.ratings(found)["call"] == pytest.approx(expected, abs=0.01)
    assert media.opinions(media.ratings(found))["call"] == pytest.approx(emodel.mos(expected), abs=0.001)


def test_every_tenth_frame_lost_is_a_loss_of_ten_percent_and_its_rating() -> None:
    found = heard([None if number % 10 == 3 else 10.0 for number in range(500)])
    assert media.losses(found)["call"] == pytest.approx(0.1, abs=0.001)
    expected = emodel.rating(50, 0.1, 0, 25.1)
    assert media.ratings(found)["call"] == pytest.approx(expected, abs=0.1)


def test_a_frame_after_its_time_to_play_is_lost_to_the_listener_but_not_to_the_network() -> None:
    delays = [10.0 if number % 5 else 90.0 for number in range(1, 501)]
    found = heard(delays, stream(buffer_ms=60))
    assert media.losses(found)["call"] == 0
    assert media.unheard(found)["call"] == pytest.approx(0.2, abs=0.005)
    # The listener waits for the smallest delay and the buffer.
    assert media.mouth_to_ear(found)["call"] == pytest.approx(FRAME + 10 + 60)
    assert media.unheard(heard(delays, stream(buffer_ms=100)))["call"] == 0


def test_the_adaptive_buffer_grows_until_nothing_is_late() -> None:
    delays = [10.0 if number % 2 else 60.0 for number in range(5000)]
    late = Stream("g711", None, FRAME * MS, 0, 100 * SECOND)
    found = media.heard(arrivals(delays), {"call": late}, Window(60 * SECOND, 100 * SECOND))
    assert media.unheard(found)["call"] == 0
    # Mean 35 ms and deviation 25 ms.
    assert media.mouth_to_ear(found)["call"] == pytest.approx(FRAME + 35 + 4 * 25, rel=0.05)


def test_jitter_is_the_mean_difference_between_delays_one_after_the_other() -> None:
    found = heard([10.0 + 5 * (number % 2) for number in range(500)])
    assert media.jitters(found)["call"] == pytest.approx(5, abs=1e-6)


def test_frames_on_their_way_at_the_end_of_the_window_are_not_lost() -> None:
    found = heard([400.0] * 480, window=(2, 10))
    assert media.losses(found)["call"] == 0


def test_a_copy_that_the_network_made_does_not_hide_a_loss() -> None:
    table = arrivals([10.0 if number % 2 else None for number in range(500)])
    twice = pd.concat([table, table.assign(t=table["t"])]).sort_values("t")
    found = media.heard(twice, {"call": stream()}, Window(0, 10 * SECOND))
    assert media.losses(found)["call"] == pytest.approx(0.5, abs=0.005)


def test_a_call_that_never_arrives_is_bad_and_not_absent() -> None:
    found = heard([None] * 500)
    assert media.losses(found) == {"call": 1}
    assert media.mouth_to_ear(found) == {}
    assert media.opinions(media.ratings(found)) == {"call": 1.0}


def test_a_codec_without_published_values_and_a_game_have_no_rating() -> None:
    for codec in ("opus 24k", "game"):
        found = heard([30.0] * 500, stream(codec))
        assert media.ratings(found) == {}
        assert media.losses(found) == {"call": 0}
    assert not math.isnan(media.mouth_to_ear(heard([30.0] * 500, stream("opus 24k")))["call"])
    assert media.unheard(heard([30.0] * 500, stream("game"))) == {}
