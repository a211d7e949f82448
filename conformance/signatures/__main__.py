"""`python -m conformance.signatures` writes conformance/results/signatures.md."""

from conformance.page import RESULTS, write_tables
from conformance.signatures import FILES, read, tables

PAGE = RESULTS / "signatures.md"


def main() -> None:
    """Writes the tables."""
    write_tables({name: tables(read(name)) for name in FILES}, PAGE, "python -m conformance.signatures")


if __name__ == "__main__":
    main()
