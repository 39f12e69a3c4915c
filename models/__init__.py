"""Model families, and what they share.

To add one: a module with a subclass of ``dse.ParallelismModel`` (or of ``TiledModel``), and one line in ``FAMILIES``;
or, from another package, an entry point of the group ``dse.families``. The contract tests find it by itself.
"""

from dse.model import ParallelismModel
from dse.models.batch import Batch
from dse.models.channel import Channel
from dse.models.feature_map import FeatureMap

__all__ = ["FAMILIES"]

FAMILIES: tuple[type[ParallelismModel], ...] = (Batch, FeatureMap, Channel)
"""Every family of this package, in report order."""
