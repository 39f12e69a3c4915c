"""Names of the samplers and search methods; importing this costs nothing."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["METHODS", "SAMPLERS"]

SAMPLERS: Mapping[str, str] = {
    "tpe": "tree-structured Parzen estimator: learns from every trial, slow per trial",
    "nsga2": "genetic algorithm NSGA-II, for one or several objectives",
    "random": "uniform over the encoded points that fit",
    "qmc": "scrambled Sobol sequence over the encoded points that fit",
}
"""Sampler name -> what it does."""

METHODS: Mapping[str, str] = {
    "optuna": "sample with Optuna, then prove how far that is from the optimum where the space permits",
    "exhaustive": "find the proven optimum by enumeration or branch and bound",
}
"""Search method -> what it does."""
