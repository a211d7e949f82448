"""The simulator's Wi-Fi beside a real kernel's TCP over an exactly known 802.11 cell."""
