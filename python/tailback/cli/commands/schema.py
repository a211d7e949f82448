"""`tailback schema`: the format of experiment files, for editors."""


def schema() -> None:
    """Print the JSON Schema of experiment files, for editors."""
    from tailback import scenario
    from tailback.cli import show

    show.document(scenario.json_schema())
