"""What a session could not keep, and what it would not take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Losses:
    """Since the session was opened.

    Attributes:
        waiting: located messages that waited for a node and were given up, the oldest first.
        held: those that waited for the answer to a question for a route and were given up.
        refused: deliveries and gets that could not be right: somebody else's, or rubbish.
    """

    waiting: int
    held: int
    refused: int
