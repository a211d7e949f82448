"""What Tailback is compared with: runs of a real kernel, later ACK scripts and published packet traces."""
