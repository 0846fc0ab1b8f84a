"""The shortest of our fits that is as good as a peer's.

For each peer to outrun, the candidate that reached the peer's validation error soonest is fitted
anew, timed and judged on the test part. Where it falls short there, it takes more steps.
"""

from __future__ import annotations

from typing import Any

import pages

DEMANDED = {
    "cmfrec nonneg": 4,
    "cmfrec NMF": 4,
    "Cornac NMF": 10,
    "Surprise NMF": 30,
    "Spark ALS nonneg": 30,
    "Cornac MF": 1,
}
"""How many times faster than the peer we want to be."""
MARGIN = 0.001
"""A candidate's validation error must be so much below the peer's, since the test part differs."""
Row = dict[str, Any]


def targets(results: list[Row], validated: list[Row]) -> list[Row]:
    """A peer's default and tuned fit each, with the setting of ours that should outrun it."""
    found = []
    for peer in results:
        if peer["name"] not in DEMANDED or "error" in peer:
            continue
        for kind in ("default", "tuned"):
            theirs = peer[kind]
            if kind == "tuned" and theirs == peer["default"]:
                continue
            bound = _validation_error(peer, theirs) - MARGIN
            good = [ours for ours in validated if ours["rmse"] <= bound]
            fallback = min(validated, key=lambda ours: ours["rmse"])
            chosen = min(good, key=lambda ours: ours["seconds"], default=fallback)
            facts = {"peer": peer["name"], "kind": kind, "demanded": DEMANDED[peer["name"]]}
            found.append({**facts, "theirs": theirs, "setting": chosen["setting"]})
    return found


def _validation_error(peer: Row, theirs: Row) -> float:
    return next(one["rmse"] for one in peer["validated"] if one["setting"] == theirs["setting"])


def longer(setting: Row) -> Row:
    """The same with an eighth more steps."""
    return {**setting, "steps": setting["steps"] + max(1, setting["steps"] // 8)}


def finished(target: Row, found: Row) -> Row:
    """The target with our fit and by how much it is faster; no ratio if its error is larger."""
    if "error" in found:
        return {**target, **found}
    ours = found["default"]
    reached = ours["rmse"] <= target["theirs"]["rmse"]
    ratio = target["theirs"]["seconds"] / ours["seconds"]
    return {**target, "ours": ours, "reached": reached, "ratio": ratio}


def table(races: list[Row]) -> str:
    """A row per peer and setting."""
    header = ["to reach", "seconds", "RMSE", "ours: seconds", "RMSE", "times faster", "demanded"]
    rows = []
    for race in races:
        name = f"{race['peer']}, {race['kind']}"
        if "error" in race:
            rows.append(pages.failed(name, race["error"], len(header) + 1))
            continue
        theirs, ours = race["theirs"], race["ours"]
        fits = [f"{fit[what]:.{digits}f}" for fit, what, digits in _columns(theirs, ours)]
        ratio = f"{race['ratio']:.1f}" if race["reached"] else f"({race['ratio']:.1f}) not reached"
        setting = ", ".join(f"{name} {value}" for name, value in ours["setting"].items())
        rows.append([name, *fits, ratio, race["demanded"], setting])
    return pages.table([*header, "our setting"], rows)


def _columns(theirs: Row, ours: Row) -> list[tuple[Row, str, int]]:
    return [(theirs, "seconds", 2), (theirs, "rmse", 4), (ours, "seconds", 3), (ours, "rmse", 4)]
