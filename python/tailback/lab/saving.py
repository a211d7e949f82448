"""A page of one setting that needs no server and no network, and simulates by itself: `tailback lab FILE --save PAGE`.

The page of the lab makes the same of the same parts (web/src/saving.ts).
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from tailback import sweep
from tailback.lab import setting, simulator
from tailback.lab.live import NotLive, live
from tailback.lab.picture import picture
from tailback.lab.setting import Place

__all__ = ["NotSaved", "Place", "write"]


class NotSaved(Exception):
    """There is nothing to save, or nowhere; the message says why."""


def write(to: Path, text: str, place: Place) -> str | None:
    """Writes the page of an experiment; returns why it cannot simulate, if it cannot. Raises `NotSaved`."""
    content, why = _page(text, place)
    try:
        to.write_text(content, encoding="utf-8")
    except OSError as error:
        raise NotSaved(f"cannot write {to}: {error.strerror}\n  hint: another name") from error
    return why


def _page(text: str, place: Place) -> tuple[str, str | None]:
    wanted = setting.Wanted(1, text)
    try:
        found = setting.read(wanted, place)
    except setting.Refused as refused:
        raise NotSaved("\n".join(_told(each) for each in refused.findings)) from refused
    outcomes, results = sweep.simulate(found.experiment, None, sweep.Silent())
    if wrong := [str(outcome.error) for outcome in outcomes if outcome.status != "ok"]:
        raise NotSaved(wrong[0])
    try:
        module, lively, why = simulator.letters(), live(wanted, found, place, lambda *_: None), None
    except (NotLive, simulator.NoSimulator) as error:
        module, lively, why = "", None, str(error)
    drawn = [{"name": "as saved", "picture": {**picture(results), "expect": []}}]
    return _filled(text, module, {"drawn": drawn, "log": None, "live": lively}), why


def _told(finding: Mapping[str, Any]) -> str:
    where = "" if finding["line"] is None else f"line {finding['line']}: "
    path = f"{finding['path']}: " if finding["path"] else ""
    return f"{where}{path}{finding['message']}\n  hint: {finding['hint']}"


def _filled(text: str, module: str, data: dict[str, Any]) -> str:
    def part(name: str) -> str:
        return (resources.files("tailback.lab") / "page" / name).read_text(encoding="utf-8")

    def inside(script: str) -> str:
        return script.replace("</script", "<\\/script")

    parts = {
        "title": html.escape(data["drawn"][-1]["picture"]["title"]),
        "text": html.escape(text),
        "data": json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        "code": inside(part("standalone.js")),
        "thread": inside(part("simulator.js")),
        "style": part("lab.css"),
        "simulator": module,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], part("saved.html"))
