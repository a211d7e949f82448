"""The defaults of the experiment file, each with its reason. `duration` has no default: it must be given.

Algorithms have their own defaults, in the simulator; none of those is here.
"""

from __future__ import annotations

from typing import Final

from tailback.resolved.wifi import AIR

#: The Linux the project describes.
STACK = "linux-6.12"
#: Those of `tailback_tcp::STACKS`, where their differences are listed.
STACKS = (STACK, "linux-6.6", "linux-5.10", "linux-5.4", "linux-5.0", "linux-4.14", "freebsd-9")

#: Linux's own choice, `net.ipv4.tcp_congestion_control`. [linux-6.12 Kconfig DEFAULT_TCP_CONG]
CC = "cubic"

#: Linux's own setting: pacing shift 10. [linux-6.12 sock.c sock_init_data_uid]
TSQ = "1ms"

#: What mac80211 asks for on its devices: pacing shift 7, 8 ms, so that aggregates can grow; it came early in 2019.
#: Before 4.16 a radio had what everything has. [linux-6.12 net/mac80211/main.c tx_sk_pacing_shift]
WIFI_TSQ = "8ms"
STACKS_WITHOUT_WIFI_TSQ = ("linux-4.14",)

#: What a Wi-Fi cell is called where there is one; of several, each has a number behind it.
CELL = AIR

#: Where 802.11n and its successors are at home; 2.4 GHz is written where it is meant.
BAND: Final = "5GHz"
#: The standard's mandatory guard interval; the short one is an option of both ends.
GUARD = "800ns"
#: No hardware in particular.
DRIVER = "generic"
#: A clean channel, data without an announcement, an open network: what is added is written.
LOSS = "0%"
STREAMS = None
SNR = None
DISTANCE = None
RATE_CONTROL = "fixed"
RTS = False
ENCRYPTION: Final = "open"

#: A receiving application is woken for any data. [linux-6.12 sock.c sock_init_data_uid]
RCVLOWAT = 1

#: One segment per skb, as in the testbeds of the papers; `on` is how hosts leave the box.
OFFLOADS: Final = "off"
OFFLOADS_KNOWN = (OFFLOADS, "gso", "on")

#: Nothing is assumed about distance: a delay is written where there is one.
DELAY = "0s"

#: Ethernet. [rfc894]
MTU = 1500

#: Descriptors of the transmit ring of common Ethernet drivers (`ethtool -g`: e1000e, igb, r8169 have 256).
RING = 256

#: Drivers of today have byte queue limits. [linux-6.12 dynamic_queue_limits.c]
BQL = True

#: One flow unless a number is given.
FLOWS = 1

#: A ping each 200 ms, the step of Flent's tests and of the papers.
PING_INTERVAL = "200ms"

#: 56 bytes of data and the 8 of the ICMP header, what ping sends by itself.
PING_SIZE = "64b"

PING_PROTOCOL: Final = "icmp"

#: The pings over UDP of Flent's tests: the smallest datagram of irtt, which carries sequence number and stamps.
UDP_PING_SIZE = "68b"

#: What fills the MTU of Ethernet.
DATAGRAM = "1472b"

#: What Flent's udp_flood offers.
FLOOD = "100mbit"

#: Packets carry no code point unless one is given: default forwarding. [rfc2474 §4.1]
DSCP = 0
IP: Final = 4
#: Controls of stacks that do not begin with `CC`.
STACK_CC = {"freebsd-9": "newreno"}

#: Everything begins with the run.
START = "0s"

#: Flows begin together unless they are spread. Spread them where repetitions are to differ.
JITTER = "0s"

#: Nothing is cut off unless asked for; `check` warns where slow start is measured along.
WARMUP = "0s"

#: Flent's and `ss`'s usual sampling step in the papers.
INTERVAL = "100ms"
TCP_INFO = "interval"

#: Drops, marks and state changes are few and always worth having.
EVENTS = True

#: One run, and a seed that says nothing was tuned.
REPEAT = 1
#: `until`: what is waited for, and between how many repetitions. Fewer than five have too uncertain a one.
REPEAT_QUANTITIES = ("goodput", "rtt")
REPEAT_LEAST = 5
REPEAT_MOST = 30
SEED = 1
