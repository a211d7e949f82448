"""site.py FOLDER [--live]: writes the source of the documentation site to FOLDER; `make docs` then builds FOLDER/site.
With `--live`, each lab of the course has a page that simulates (`tailback lab FILE --save`).

FOLDER gets `mkdocs.yml` and `docs/`, in which all is plain Markdown: any generator that reads the configuration of
MkDocs can build it. We use Zensical, by the authors of Material for MkDocs, whose maintenance ends in May 2027.

One page per congestion control, queue discipline and driver from the registries of the simulator; the keys below each
top-level key of an experiment file from its models, at the end of its page; every command from the command line; the
functions of `import tailback`; the sources and deviations from `references/`; the notebook with its results. In written
pages, citations (`[rfc9438 §4.2]`) become links to the sources. A link to what a page is made of
(`../crates/cc/src`), which works in a clone, leads to that page (`PLACED`); links to other files outside `docs` become
their names.
"""

import base64
import inspect
import json
import posixpath
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer.main
import yaml
from typer.cli import get_docs_for_click

import tailback
from tailback import scenario
from tailback.algorithms import CoreRegistry
from tailback.cli import catalogue
from tailback.cli.app import app
from tailback.lab import saving
from tailback.scenario import stacks
from tailback.tc.rows import Row

ROOT = Path(__file__).parents[1]
SOURCES: Mapping[str, Mapping[str, Any]] = tomllib.loads((ROOT / "references" / "sources.toml").read_text("utf-8"))

CITATION = re.compile(r"(?<![\w`\]!])\[(?P<words>(?P<key>[a-z][a-z0-9.-]*)[^][`]*)\](?![(\[:])")
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^][]*(?:\[[^][]*\][^][]*)*)\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)

FAMILIES = {
    "controls": ("Congestion controls", "crates/cc/src", "cc"),
    "disciplines": ("Queue disciplines", "crates/qdisc/src", "qdisc"),
    "drivers": ("Wi-Fi drivers", "crates/wifi/src", "driver"),
}

COMPARED = {"controls": "congestion-controls.md"}
"""Hand-written pages about a family."""

PLACED = {
    "ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md",
    "docs/notebook.ipynb": "notebook.md",
    "crates/cc/src": "controls/index.md", "crates/qdisc/src": "disciplines/index.md",
    "crates/wifi/src/driver.rs": "drivers/index.md", "python/tailback/cli/commands": "reference/commands.md",
    "python/tailback/__init__.py": "reference/python.md", "references/deviations": "reference/deviations.md",
    "references/sources.toml": "reference/sources.md", "references/stacks.toml": "reference/stacks.md",
}  # fmt: skip
"""Pages that are made of files outside of `docs`, by the path that a link names in the repository."""

COPIED = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
"""Those whose text is that of the file."""


def main(folder: Path, *, live: bool) -> None:
    """Writes the source of the site."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = {**_written(), **_made()}
    if live:
        pages |= dict(_live(pages))
    for uri, content in pages.items():
        place = folder / "docs" / uri
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else _page(uri, content, pages.keys()).encode())
    configuration = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    configuration |= {"nav": list(_navigation(configuration["nav"]))}
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(configuration, sort_keys=False, allow_unicode=True), "utf-8")


def _written() -> dict[str, str | bytes]:
    """The pages and pictures of `docs`."""
    files = (file for file in sorted((ROOT / "docs").rglob("*")) if file.is_file() and file.suffix != ".ipynb")
    return {
        file.relative_to(ROOT / "docs").as_posix(): file.read_text("utf-8")
        if file.suffix == ".md"
        else file.read_bytes()
        for file in files
    }


def _live(pages: Mapping[str, str | bytes]) -> Iterator[tuple[str, str | bytes]]:
    """The page of each lab of the course with a link to one that simulates, and that one."""
    for uri, content in pages.items():
        if isinstance(content, str) and (lab := re.search(r"```sh\ntailback lab (labs/(\S+))\n```\n", content)):
            path = scenario.file_of(Path(lab[1]))
            here = Path(tempfile.mkdtemp()) / "page.html"
            if why := saving.write(here, path.read_text("utf-8"), saving.Place(path.parent, path.name, trust=False)):
                print(f"{uri}: its knobs cannot be turned: {why}", file=sys.stderr)
            else:
                yield f"course/live/{lab[2]}.html", here.read_bytes()
                link = f"\nOr [turn its knobs in your browser](live/{lab[2]}.html), without an installation.\n"
                yield uri, content.replace(lab[0], lab[0] + link)
            shutil.rmtree(here.parent)


def _navigation(nav: Sequence[Any]) -> Iterator[Any]:
    """The navigation, in which the name of a family stands for its pages."""
    for entry in nav:
        if not isinstance(entry, dict):
            yield entry
            continue
        [(title, value)] = entry.items()
        if isinstance(value, str) and value in FAMILIES:
            written = [{"Compared": COMPARED[value]}] if value in COMPARED else []
            pages = [{row.name: f"{value}/{row.name}.md"} for row in _rows(value)]
            yield {title: [f"{value}/index.md", *written, *pages]}
        else:
            yield {title: list(_navigation(value)) if isinstance(value, list) else value}


def _page(uri: str, markdown: str, pages: Collection[str]) -> str:
    """A page with links to files outside of the site as their names, and citations as links; code is unchanged."""
    here = posixpath.dirname(uri)
    made = next((place for place in COPIED if PLACED[place] == uri), None)
    # Where a link of this page is counted from, in the repository.
    base = posixpath.join("docs", here) if made is None else posixpath.dirname(made)

    def linked(match: re.Match[str]) -> str:
        return _linked(match, (base, here), pages)

    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _cited(LINK.sub(linked, part), here) for part in parts)


def _linked(match: re.Match[str], places: tuple[str, str], pages: Collection[str]) -> str:
    base, here = places
    target, hash_, anchor = match["target"].partition("#")
    if not target or re.match(r"[a-z]+:", match["target"]):
        return match[0]
    path = posixpath.normpath(posixpath.join(base, target))
    uri = PLACED.get(path, path.removeprefix("docs/") if path.startswith("docs/") else None)
    if uri is not None and uri in pages:
        return f"{match['image']}[{match['text']}]({posixpath.relpath(uri, here or '.')}{hash_}{anchor})"
    if (base.startswith("docs") and not path.startswith("docs/")) or uri is None:
        return match["text"] if match["text"].strip("`") != path else f"`{path}`"
    return match[0]


def _cited(text: str, here: str) -> str:
    """Converts `[rfc9438 §4.2]` to a link to its source."""

    def linked(match: re.Match[str]) -> str:
        if match["key"] not in SOURCES:
            return match[0]
        target = posixpath.relpath("reference/sources.md", here or ".")
        return f"[\\[{match['words']}\\]]({target}#{_anchor(match['key'])})"

    return CITATION.sub(linked, text)


def _made() -> dict[str, str | bytes]:
    pages: dict[str, str | bytes] = {
        **_keys(),
        "reference/commands.md": _commands(),
        "reference/sources.md": _sources(),
        "reference/deviations.md": _deviations(),
        "reference/stacks.md": _stacks(),
        "reference/python.md": _python(),
        **_notebook(),
    }
    for family in FAMILIES:
        rows = _rows(family)
        pages[f"{family}/index.md"] = _list(family, rows)
        pages |= {f"{family}/{row.name}.md": _algorithm(family, row) for row in rows}
    return pages | {PLACED[file]: (ROOT / file).read_text("utf-8") for file in COPIED}


def _rows(family: str) -> Sequence[Row]:
    registry = CoreRegistry()
    return {
        "controls": registry.congestion_controls, "disciplines": registry.qdiscs, "drivers": registry.drivers
    }[family]  # fmt: skip


def _list(family: str, rows: Sequence[Row]) -> str:
    title, _, word = FAMILIES[family]
    table = "".join(f"| [`{row.name}`]({row.name}.md) | {_escaped(row.summary)} |\n" for row in rows)
    return (
        f"# {title}\n\n`tailback list {word}` lists them; each page is the comment at the top of its source file.\n\n"
        f"| name | |\n|---|---|\n{table}"
    )


def _algorithm(family: str, row: Row) -> str:
    place = f"{FAMILIES[family][1]}/{row.name}.rs"
    code = f"\n\nIts code: `{place}`." if (ROOT / place).is_file() else ""
    parts = [
        f"# {row.name}\n\n{_escaped(row.summary[0].upper() + row.summary[1:])}.",
        _prose(row.source) + code,
        _use(family, row.name),
    ]
    for title, explanation in zip(("Parameters", "Of its classes"), catalogue.documented(row), strict=False):
        cells = (
            f"| `{each.name}` | {each.default} | {each.values} | {_escaped(each.meaning)} |"
            for each in explanation.parameters
        )
        if explanation.parameters:
            parts.append(f"## {title}\n\n| name | default | values | |\n|---|---|---|---|\n" + "\n".join(cells))
    return "\n\n".join(parts) + "\n"


def _use(family: str, name: str) -> str:
    examples = {
        "controls": f"cc: {name}                     # of the file, or of one flow",
        "disciplines": f"qdiscs:\n  client -> router: {name}      # root of that device; | puts a child under a shaper",
        "drivers": f"links:\n  - {{wifi: {{ap: router, stations: [client]}}, driver: {name}, ...}}",
    }
    return f"## In an experiment\n\n```yaml\n{examples[family]}\n```\n\n`tailback explain {name}` shows this page."


def _prose(source: str) -> str:
    """The comment at the top of a source file: formulas and aligned lines as code, sentences as text."""
    text = re.sub(r"^\[`[^\]]*`\]: .*$", "", source, flags=re.MULTILINE)
    text = re.sub(r"\[(`[^\]`]*`)\](?!\()", r"\1", text)
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n\s*\n", text.strip("\n")) if part.strip())


def _paragraph(part: str) -> str:
    if part.lstrip().startswith(("|", "```", "- ", "* ")):
        return part
    aligned = any(re.search(r"\S {3,}\S|^ {2,}\S|^\w[\w ]*: {2,}\S", line) for line in part.splitlines())
    return f'<div class="formulas" markdown>\n\n```text\n{part}\n```\n\n</div>' if aligned else _escaped(part)


def _escaped(text: str) -> str:
    """Text with all Markdown except code escaped."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([_<|])", r"\\\1", part) for part in parts)


def _keys() -> dict[str, str | bytes]:
    """The page of each top-level key of an experiment file: what is written about it, and its keys from the schema."""
    schema = scenario.json_schema()
    return {f"experiment/{key}.md": _key(key, field, schema["$defs"]) for key, field in schema["properties"].items()}


def _key(key: str, field: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    written = (ROOT / "docs" / "experiment" / f"{key}.md").read_text("utf-8")
    text = " ".join(field.get("description", "").split())
    facts = f"{_escaped(text)}{_examples(field)}\n\nTakes {_type(field)}."
    below = "".join(_model(name, models[name]) for name in _reached(field, models) if "properties" in models[name])
    return f"{written}\n## From the schema\n\n{facts}\n{below}"


def _reached(field: Any, models: Mapping[str, Any]) -> Sequence[str]:
    """The models that a part of the schema names, and those that they name."""
    found: dict[str, None] = {}
    waiting = [field]
    while waiting:
        part = waiting.pop()
        names = re.findall(r'"#/\$defs/(\w+)"', json.dumps(part))
        new = [name for name in dict.fromkeys(names) if name not in found]
        found |= dict.fromkeys(new)
        waiting += [models[name] for name in new]
    return list(found)


def _model(name: str, model: Mapping[str, Any]) -> str:
    required = set(model.get("required", ()))
    title = f"### {name}"
    rows = (
        f"| `{key}` | {_type(field)} | {'**required**' if key in required else _default(field)} "
        f"| {_escaped(' '.join(field.get('description', '').split()))}{_examples(field)} |"
        for key, field in model["properties"].items()
    )
    text = " ".join(model.get("description", "").split())
    return f"\n{title}\n\n{text}\n\n| key | takes | default | |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


def _type(field: Mapping[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    for union in ("anyOf", "oneOf"):
        if union in field:
            return " or ".join(dict.fromkeys(found for each in field[union] if (found := _type(each)) != "null"))
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}" if "items" in field else "list"
    if field.get("type") == "object":
        inside = field.get("additionalProperties")
        return f"mapping to {_type(inside)}" if isinstance(inside, Mapping) else "mapping"
    kinds = {"string": "text", "integer": "number", "boolean": "true, false"}
    kind = field.get("const", field.get("type", "anything"))
    return kinds.get(str(kind), ", ".join(kind) if isinstance(kind, list) else str(kind))


def _default(field: Mapping[str, Any]) -> str:
    default = field.get("default")
    return f"`{json.dumps(default)}`" if isinstance(default, str | int | bool) else ""


def _examples(field: Mapping[str, Any]) -> str:
    found = field.get("examples", ())
    written = ", ".join(f"`{each if isinstance(each, str) else json.dumps(each)}`" for each in found)
    return f" Such as {written}." if written else ""


def _commands() -> str:
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="tailback")
    text = get_docs_for_click(obj=command, ctx=context, name="tailback", title="Commands")
    # Their list cuts the sentences short.
    for name, each in getattr(command, "commands", {}).items():
        text = re.sub(rf"^\* `{name}`:.*$", f"* [`{name}`](#tailback-{name}): {each.help}", text, flags=re.MULTILINE)
    return text + (
        "\nExit status: 0 success; 1 a run failed, or output cannot be written; 2 the input is wrong; 130 interrupted."
        "\n"
    )


def _python() -> str:
    """The names of `import tailback`, with their signatures and docstrings; of a class also its public members."""
    intro = inspect.getdoc(tailback) or ""
    title, _, example = intro.partition("\n\n")
    parts = [f"# From Python\n\n{_escaped(title)}\n\n```python\n{example}\n```"]
    for name in tailback.__all__:
        parts.append(_documented(f"tailback.{name}", getattr(tailback, name), "##"))
    return "\n\n".join(parts) + "\n"


def _documented(name: str, thing: Any, heading: str) -> str:
    short = name.rpartition(".")[2]
    text = _escaped(inspect.getdoc(thing) or "")
    if not inspect.isclass(thing):
        signature = f"\n\n```python\n{short}{_signature(thing)}\n```" if callable(thing) else ""
        return f"{heading} `{name}`{signature}\n\n{text}"
    members = [
        _documented(f"{short}.{each}", member.fget if isinstance(member, property) else member, heading + "#")
        for each, member in vars(thing).items()
        if not each.startswith("_") and (isinstance(member, property) or inspect.isfunction(member))
        and inspect.getdoc(member)
    ]  # fmt: skip
    return "\n\n".join([f"{heading} `{name}`\n\n{text}", *members])


def _signature(function: Any) -> str:
    """The signature, without quotes around names of types and without `self`."""
    found = inspect.signature(function)
    kept = [each for name, each in found.parameters.items() if name != "self"]
    return str(found.replace(parameters=kept)).replace("'", "").replace("~", "")


def _sources() -> str:
    head = "# Sources\n\nThe sources of numbers and algorithms; citations begin with a key of this list.\n"
    return head + "".join(
        f'\n<a id="{_anchor(key)}"></a>**`{key}`** {_escaped(str(entry["title"]))}. <{entry["url"]}>\n'
        for key, entry in SOURCES.items()
    )


def _anchor(key: str) -> str:
    return key.replace(".", "-")


def _deviations() -> str:
    text = (
        "# Deviations\n\nDeliberate deviations of the simulator from its sources: what differs, why, and the effect on "
        "results. [Comparison with the kernel](../fidelity.md) has the numbers.\n"
    )
    for file in sorted((ROOT / "references" / "deviations").glob("*.toml")):
        entry = tomllib.loads(file.read_text("utf-8"))
        facts = {"Why": entry.get("why"), "Effect": entry.get("effect"), "From": entry.get("from")}
        described = " ".join(f"**{name}:** {_escaped(str(value))}" for name, value in facts.items() if value)
        title = file.stem.replace("_", " ").replace("-", " ")
        text += f"\n## {title}\n\n{_escaped(str(entry.get('what', '')))}\n\n{described}\n"
    return text


def _stacks() -> str:
    known = stacks.stacks()
    text = (
        "# Network stacks\n\nThe values of `stack` of a host, and the differences between the stacks, with their "
        "effects. `tailback explain linux-5.4` prints those of one stack.\n\n| stack | |\n|---|---|\n"
    )
    text += "".join(f"| `{stack.name}` | {_escaped(stack.summary)} |\n" for stack in known)
    for each in stacks.differences():
        text += f"\n## {each.key}\n\n{_escaped(each.what[0].upper() + each.what[1:])}.\n\n"
        for value, told in each.values.items():
            names = ", ".join(f"`{stack.name}`" for stack in known if stack.values[each.key] == value)
            text += f"- {names}: {_escaped(told)}\n"
        cited = " ".join(f"[{source}]" for source in each.sources)
        code = ", ".join(f"`{place}`" for place in each.where)
        text += f"\n**When:** {_escaped(each.since)} {cited}. **Effect:** {_escaped(each.effect)} **Code:** {code}\n"
    return text


def _notebook() -> dict[str, str | bytes]:
    document = json.loads((ROOT / "docs" / "notebook.ipynb").read_text("utf-8"))
    pages: dict[str, str | bytes] = {}
    parts = []
    for number, cell in enumerate(document["cells"]):
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        parts += [_output(output, (number, pages)) for output in cell.get("outputs", ())]
    pages["notebook.md"] = "\n\n".join(filter(None, parts)) + "\n"
    return pages


def _output(output: Mapping[str, Any], place: tuple[int, dict[str, str | bytes]]) -> str:
    number, pages = place
    data = output.get("data", {})
    if "image/png" in data:
        uri = f"pictures/notebook-{number}.png"
        pages[uri] = base64.b64decode("".join(data["image/png"]))
        return f"![Output of the cell above]({uri})"
    if "text/html" in data:
        html = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        return f'<div class="notebook-output">{"".join(_lines(html))}</div>'
    text = "".join(data.get("text/plain", output.get("text", ())))
    return f"```text\n{text.rstrip()}\n```" if text else ""


def _lines(html: str) -> Iterator[str]:
    """The lines of HTML without indentation and empty lines, which Markdown would interpret."""
    for line in html.splitlines():
        if line.strip():
            yield line.strip()


if __name__ == "__main__":
    main(Path(sys.argv[1]), live="--live" in sys.argv[2:])
