"""packetdrill scripts over the simulator's TCP or that of a real kernel: packets and calls are played by the core or by
the agent in a guest, the code of a script is evaluated here.
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
