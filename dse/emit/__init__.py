"""Writing the RTL of a point that a search found, with everything that simulation and synthesis tools need."""

from dse.emit.choice import Choice, choose
from dse.emit.design import Design, design_of, load_design
from dse.emit.files import emit

__all__ = ["Choice", "Design", "choose", "design_of", "emit", "load_design"]
