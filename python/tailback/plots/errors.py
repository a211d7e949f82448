"""Errors of plotting."""


class NotDrawable(Exception):
    """The plot cannot be drawn from these results, or not in this format; the message has the remedy."""


TO_RECORD = {
    "goodput": "add a flow to `traffic`, such as `{tcp: client -> server}`, and run again",
    "tcp": "add a TCP flow to `traffic`, such as `{tcp: client -> server}`, and run again",
    "ping": "add a ping to `traffic`, such as `{ping: client -> server}`, and run again",
    "pages": "add a page to `traffic`, such as `{page: client -> server}`, and run again",
    "requests": "add requests to `traffic`, such as `{request: client -> server, answer: 100kb}`, and run again",
    "sizes": "give a TCP flow of `traffic` a size, such as `{tcp: client -> server, size: 100kb, arrivals: poisson "
    "10/s}` or `bytes: 1mb`, and run again",
    "wifi": "the experiment needs a Wi-Fi cell, such as `links: [{wifi: {ap: router, stations: [laptop]}}]`",
    "sharing": "it needs two flows in one direction, such as `{tcp: client -> server, flows: 2}` in `traffic`",
    "queue": "it needs a link with a rate, such as `links: [{ends: [client, server], rate: 20mbit}]`, and a flow that "
    "fills it",
}
"""What an experiment needs to record what a plot draws."""


def lacking(where: object, what: str, need: str) -> NotDrawable:
    """The error for results without what a plot draws; `need` is a key of `TO_RECORD`."""
    return NotDrawable(f"`{where}` has no {what}\n  hint: {TO_RECORD[need]}")
