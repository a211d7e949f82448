"""packetdrill scripts over the simulator's TCP: a script's packets and calls are run by the core, its code here."""

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
