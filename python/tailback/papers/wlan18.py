"""How the claims of `wlan18` are measured: one function for each, from the results of its experiment."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from tailback.papers.measuring import (
    Place,
    compared,
    down_over_up,
    each,
    goodput_mbps,
    held_by,
    longest_queue,
    named,
    ping_ms,
    places,
    ratio,
    steps,
    values,
)
from tailback.papers.sample import Evaluator, Sample
from tailback.results import Results

LOSS_BASED = "cubic highspeed hybla illinois reno scalable"
FILLING = f"{LOSS_BASED} westwood yeah"
GENTLE = "bbr nv"
UNFAIR = "highspeed illinois reno scalable"
OTHERS = "cubic hybla nv westwood yeah"
"""Controls of which figure 5 says nothing but that BBR alone favours the downloads."""
LIMITS = "64kB 128kB 256kB 512kB 1mb 2mb 5mb"
MANAGED = "CoDel SFQ FQ FQ-CoDel"
FIFO, PFIFO, PIE = "FIFO", "PFIFO", "PIE"
ONE_DOWN = "one down"


def filled_channel(results: Results) -> Iterator[Sample]:
    yield from each("goodput", results, places("cc", FILLING, flows="1"), goodput_mbps)
    yield from each("held by TSQ", results, places("cc", FILLING, flows="1"), held_by("small_queue"))


def latency_of_one(results: Results) -> Iterator[Sample]:
    yield from each("ping, loss-based", results, places("cc", LOSS_BASED, flows="1"), ping_ms)
    yield from each("ping, bbr and nv", results, places("cc", GENTLE, flows="1"), ping_ms)
    yield from each("longest queue", results, places("cc", LOSS_BASED, flows="1"), longest_queue)


def yeah_of_one(results: Results) -> Iterator[Sample]:
    place = {"cc": "yeah", "flows": "1"}
    yield Sample("goodput", "yeah", values(results, place, goodput_mbps))
    yield Sample("ping", "yeah", values(results, place, ping_ms))


def order_of_latency(results: Results) -> Iterator[Sample]:
    ladder = [{"cc": name, "flows": "4"} for name in ("westwood", "yeah", "nv", "bbr")]
    for place in places("cc", LOSS_BASED, flows="4"):
        yield from _over("ping ratio", results, (place, ladder[0]))
    for pair in pairwise(ladder):
        yield from _over("ping ratio", results, pair)


def _over(quantity: str, results: Results, pair: tuple[Place, Place]) -> Iterator[Sample]:
    yield Sample(quantity, f"{pair[0]['cc']} : {pair[1]['cc']}", compared(results, pair, ratio(ping_ms)))


def disciplines(results: Results) -> Iterator[Sample]:
    yield from each("ping", results, places("qdisc", MANAGED, case=ONE_DOWN), ping_ms)
    fifo = {"qdisc": FIFO, "case": ONE_DOWN}
    for names, quantity in ((MANAGED, "ping over that of FIFO"), (PFIFO, "ping of PFIFO"), (PIE, "ping of PIE")):
        for place in places("qdisc", names, case=ONE_DOWN):
            yield Sample(quantity, named(place), compared(results, (place, fifo), ratio(ping_ms)))
    pair = ({"qdisc": PFIFO, "case": ONE_DOWN}, fifo)
    yield Sample("longest queue, PFIFO : FIFO", PFIFO, compared(results, pair, ratio(longest_queue)))


def static_limits(results: Results) -> Iterator[Sample]:
    pair = ({"tsq": "128kB", "flows": "1"}, {"tsq": "off", "flows": "1"})
    yield Sample("goodput at 128 kB : no limit", "128kB", compared(results, pair, ratio(goodput_mbps)))
    yield from steps("ping growth", results, places("tsq", f"{LIMITS} off", flows="1"), ping_ms)
    place = {"tsq": "64kB", "flows": "1"}
    yield Sample("held by TSQ at 64 kB", "64kB", values(results, place, held_by("small_queue")))


def static_limits_of_four(results: Results) -> Iterator[Sample]:
    standard, none = ({"tsq": name, "flows": "4"} for name in ("1ms", "off"))
    pair = ({"tsq": "64kB", "flows": "4"}, none)
    yield Sample("ping, standard", "TSQ 1ms", values(results, standard, ping_ms))
    yield Sample("goodput, standard", "TSQ 1ms", values(results, standard, goodput_mbps))
    yield Sample("goodput at 64 kB : no limit", "64kB", compared(results, pair, ratio(goodput_mbps)))
    yield Sample("ping, no limit", "TSQ off", values(results, none, ping_ms))
    yield Sample("held by TSQ, standard", "TSQ 1ms", values(results, standard, held_by("small_queue")))


def order_over_fq_codel(results: Results) -> Iterator[Sample]:
    for reader, quantity, last in ((goodput_mbps, "goodput ratio", ("nv", "bbr")), (ping_ms, "ping ratio", ())):
        pairs = [("reno", "cubic"), ("cubic", "yeah"), *(("yeah", name) for name in last)]
        for one, other in pairs:
            pair = ({"cc": one, "tsq": "1ms"}, {"cc": other, "tsq": "1ms"})
            yield Sample(quantity, f"{one} : {other}", compared(results, pair, ratio(reader)))
    yield from each("held by TSQ", results, places("cc", "cubic reno yeah", tsq="1ms"), held_by("small_queue"))


def fairness(results: Results) -> Iterator[Sample]:
    for names, quantity in ((UNFAIR, "up : down"), (OTHERS, "up : down, others")):
        for place in places("cc", names):
            yield Sample(quantity, place["cc"], [1 / found for found in values(results, place, down_over_up)])
    yield Sample("down : up", "bbr", values(results, {"cc": "bbr"}, down_over_up))


def order_under_rrul(results: Results) -> Iterator[Sample]:
    others = [name for name in FILLING.split() if name != "yeah"]
    pairs = [("nv", "bbr"), ("yeah", "nv"), *((name, "yeah") for name in others)]
    pairs += [("cubic", name) for name in others if name != "cubic"]
    for one, other in pairs:
        yield from _over("ping ratio", results, ({"cc": one}, {"cc": other}))


def fairness_by_limit(results: Results) -> Iterator[Sample]:
    yield Sample("down : up, standard", "TSQ 1ms", values(results, {"tsq": "1ms"}, down_over_up))
    for place in places("tsq", "128kB 256kB 512kB 1mb 2mb 5mb off"):
        yield Sample("down : up, others", named(place), values(results, place, down_over_up))
        pair = ({"tsq": "1ms"}, place)
        yield Sample("ping, standard : others", named(place), compared(results, pair, ratio(ping_ms)))
    yield Sample("ping, standard", "TSQ 1ms", values(results, {"tsq": "1ms"}, ping_ms))


EVALUATORS: Mapping[str, Evaluator] = {
    "wlan18-f3-sat": filled_channel,
    "wlan18-f3-lat": latency_of_one,
    "wlan18-f3-yeah": yeah_of_one,
    "wlan18-f4-lat": order_of_latency,
    "wlan18-f5-fair": fairness,
    "wlan18-f5-lat": order_under_rrul,
    "wlan18-f6": disciplines,
    "wlan18-f9-max": static_limits,
    "wlan18-f10": static_limits_of_four,
    "wlan18-f11": fairness_by_limit,
    "wlan18-f13": order_over_fq_codel,
}
