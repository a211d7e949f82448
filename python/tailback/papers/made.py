"""The line that generated pages of a clone begin with: which command made them, at which commit."""

import subprocess
from pathlib import Path

CLONE = Path(__file__).resolve().parents[3]


def made(command: str) -> str:
    """The line above a generated table."""
    words = ["git", "describe", "--always", "--dirty= with changes", "--exclude=*"]
    found = subprocess.run(words, cwd=CLONE, capture_output=True, text=True, check=False)
    commit, _, changes = found.stdout.strip().partition(" ")
    return f"*Made by `{command}` at commit `{commit or 'unknown'}`{changes and f' {changes}'}.*"
