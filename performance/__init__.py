"""What a run costs, counted in instructions: `python -m performance.report` (docs/performance.md)."""
