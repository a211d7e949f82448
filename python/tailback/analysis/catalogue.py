"""Writes the page `docs/metrics.md` from the registry of metrics; a test compares the two."""

from tailback.analysis.metric import SAMPLING, Metric
from tailback.analysis.registry import METRICS

HEAD = """# Metrics

This page defines every metric that Tailback computes, with its unit and source. `make metrics` writes it from the
[registry](../python/tailback/analysis/registry.py) and the docstrings of the functions that it names.

Metrics cover the measurement window ([`measure`](experiment/measure.md)). In `summary.json`, a metric with many
samples is `{n, mean, min, p1, p5, p10, p25, p50, p75, p90, p95, p99, p99.9, max}`; percentiles interpolate linearly
between order statistics. `goodput_mbps` has `total`, `up`, `down`, and a value for each flow in `flows`. Unknown values
are absent, never 0; the functions return `None` for them. `measure.interval` changes no metric, except where its
definition says so. Tables, comparisons and figures show a p99 only where at least ten samples lie beyond it, that is,
from 1000 on. Keys in brackets refer to
[references/sources.toml](../references/sources.toml).

The option `--metric`, bounds such as `ping p99 < 30ms` and the [commands that answer questions](questions.md) take a
name or a key of this page, or a path in `summary.json`. A metric with many samples takes a statistic, too
(`ping p99.9`); without one, its median is meant. Where each flow, device or direction has a value of its own
(`udp_loss`, `sojourn_ms`), the worst is meant: the highest loss, delay or utilisation, the lowest rating or MOS.
"""


def as_markdown() -> str:
    """The page `docs/metrics.md`."""
    return HEAD + "".join(map(_section, METRICS.values()))


def _section(row: Metric) -> str:
    where = f"`{row.key}` in `summary.json`" if row.key else "a table"
    facts = [where, f"unit: {row.unit or 'none'}"]
    if row.tables:
        facts.append(f"from: {', '.join(f'`{table}`' for table in row.tables)}")
    code = f"`tailback.{row.place}`"
    heading = row.name[0].upper() + row.name[1:]
    text = f"\n## {heading}\n\n{' · '.join([*facts, code])}\n\n{row.definition}\n\n"
    if row.sampling in SAMPLING:
        text += f"{SAMPLING[row.sampling]}\n\n"
    return f"{text}Source: {row.source}\n"


def main() -> None:
    """Prints the page."""
    print(as_markdown(), end="")


if __name__ == "__main__":
    main()
