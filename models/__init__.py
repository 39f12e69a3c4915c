"""Model families, and what they share.

To add one: a module with a subclass of ``dse.ParallelismModel`` (or of ``TiledModel``), and one line in ``FAMILIES``;
or, from another package, an entry point of the group ``dse.families``. The contract tests find it by itself.
"""

__all__ = ["FAMILIES"]

FAMILIES: dict[str, str] = {
    "batch": "dse.models.batch:Batch",
    "feature_map": "dse.models.feature_map:FeatureMap",
    "channel": "dse.models.channel:Channel",
}
"""Family name -> module and class, in report order; imported when first used."""
