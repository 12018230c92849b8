"""What is delivered equals what a brute-force oracle says, in every deployment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.session.deployments import NAMES, Network, network
from tests.session.questions import Questions
from tests.session.workload import Workload


@pytest.fixture(scope="module", params=NAMES)
def deployment(request: pytest.FixtureRequest) -> Iterator[Network]:
    with network(request.param) as running:
        yield running


def run(deployment: Network, seed: int, rounds: int, messages: int) -> Workload:
    with deployment.sessions() as opened:
        workload = Workload(opened, seed)
        workload.declare()
        workload.publish(messages)
        for _ in range(rounds):
            workload.move()
            workload.publish(messages)
        return workload


def test_everybody_gets_exactly_what_lies_in_its_area(deployment: Network) -> None:
    seed = 3
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    workload = run(deployment, seed, rounds=2, messages=400)
    assert workload.triples > 20_000
    assert workload.delivered > 800, "a workload that hardly delivers anything proves little"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 112))
def test_so_it_is_in_long_campaigns(deployment: Network, seed: int) -> None:
    run(deployment, seed, rounds=5, messages=400)


def ask(deployment: Network, seed: int, rounds: int, gets: int) -> Questions:
    with deployment.sessions() as opened:
        questions = Questions(opened, seed)
        questions.declare()
        questions.ask(gets)
        for _ in range(rounds):
            questions.move()
            questions.ask(gets)
        return questions


def test_a_get_reaches_exactly_the_queryables_whose_area_meets_it(deployment: Network) -> None:
    seed = 5
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    questions = ask(deployment, seed, rounds=1, gets=60)
    assert questions.asked > 3000
    assert questions.answered > 100, "gets that hardly anybody answers prove little"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 206))
def test_so_it_is_with_gets_in_long_campaigns(deployment: Network, seed: int) -> None:
    ask(deployment, seed, rounds=4, gets=250)
