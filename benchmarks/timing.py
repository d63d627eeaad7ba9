"""Time several ways of doing one thing, in turns.

``torch.utils.benchmark`` measures one way after the other, so that a program that starts in between
slows down only one of them. In turns, all are slowed down alike.
"""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass
class Times:
    """Times of the runs of one contender, in seconds.

    Attributes:
        processor: processor time of the process, which other programs do not change.
        wall: wall time.
    """

    processor: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


def alternate(contenders: Mapping[str, Callable[[], object]], runs: int) -> dict[str, Times]:
    """Run all contenders in turns, in alternating order, each once before it is timed."""
    times = {name: Times() for name in contenders}
    for contender in contenders.values():
        contender()
    for turn in range(runs):
        for name in list(contenders)[:: 1 if turn % 2 == 0 else -1]:
            gc.collect()  # garbage of the others
            processor, wall = time.process_time(), time.perf_counter()
            contenders[name]()
            times[name].processor.append(time.process_time() - processor)
            times[name].wall.append(time.perf_counter() - wall)
    return times


def ratio(times: list[float], others: list[float]) -> float:
    """Return the median over the runs of the ratio of two contenders' times."""
    pairs = zip(times, others, strict=True)
    return statistics.median(time / other for time, other in pairs)
