"""Model families, and what they share.

To add one: a module with a subclass of ``dse.ParallelismModel`` (or of ``TiledModel``), and one entry in ``FAMILIES``;
or, from another package, an entry point of the group ``dse.families``. The contract tests find it by itself.
"""

from typing import NamedTuple

__all__ = ["FAMILIES", "FamilyEntry"]


class FamilyEntry(NamedTuple):
    """What is to be said of a family without importing it."""

    target: str
    """Module and class."""
    title: str
    reference: str
    """The papers that it follows."""


FAMILIES: dict[str, FamilyEntry] = {
    "batch": FamilyEntry(
        "dse.models.batch:Batch",
        "batch-level parallelism",
        "DarkFPGA (Luo et al., FCCM 2019; J. Semicond. 41(2), 2020)",
    ),
    "feature_map": FamilyEntry(
        "dse.models.feature_map:FeatureMap",
        "feature-map-level parallelism",
        "EF-Train section 2.3; Venkataramanaiah et al. (FPL 2019)",
    ),
    "channel": FamilyEntry(
        "dse.models.channel:Channel",
        "channel-level parallelism",
        "EF-Train (Tang et al., ACM TODAES 27(5), 2022)",
    ),
    "hybrid": FamilyEntry(
        "dse.models.hybrid:Hybrid",
        "parallelism on any of samples, channels, rows and columns",
        "the designs of the families that it contains",
    ),
}
"""Family name -> entry, in report order; imported when first used."""
