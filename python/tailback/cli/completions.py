"""What the shell offers after TAB: names of the registries, experiments, and files.

`tailback --install-completion` sets the shell up. Each function takes what is typed so far and imports only what it
needs, because the user waits for it.
"""

from collections.abc import Callable
from pathlib import Path

Offer = Callable[[str], list[tuple[str, str]]]
"""From what is typed so far to names with a line of help each."""

KINDS = (
    "cc", "qdisc", "driver", "stack", "sysctl", "preset", "metric", "plot", "experiment", "backend", "table",
    "warning", "word",
)  # fmt: skip
"""What `tailback list` lists."""

YAML = (".yaml", ".yml")


def of(*kinds: str) -> Offer:
    """Offers the names that `tailback list` has for these kinds."""

    def offer(incomplete: str) -> list[tuple[str, str]]:
        from tailback.cli import listings

        rows = [row for kind in kinds for row in listings.listed(kind)]
        return [(name, text) for name, text in rows if name.startswith(incomplete)]

    return offer


def kinds(incomplete: str) -> list[str]:
    """Offers what `tailback list` lists."""
    return [kind for kind in KINDS if kind.startswith(incomplete)]


def experiments(incomplete: str) -> list[tuple[str, str]]:
    """Offers experiment files and folders that exist, then the experiments that come with Tailback."""
    return [*_paths(incomplete), *of("experiment")(incomplete)]


def words(incomplete: str) -> list[str]:
    """Offers everything that `tailback explain` knows."""
    from tailback.cli import listings, topics

    named = [name for kind in ("cc", "qdisc", "driver", "stack", "metric") for name, _ in listings.listed(kind)]
    return sorted({word for word in (*named, *topics.names()) if word.startswith(incomplete)})


def backends(incomplete: str) -> list[tuple[str, str]]:
    """Offers the backends."""
    from tailback.backends import TEXTS

    return [(name, text.partition(".")[0]) for name, text in TEXTS.items() if name.startswith(incomplete)]


def _paths(incomplete: str) -> list[tuple[str, str]]:
    """Folders and YAML files that begin with what is typed."""
    folder = Path(incomplete).parent if not incomplete.endswith("/") else Path(incomplete)
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return []
    written = [f"{path}/" if path.is_dir() else str(path) for path in found if path.is_dir() or path.suffix in YAML]
    return [(path, "") for path in written if path.startswith(incomplete) and not Path(path).name.startswith(".")]
