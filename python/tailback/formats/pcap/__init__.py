"""Packet captures from any program: pcap and pcapng files as tables of packets, and as results.

One capture gives goodput (acknowledged bytes), and, made at the sender, RTT, retransmissions and pings. Two captures
from both ends of a path also give one-way delay (with synchronised clocks) and passive RTT (`analysis.passive`).
"""

from tailback.formats.pcap.choosing import Choice
from tailback.formats.pcap.importing import import_captures, import_files
from tailback.formats.pcap.packets import Packets, packets
from tailback.formats.pcap.report import Captured, Row

__all__ = ["Captured", "Choice", "Packets", "Row", "import_captures", "import_files", "packets"]
