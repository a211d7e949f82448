"""The words of the field that tables, messages and pages use without saying what they mean."""

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "ack": "Acknowledgement: a TCP segment that says up to which byte the receiver has all data.",
    "aimd": (
        "Additive increase, multiplicative decrease: without losses the window grows by one segment per round trip, "
        "and a loss halves it, as in `reno`. Over time the window is a sawtooth; flows with one round-trip time "
        "approach equal shares. See it: one flow with `cc: reno` through a `pfifo`, then `tailback plot DIR -p "
        "cwnd`.\n\n"
        "Source: [rfc5681 §3.1]"
    ),
    "airtime": (
        "Time for which a Wi-Fi channel carries frames. Where the driver of the access point has airtime fairness, "
        "stations get equal airtime, so that a slow one does not slow down the others; elsewhere they get turns. "
        "`tailback list driver` says which driver has it, `tailback plot DIR -p airtime` draws the shares."
    ),
    "ampdu": (
        "Aggregated MPDU: several frames (MPDUs) that a Wi-Fi sender transmits with one preamble as one PPDU. "
        "Long A-MPDUs need packets that wait, which costs latency. `ampdu_mpdus` is the number of MPDUs in each."
    ),
    "amsdu": (
        "Aggregated MSDU: several packets in one MPDU, which is lost or acknowledged as a whole. The option `amsdu` "
        "of drivers whose firmware builds them sets how many."
    ),
    "aql": "Airtime queue limit of mac80211: the estimated airtime of packets that a driver may hold for a station.",
    "aqm": (
        "Active queue management: a queue discipline that drops or marks packets before its queue is full, such "
        "as codel, fq_codel or cake. `tailback list qdisc` lists them."
    ),
    "backlog": "Bytes or packets that wait in a queue discipline. `tailback plot DIR -p queue` draws it over time.",
    "bdp": (
        "Bandwidth-delay product: rate times round-trip time of a path without queues. So much data in flight "
        "fills the link; all beyond it waits in a queue."
    ),
    "blockack": (
        "One Wi-Fi frame that acknowledges each MPDU of an A-MPDU by itself. Its window, 64 MPDUs or with 802.11ax "
        "256, limits how far a sender may be ahead of an MPDU that was lost."
    ),
    "bql": (
        "Byte queue limits: Linux lets a wired network card hold only as many bytes as keep it busy; the rest "
        "waits in the queue discipline."
    ),
    "bufferbloat": (
        "High latency under load, because large buffers before a slow link are full. TCP fills any buffer until a "
        "packet is dropped or marked. Remedies are AQM and fair queueing (`fq_codel`, `cake`), small limits below "
        "TCP (TSQ) and controls that keep queues short (`bbr`). Try it: `tailback new home-link`, `tailback new "
        "lab`.\n\n"
        "Source: [rfc8289 §1]"
    ),
    "ce": "Congestion experienced: the ECN mark that a queue discipline sets in a packet instead of dropping it.",
    "congestion avoidance": (
        "What TCP does at or above ssthresh: the window grows slowly, by the control's own law; in `reno` by one "
        "segment per round trip. Below ssthresh it is in slow start.\n\nSource: [rfc5681 §3.1]"
    ),
    "cwnd": (
        "Congestion window: the number of segments that TCP may have in flight. The congestion control sets it; "
        "`ss -ti` prints it."
    ),
    "docsis": (
        "The standard of cable modems. A modem counts frames with 18 bytes of overhead and at least 64 bytes: `cake "
        "docsis`. On the way up it asks for the channel before it sends, which adds delay."
    ),
    "dscp": (
        "Differentiated services code point: six bits in the IP header that name the class of a packet, such as "
        "EF for calls. Disciplines such as pfifo_fast, cake and Wi-Fi drivers read it."
    ),
    "ecn": (
        "Explicit congestion notification: a discipline marks packets (CE) instead of dropping them, and the "
        "receiver tells the sender."
    ),
    "edca": (
        "Enhanced distributed channel access: Wi-Fi's contention for the channel, with four access categories (voice, "
        "video, best effort, background), which differ in waiting time, contention window and TXOP."
    ),
    "fairness": (
        "How evenly flows share a bottleneck. Controls of one kind at one round-trip time mostly share evenly "
        "behind a FIFO; a longer round-trip time or a more cautious control gets less. Fair queueing (`fq_codel`, "
        "`cake`) serves flows in turn, whatever their controls do. Jain's index is one number for it: 1 if all are "
        "equal, 1/n if one of n has everything. See it: `run --by flow`, `plot -p shares`, `tailback duel cubic "
        "bbr`, `tailback new sharing`, `tailback new parking-lot`.\n\n"
        "Source: [rfc5166 §2.3]"
    ),
    "fct": "Flow completion time: from connect() to the last acknowledged byte of a flow of a given size.",
    "gro": "Generic receive offload: the receiver joins segments that arrive together before TCP sees them.",
    "gso": "Generic segmentation offload: TCP hands down buffers of several segments, which are cut before the card.",
    "ifb": (
        "Intermediate functional block: a device of Linux through which arriving packets go, so that a discipline "
        "can shape them (ingress shaping). Here a host before the router does it, on its link to the router:\n\n"
        "    links:\n"
        "      - {ends: [laptop, router], rate: 1gbit}\n"
        "      - {ends: [router, wan]}                              # without a rate: the router's side of the modem\n"
        "      - {ends: [wan, modem], rate: [10mbit, 50mbit], delay: 8ms}\n"
        "    qdiscs:\n"
        "      wan -> modem: cake bandwidth 9mbit dual-srchost      # egress\n"
        "      wan -> router: cake bandwidth 45mbit ingress dual-dsthost    # what arrives, as on ifb"
    ),
    "hystart": (
        "Hybrid slow start: it ends slow start before the buffer overflows. It does so when the ACKs of a round "
        "come as a train as long as the path, or when the round-trip time grows. Without it slow start ends by "
        "losing up to a window. CUBIC has it switched on; `cc: cubic hystart 0` switches it off.\n\n"
        "Source: [hystart], [linux-6.12 tcp_cubic.c hystart_update]"
    ),
    "incast": (
        "Many servers answer one client at the same moment, and the port of its switch overflows. Flows lose whole "
        "windows, wait for a retransmission timeout of 200 ms where the path has 0.1 ms, and goodput collapses. "
        "Remedies are marks at a short queue (`dctcp` over `codel ce_threshold 80us`), a larger buffer, or a "
        "shorter timeout. Try it: `tailback new datacenter`.\n\n"
        "Source: [rfc8257 §1]"
    ),
    "jain": (
        "Jain's fairness index of goodputs x: (Σx)² / (n · Σx²), 1 if all n flows get the same, 1/n if one gets "
        "everything. 0.9 with two flows is two thirds against one third.\n\nSource: [jain1984]"
    ),
    "jitter": (
        "Variation of delay: of a link (`jitter` in netem's words), of the start of flows, or of a call's packets."
    ),
    "l4s": (
        "Low latency, low loss and scalable throughput, an architecture of the IETF. Senders that cut their rate in "
        "proportion to the share of ECN marks say so by ECT(1) in their packets, and a discipline of two coupled "
        "queues marks these early, in a queue of their own; `tailback list qdisc` has it. No control here sends "
        "ECT(1): `dctcp` cuts in proportion, but sends ECT(0) as Linux's does, which is the mark of classic "
        "senders; `codel ce_threshold 1ms` marks it early.\n\n"
        "Source: [rfc9331 §4], [rfc9332]"
    ),
    "mac80211": (
        "The part of Linux between the network stack and the Wi-Fi drivers: queues per station with FQ-CoDel, airtime "
        "fairness, AQL, block-ack sessions, and Minstrel-HT."
    ),
    "minstrel": (
        "Minstrel-HT, mac80211's rate control: it counts which share of the frames of each mode arrives, probes other "
        "modes now and then, and sends in the mode with most goodput. `rate: minstrel` of a cell selects it."
    ),
    "mos": (
        "Mean opinion score of a call, from 1 (bad) to 4.5, estimated from loss and delay by the E-model of ITU-T "
        "G.107."
    ),
    "mpdu": "One frame of Wi-Fi's MAC layer, usually one IP packet. Several form an A-MPDU.",
    "mss": "Maximum segment size: the most bytes of data that one TCP segment carries.",
    "mtu": "Maximum transmission unit: the longest IP packet of a link, 1500 bytes on Ethernet.",
    "pacing": "TCP sends at a rate instead of in bursts. `bbr` sets that rate; `fq` or TCP's own timer keeps to it.",
    "ppdu": "One transmission on a Wi-Fi channel: a preamble and one MPDU or an A-MPDU.",
    "qdisc": (
        "Queue discipline: decides in which order the packets of a device are sent, and which are dropped. "
        "`tailback list qdisc` lists them; `qdiscs:` puts them on devices."
    ),
    "rack": (
        "Recent acknowledgement: TCP takes a segment for lost when one sent later was delivered and some time has "
        "passed."
    ),
    "rpm": "Round trips per minute under load: 60 s divided by the round-trip time, a measure of responsiveness.",
    "rto": "Retransmission timeout: TCP sends again when no acknowledgement has come for this time.",
    "rtt": (
        "Round-trip time. `ping` is that of small packets of their own; `TCP RTT` is what the sender's TCP "
        "measures for its own segments, including the time in its own queues. `tailback explain tcp_rtt_ms` "
        "defines the metric."
    ),
    "sack": "Selective acknowledgement: the receiver also names data that it has beyond a gap.",
    "sawtooth": (
        "The shape of a window that grows steadily and is cut by each loss. The queue before the bottleneck has it, "
        "too: `tailback plot DIR -p cwnd`, `-p queue`. `tailback explain aimd` says where it comes from."
    ),
    "slow start": (
        "How a connection begins, and goes on after a timeout: the window grows by one segment per acknowledged "
        "segment, so it doubles each round trip, until a loss, until ssthresh, or until `hystart` ends it. To see it, "
        "take a short `measure: {interval: 10ms}` and `tailback plot DIR -p cwnd`; `measure.warmup` leaves it out of "
        "the statistics.\n\nSource: [rfc5681 §3.1]"
    ),
    "slowdown": "Completion time of a flow divided by the shortest time that its path allows.",
    "sojourn": "The time that a packet spends in a queue. CoDel's law works on it.",
    "sqm": (
        "Smart queue management, OpenWrt's name for shaping both directions of an access link a little below its rate, "
        "so that the queue is in the router, where cake or fq_codel keeps it short. `tailback explain ifb` has an "
        "experiment with it."
    ),
    "srtt": "Smoothed round-trip time: TCP's mean of its RTT samples, with weight 1/8 for the newest.",
    "ssthresh": "Slow-start threshold: below it, cwnd doubles each round trip; above it, the control's own law holds.",
    "tlp": (
        "Tail loss probe: if acknowledgements stop, TCP sends one more segment to find a loss at the end of the data."
    ),
    "tso": "TCP segmentation offload: the network card cuts large buffers into segments.",
    "txop": "Transmit opportunity: the time for which a Wi-Fi sender may use the channel once it has won it.",
}
"""Definition by word, in small letters."""

SAME: Mapping[str, str] = {
    "airtime fairness": "airtime",
    "atf": "airtime",
    "nss": "streams",
    "packet loss": "loss",
    "small queues": "tsq",
    "spatial streams": "streams",
    "tcp small queues": "tsq",
    "wmm": "edca",
}
"""The word that is explained, by another one for it, in small letters."""
