from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import zenoh_la
from tests.figures import KEPT, Figures

# `make test` gives the same answer twice; `make test-all` looks for new examples every time.
settings.register_profile(
    "default",
    deadline=None,  # machines are noisy: speed is measured in benchmarks, not here
    max_examples=150,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long", settings.get_profile("default"), max_examples=1500, derandomize=False
)
settings.load_profile(os.environ.get("ZLA_HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session", autouse=True)
def _tests_what_it_says() -> None:
    """`make test-wheel` means the installed package, not the work tree beside the tests."""
    if os.environ.get("ZLA_TEST_INSTALLED"):
        assert "site-packages" in Path(zenoh_la.__file__).parts


def pytest_configure(config: pytest.Config) -> None:
    config.stash[KEPT] = Figures()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    config.stash[KEPT].show(terminalreporter)


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """What a test measures, shown at the end of the run."""
    return request.config.stash[KEPT]
