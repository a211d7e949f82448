"""Codecs of calls: their packets, and their parameters in the E-model.

A packet has one frame of 20 ms behind an RTP header of 12 bytes [rfc3550 §5.1]. G.711 takes 64 kbit/s; G.729A 8 kbit/s
with a look-ahead of 5 ms [rfc3551 §4.5]; Opus has the bit rate of its name [rfc6716 §2.1.1].

`impairment` (Ie) and `robustness` (Bpl) are those of G.113, for G.711 with the packet loss concealment of its Appendix
I, for G.729A with voice activity detection [itu-g113 Appendix I]. G.113 has no values for Opus, so a call with Opus has
no MOS.
"""

from msgspec import Struct

FRAME_NS = 20_000_000
"""The time between two packets: the default of RFC 3551. [rfc3551 §4.2]"""

RTP_HEADER = 12


class Codec(Struct, frozen=True):
    """A codec: its bit rate without headers, and its parameters in the E-model, `None` if none are published."""

    rate_bps: int
    look_ahead_ms: float = 0.0
    impairment: float | None = None
    robustness: float | None = None

    @property
    def datagram(self) -> int:
        """Bytes of data in a datagram."""
        return RTP_HEADER + self.rate_bps * FRAME_NS // 8_000_000_000

    @property
    def datagrams_bps(self) -> int:
        """The rate of the data in datagrams, RTP headers included."""
        return self.datagram * 8_000_000_000 // FRAME_NS


CODECS: dict[str, Codec] = {
    "g711": Codec(64_000, impairment=0.0, robustness=25.1),
    "g729": Codec(8_000, look_ahead_ms=5.0, impairment=11.0, robustness=19.0),
    "opus 16k": Codec(16_000, look_ahead_ms=6.5),
    "opus 24k": Codec(24_000, look_ahead_ms=6.5),
    "opus 32k": Codec(32_000, look_ahead_ms=6.5),
}

GAME = "game"
"""The codec of a stream that is not sound."""
