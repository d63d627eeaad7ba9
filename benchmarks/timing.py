"""Time several ways of doing one thing, in turns.

``torch.utils.benchmark`` measures one way after the other, so that a neighbour who comes to the
machine in between counts against one of them only. Here all ways meet the same neighbours.
"""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass
class Times:
    """How long the runs of one contender took, in seconds.

    Attributes:
        processor: time that the process spent computing. With one thread this is what a quiet
            machine would take; that it is busy with something else as well is not counted.
        wall: time that went by.
    """

    processor: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


def alternate(contenders: Mapping[str, Callable[[], object]], runs: int) -> dict[str, Times]:
    """Run all contenders in turns, one way round and then the other.

    Args:
        contenders: what to time, by name. Each runs once before anything is timed.
        runs: how often each is timed.

    Returns:
        The times of each, run by run.
    """
    times = {name: Times() for name in contenders}
    for contender in contenders.values():
        contender()
    for turn in range(runs):
        for name in list(contenders)[:: 1 if turn % 2 == 0 else -1]:
            gc.collect()  # of what others have left
            processor, wall = time.process_time(), time.perf_counter()
            contenders[name]()
            times[name].processor.append(time.process_time() - processor)
            times[name].wall.append(time.perf_counter() - wall)
    return times


def ratio(times: list[float], yardstick: list[float]) -> float:
    """Return the median over the runs of a contender's time in times of the yardstick's."""
    pairs = zip(times, yardstick, strict=True)
    return statistics.median(time / unit for time, unit in pairs)


def spread(times: list[float]) -> tuple[float, float, float]:
    """Return the least, the median and the largest time."""
    return min(times), statistics.median(times), max(times)
