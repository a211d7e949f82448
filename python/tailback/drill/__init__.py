"""Runs packetdrill scripts against the simulator's TCP or that of a real kernel. The core, or the agent in a guest,
handles packets and calls; this package evaluates the Python code of scripts.
"""

from tailback.drill.report import Finding, Report, Verdict, as_document, status
from tailback.drill.session import Settings, WrongDrill, run_file, run_files, run_text

__all__ = [
    "Finding",
    "Report",
    "Settings",
    "Verdict",
    "WrongDrill",
    "as_document",
    "run_file",
    "run_files",
    "run_text",
    "status",
]
