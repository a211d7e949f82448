"""What Tailback is compared with: runs of a real kernel (`judge`), its `tc` (`tc`), packetdrill scripts (`drill`)."""
