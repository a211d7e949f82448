"""Packet captures from any program: pcap and pcapng files as tables of packets, and as results.

What needs one capture: goodput (acknowledged bytes), retransmissions, pings. What needs two, taken at both ends of a
path: one-way delay, by clocks that agree, and passive RTT (`analysis.passive`).
"""

from tailback.formats.pcap.importing import import_files
from tailback.formats.pcap.packets import Packets, packets

__all__ = ["Packets", "import_files", "packets"]
