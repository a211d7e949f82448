"""Compares the simulator's Wi-Fi with a real kernel's TCP over an emulated 802.11 cell with known parameters."""
