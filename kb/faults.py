"""Named points of the write protocol at which a test may kill the process."""

from __future__ import annotations

import os
import signal
from itertools import count

POINTS = (
    "publish.begin",
    "publish.staged",
    "publish.indexed",
    "publish.committed",
    "publish.viewed",
    "garbage.begin",
    "garbage.index",
    "garbage.rows",
    "open.recovering",
    "rebuild.cleared",
    "delete.committed",
    "purge.dropped",
    "purge.vacuumed",
)
"""Every point, in the order of a publication."""

_wanted, _, _nth = os.environ.get("KB_FAULT_POINT", "").partition(":")
_counter = count(1)


def reach(point: str) -> None:
    """Kill this process if `KB_FAULT_POINT` names the point (`name` or `name:3` for the third)."""
    if point == _wanted and next(_counter) >= int(_nth or 1):
        os.kill(os.getpid(), signal.SIGKILL)
