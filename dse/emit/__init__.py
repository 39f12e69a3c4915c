"""Writing the RTL of a point that a search found, with everything that simulation and synthesis tools need."""

from dse.emit.choice import Choice, choose, finalists, task, winners
from dse.emit.design import Design, design_of, load_design
from dse.emit.files import emit
from dse.emit.ranking import Ranked, Ranking, rank

__all__ = [
    "Choice",
    "Design",
    "Ranked",
    "Ranking",
    "choose",
    "design_of",
    "emit",
    "finalists",
    "load_design",
    "rank",
    "task",
    "winners",
]
