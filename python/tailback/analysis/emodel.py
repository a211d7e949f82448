"""The E-model of the ITU-T for telephone speech: the rating R of a call from its delay and loss, and its MOS.

Recommendation G.107, version of June 2015 [itu-g107]. All parameters except delay, loss and those of the codec have the
default values of its Table 2, so R without delay and loss is 93.2. One-way delay, the delay of the talker's echo and
half of the round trip of the listener's echo are the same. Losses are assumed to be independent (BurstR = 1).
"""

import math

# [itu-g107 Table 2]
SLR, RLR, STMR = 8.0, 2.0, 15.0
D_SEND, D_RECEIVE = 3.0, 3.0
TELR, WEPL = 65.0, 110.0
QUANTISERS = 1.0
NC, NFOR = -70.0, -64.0
ROOM_SEND, ROOM_RECEIVE = 35.0, 35.0
LEAST_PERCEIVED_MS, SENSITIVITY = 100.0, 1.0

OLR = SLR + RLR


def rating(delay_ms: float, loss: float, impairment: float, robustness: float) -> float:
    """R for this mouth-to-ear delay, this share of lost frames, and the codec's Ie and Bpl. [itu-g107 §7.1]"""
    return signal_to_noise() - simultaneous() - delayed(delay_ms) - equipment(loss, impairment, robustness)


def mos(rating: float) -> float:
    """The estimated mean opinion score of R, from 1 to 4.5. [itu-g107 Annex B]"""
    if rating <= 0:
        return 1.0
    if rating >= 100:
        return 4.5
    # Below R = 6.5 the polynomial falls under 1.
    return max(1.0, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6)


def equipment(loss: float, impairment: float, robustness: float) -> float:
    """Ie-eff: the impairment by the codec and by lost frames. [itu-g107 §7.5]"""
    percent = 100 * loss
    return impairment + (95 - impairment) * percent / (percent + robustness)


def signal_to_noise() -> float:
    """Ro: the ratio of the signal to the noise of circuit, rooms and floor. [itu-g107 §7.2]"""
    return 15 - 1.5 * (SLR + _noise())


def _noise() -> float:
    sender = ROOM_SEND - SLR - D_SEND - 100 + 0.004 * (ROOM_SEND - OLR - D_SEND - 14) ** 2
    side_tone = 10 * math.log10(1 + 10 ** ((10 - (STMR + D_RECEIVE)) / 10))
    effective = ROOM_RECEIVE + side_tone
    receiver = RLR - 121 + effective + 0.008 * (effective - 35) ** 2
    floor = NFOR + RLR
    return 10 * math.log10(sum(10 ** (each / 10) for each in (NC, sender, receiver, floor)))


def simultaneous() -> float:
    """Is: loudness, side tone and quantisation. [itu-g107 §7.3]"""
    return _loudness() + _side_tone() + _quantisation()


def _root(base: float, power: float) -> float:
    """(1 + base^power)^(1/power)"""
    return float((1 + base**power) ** (1 / power))


def _loudness() -> float:
    excess = (OLR + 0.2 * (64 + _noise() - RLR)) / 8
    return 20 * (_root(excess, 8) - excess)


def _side_tone() -> float:
    masked = -10 * math.log10(10 ** (-STMR / 10) + 10 ** (-TELR / 10))
    bounds = ((12, 13, 6, 8), (-28, -1, 19.4, 35), (-13, 3, 33, 13))
    return 29 + sum(weight * _root((masked - centre) / width, power) for weight, centre, width, power in bounds)


def _quantisation() -> float:
    ratio = 37 - 15 * math.log10(QUANTISERS)
    subjective = 1.07 + 0.258 * ratio + 0.0602 * ratio**2
    upper = (signal_to_noise() - 100) / 15 + 46 / 8.4 - subjective / 9
    lower = 46 / 30 - subjective / 40
    return 15 * math.log10(1 + 10**upper + 10**lower)


def delayed(delay_ms: float) -> float:
    """Id: echo of the talker, echo of the listener, and delay itself. [itu-g107 §7.4]"""
    return _talker_echo(delay_ms) + _listener_echo(2 * delay_ms) + _too_long(delay_ms)


def _talker_echo(delay_ms: float) -> float:
    decay = 40 * math.log10((1 + delay_ms / 10) / (1 + delay_ms / 150))
    loudness = TELR - decay + 6 * math.exp(-0.3 * delay_ms**2)
    without, with_echo = -1.5 * (_noise() - RLR), 80 + 2.5 * (loudness - 14)
    half = (without - with_echo) / 2
    return float((half + math.sqrt(half**2 + 100) - 1) * (1 - math.exp(-delay_ms)))


def _listener_echo(round_trip_ms: float) -> float:
    echo = 10.5 * (WEPL + 7) / math.sqrt(math.sqrt(round_trip_ms + 1))
    half = (signal_to_noise() - echo) / 2
    return half + math.sqrt(half**2 + 169)


def _too_long(delay_ms: float) -> float:
    """Idd: what a long delay alone costs; nothing up to 100 ms."""
    if delay_ms <= LEAST_PERCEIVED_MS:
        return 0.0
    octaves, power = math.log2(delay_ms / LEAST_PERCEIVED_MS), 6 * SENSITIVITY
    return 25 * (_root(octaves, power) - 3 * _root(octaves / 3, power) + 2)
