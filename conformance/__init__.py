"""What Tailback is held against: runs of a real kernel, later ACK scripts and published packet traces."""
