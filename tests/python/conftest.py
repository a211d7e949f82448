"""The settings of all tests. `pytest --times=200` runs each property with 200 times its cases (`make properties`).

Without `--times` a property tries the same cases each time, wherever and in whatever order the tests run: a defect that
a random case might find must not turn up in somebody else's change. Fresh cases are what `make properties` is for.
"""

import gc
import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from properties import USUALLY


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", type=int, default=1, help="try each property with so many times its cases")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    # One more than there are processors: tests of whole programs wait, and another may run meanwhile.
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tests and the modules that they import stay to the end. To search all of them for garbage again and again takes a
    fifth of their loading, and a tenth of what the tests do in this process.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# What no script can install: the kernel of the machine, its compiler, its user.
OF_THE_MACHINE = "Skipped: this machine"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test whose tool is absent is left out on a user's machine; on that of CI it fails."""
    report = yield
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        *_, reason = report.longrepr if isinstance(report.longrepr, tuple) else (report.longreprtext,)
        if not reason.startswith(OF_THE_MACHINE):
            report.outcome, report.longrepr = "failed", f"left out, which CI does not allow: {reason}"
    return report


def pytest_configure(config: pytest.Config) -> None:
    # A shell that runs `make test` in the background has it ignore Ctrl-C, and a child inherits that: a test that
    # interrupts a program would wait for ever. A handler of our own is not inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    times = config.getoption("--times")
    if times == 1:
        _draw_the_same_in_any_order()
    # No deadline, and nothing is too slow: no test depends on the speed of the machine.
    settings.register_profile(
        "tailback",
        max_examples=USUALLY * times,
        derandomize=times == 1,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("tailback")


def _draw_the_same_in_any_order() -> None:
    """Hypothesis also draws constants that it finds in our modules: in all that this process has imported so far, which
    depends on the tests that ran before. There is no setting for it.
    """
    if hasattr(providers, "_get_local_constants"):
        none_found = providers._local_constants
        providers._get_local_constants = lambda: none_found
