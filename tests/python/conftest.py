"""The settings of all tests. `pytest --times=200` runs each property with 200 times its cases (`make properties`)."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from properties import USUALLY


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", type=int, default=1, help="try each property with so many times its cases")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    # One more than there are processors: tests of whole programs wait, and another may run meanwhile.
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    # A shell that runs `make test` in the background has it ignore Ctrl-C, and a child inherits that: a test that
    # interrupts a program would wait for ever. A handler of our own is not inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # No deadline, and nothing is too slow: no test depends on the speed of the machine.
    settings.register_profile(
        "tailback",
        max_examples=USUALLY * config.getoption("--times"),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("tailback")
