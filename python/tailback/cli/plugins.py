"""Whether pydantic looks for plugins."""

import os


def look_for_none() -> None:
    """Keeps pydantic from looking through all installed packages for plugins, which takes 8 ms: Tailback has none. A
    value that the user sets remains.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
