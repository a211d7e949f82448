"""Packet captures from any program: pcap and pcapng files as tables of packets, and as results.

One capture gives goodput (acknowledged bytes), retransmissions and pings. Two captures from both ends of a path also
give one-way delay (with synchronised clocks) and passive RTT (`analysis.passive`).
"""

from tailback.formats.pcap.importing import import_files
from tailback.formats.pcap.packets import Packets, packets

__all__ = ["Packets", "import_files", "packets"]
