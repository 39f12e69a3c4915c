"""A plan of NADA's demonstration network on four boards, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.cluster import Plan, plan, plan_json
from dse.cluster.plan_file import write_plan


@pytest.fixture(scope="session")
def demo_plan() -> Plan:
    return plan("nada_demo", "nada", nodes=4, reading="nada", seconds=10, gap=0.5)


@pytest.fixture(scope="session")
def demo_file(demo_plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    write_plan(plan_json(demo_plan), path)
    return path
