"""The report of a plan: its data, and a page that holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.cluster import Plan, plan_json
from dse.cluster.plan_file import simulation_json
from dse.reports.cluster import render_cluster, write_cluster_report
from dse.reports.cluster_data import edge_data, scaling_data, stage_data, timeline_data, usage_data


@pytest.fixture(scope="module")
def content(demo_plan: Plan) -> dict[str, Any]:
    return {**plan_json(demo_plan), "simulation": simulation_json(demo_plan)}


def test_placement_and_edges(content: dict[str, Any], demo_plan: Plan) -> None:
    stages, edges = stage_data(content), edge_data(content)
    assert list(stages["stage"]) == [stage.name for stage in demo_plan.table.graph.stages]
    assert stages["dsp"].sum() == pytest.approx(sum(node["used"]["dsp"] for node in content["nodes"]))
    for edge in edges.itertuples():
        ends = stages["node"][edge.source], stages["node"][edge.target]
        assert (ends[0] != ends[1]) == edge.crosses
        assert stages["depth"][edge.target] == stages["depth"][edge.source] + edge.crosses


def test_usage_and_scaling(content: dict[str, Any]) -> None:
    usage = usage_data(content)
    assert len(usage) == 4 * 7
    assert usage["share"].max() <= 1 + 1e-9
    infeasible = {**content, "feasible": False}
    scaling = scaling_data([content, infeasible])
    assert scaling["fps"][0] == pytest.approx(content["fps"])
    assert scaling["fps"].isna().tolist() == [False, True]


def test_timeline_goes_there_and_back(content: dict[str, Any]) -> None:
    timeline = timeline_data(content)
    frames = content["simulation"]["frames"]
    assert timeline_data({"simulation": None}).empty
    first = timeline[timeline["frame"] == 0]
    there = first[first["phase"] == "forward"].set_index("stage")["end_s"]
    back = first[first["phase"] == "backward"].set_index("stage")["end_s"]
    assert set(timeline["frame"]) == {-1, *range(frames)}
    assert (there["loss"] <= back).all()
    assert back["conv1"] == back.max()
    total = timeline[timeline["phase"] == "update"]["end_s"].max()
    assert total == pytest.approx(content["simulation"]["frames_s"] + content["simulation"]["update_s"])


def test_the_page_holds_every_figure(content: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_cluster_report([content, {**content, "feasible": False, "explanation": {"missing": "RAM <&>"}}], path)
    page = path.read_text("utf-8")
    for name in ("scaling", "placement-0", "usage-0", "timeline-0"):
        assert f'id="{name}-data"' in page
    assert "RAM &lt;&amp;&gt;" in page
    assert page == render_cluster([content, {**content, "feasible": False, "explanation": {"missing": "RAM <&>"}}])
