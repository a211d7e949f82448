"""The defaults of the experiment file, each with its reason. `duration` has none and must be given.

The defaults of algorithms are in the simulator.
"""

from __future__ import annotations

from typing import Final

from tailback.resolved.wifi import AIR

#: The version of Linux that Tailback models.
STACK = "linux-6.12"
#: The names in `tailback_tcp::STACKS`, which lists the differences.
STACKS = (
    STACK, "linux-7.3", "linux-6.6", "linux-6.1", "linux-5.10.262", "linux-5.10", "linux-5.4", "linux-5.0",
    "linux-4.14", "linux-3.10", "freebsd-9",
)  # fmt: skip

#: Linux's default, `net.ipv4.tcp_congestion_control`. [linux-6.12 Kconfig DEFAULT_TCP_CONG]
CC = "cubic"

#: Linux's default: pacing shift 10. [linux-6.12 sock.c sock_init_data_uid]
TSQ = "1ms"

#: mac80211 sets pacing shift 7 (8 ms) on its devices, so that aggregates can grow. Before 4.16, radios had the same
#: shift as other devices. [linux-6.12 net/mac80211/main.c tx_sk_pacing_shift]
WIFI_TSQ = "8ms"
STACKS_WITHOUT_WIFI_TSQ = ("linux-4.14", "linux-3.10")

#: Name of the only Wi-Fi cell of a file; of several cells, each has a number appended.
CELL = AIR

#: Usual band of 802.11n and its successors.
BAND: Final = "5GHz"
#: The mandatory guard interval of the standard; the short one is optional.
GUARD = "800ns"
#: A driver that models no particular hardware.
DRIVER = "generic"
#: A channel without losses, no RTS, no encryption.
LOSS = "0%"
STREAMS = None
SNR = None
DISTANCE = None
RATE_CONTROL = "fixed"
RTS = False
ENCRYPTION: Final = "open"

#: The receiving application wakes up for any data. [linux-6.12 sock.c sock_init_data_uid]
RCVLOWAT = 1

#: One segment per skb, as in the testbeds of the papers; Linux's default is `on`.
OFFLOADS: Final = "off"
OFFLOADS_KNOWN = (OFFLOADS, "gso", "on")

#: Slow start ends by loss or by the control; Linux has remembered no other threshold since 5.6.
SSTHRESH = 0

#: No propagation delay.
DELAY = "0s"

#: Ethernet. [rfc894]
MTU = 1500

#: Descriptors of the transmit ring of common Ethernet drivers (`ethtool -g`: e1000e, igb, r8169 have 256).
RING = 256

#: Every packet that arrives interrupts its host, which takes it at once.
INTERRUPTS = "0s"

#: Each segment is received by itself, as in the testbeds of the papers that turn offloads off; Linux's default is `on`.
GRO = False

#: Current Ethernet drivers have byte queue limits. [linux-6.12 dynamic_queue_limits.c]
BQL = True

FLOWS = 1

#: The interval of Flent's tests and of the papers.
PING_INTERVAL = "200ms"

#: The default of ping: 56 bytes of data and 8 of ICMP header.
PING_SIZE = "64b"

PING_PROTOCOL: Final = "icmp"

#: The UDP pings of Flent's tests: irtt's smallest datagram, which carries a sequence number and timestamps.
UDP_PING_SIZE = "68b"

#: The largest datagram that fits the MTU of Ethernet.
DATAGRAM = "1472b"

#: The rate of Flent's udp_flood.
FLOOD = "100mbit"

#: Bytes of a small HTTP request with its headers.
REQUEST = "300b"
THINK = "0s"

#: The median home page on a desktop computer, over HTTP/2; browsers open six connections per host for HTTP/1.1.
PAGE = "desktop"
HTTP: Final = 2
BROWSER_CONNECTIONS = 6

#: The video of Yin et al.: 240p to 1080p of YouTube, segments and buffer of the Envivio test video. [yin2015]
LADDER = ("350kbit", "600kbit", "1mbit", "2mbit", "3mbit")
VIDEO_SEGMENT = "4s"
VIDEO_BUFFER = "30s"
VIDEO_RULE: Final = "bola"

#: The codec of the telephone network, which every telephone has. [rfc3551 §4.5]
CODEC = "g711"
JITTER_BUFFER = "adaptive"

#: Counter-Strike: the server's tick of 50 ms, and the mean sizes of datagrams to and from it. [feng2002 §3]
TICK = "20/s"
MOVES = "40b"
WORLD = "130b"

#: Default forwarding. [rfc2474 §4.1]
DSCP = 0
IP: Final = 4
#: Default congestion control of the stacks whose default is not `CC`.
STACK_CC = {"freebsd-9": "newreno"}

#: Traffic begins with the run.
START = "0s"

#: Flows start at the same time. Without jitter, repetitions hardly differ.
JITTER = "0s"

#: The whole run is measured; `check` warns if that includes slow start.
WARMUP = "0s"

#: The usual sampling interval of Flent and of `ss` in the papers.
INTERVAL = "100ms"
TCP_INFO = "interval"

#: Record drops, marks and state changes; they are few.
EVENTS = True

#: One repetition, with seed 1.
REPEAT = 1
#: `repeat: until`: the quantities, and the bounds on the repetitions. The interval of fewer than five is too uncertain.
REPEAT_QUANTITIES = ("goodput", "rtt")
REPEAT_MIN = 5
REPEAT_MAX = 30
SEED = 1
