"""How long a search may go on: in the solver's deterministic time, which a loaded machine does not change, and seconds.

Work that ends by its own count gives the same plan every time; what the clock ends does not, and says so.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

__all__ = ["WORK_PER_S", "Budget"]

WORK_PER_S = 0.5
"""Units of work (CP-SAT's deterministic seconds and the steps beside them) planned for a second and a thread.

About two thirds of what a core that has nothing else to do gets through, so that the clock rarely comes first.
"""


@dataclass
class Budget:
    """``seconds`` on the clock, and the work that should fit into them with ``workers`` threads."""

    seconds: float
    workers: int
    spent: float = 0.0
    began_s: float = field(default_factory=time.monotonic)
    clock_ended: bool = False
    """Whether the clock, not the work, ended the search, so that another run may find another plan."""

    @property
    def left(self) -> float:
        """Work left; 0 once the clock has ended."""
        if time.monotonic() - self.began_s >= self.seconds:
            self.clock_ended = True
        return 0.0 if self.clock_ended else max(self.seconds * self.workers * WORK_PER_S - self.spent, 0.0)

    @property
    def left_s(self) -> float:
        """Seconds left on the clock."""
        return max(self.seconds - (time.monotonic() - self.began_s), 0.0)
