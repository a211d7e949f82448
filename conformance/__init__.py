"""Conformance: compares Tailback with runs of a real kernel (`judge`), a real `tc` (`tc`), packetdrill scripts
(`drill`)."""
