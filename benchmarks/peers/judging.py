"""All ranking metrics of 2,000,000 test pairs: tastemix against per-user loops.

python benchmarks/peers/judging.py [--quick]

Every user has the same 100 items, so that Cornac, which ranks a catalogue, ranks what the others
rank. The loops judge a sample of the users and are scaled up; tastemix judges them all, and the
sample once more to compare the values.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import isolated
import numpy as np
import pages

WORKER = Path(__file__).with_name("judging_worker.py")
USERS, ITEMS, SAMPLE, RELEVANT = 20_000, 100, 1_000, 4
DEMANDED = 20
LOOPS = {"cornac": "Cornac, `ranking_eval`", "sklearn": "scikit-learn, a loop over users"}


def generate(path: Path, users: int) -> None:
    """Stars, each as likely as the others, and predictions that are off by about two of them."""
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, (users, ITEMS)).astype(np.float64)
    np.savez(path, truth=truth, prediction=truth + rng.normal(0, 2, truth.shape))


def agreement(values: dict[str, float], ours: dict[str, float]) -> dict[str, float | None]:
    """The difference to ours in each metric; None where ours is defined in another way."""
    return {
        name: abs(value - ours[name]) if name in ours else None for name, value in values.items()
    }


def measure(users: int, sample: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        pairs = Path(folder) / "pairs.npz"
        generate(pairs, users)

        def ask(judge: str, count: int) -> isolated.Job:
            job = {"judge": judge, "pairs": str(pairs), "users": count, "relevant": RELEVANT}
            return isolated.run(judge, WORKER, job, timeout=600)

        everyone, some = ask("tastemix", users), ask("tastemix", sample)
        loops = {judge: ask(judge, sample) for judge in LOOPS}
    for answer in (everyone, some):
        if "error" in answer:
            raise SystemExit(answer["error"])
    for loop in loops.values():
        if "error" not in loop:
            loop["scaled"] = loop["seconds"] * users / sample
            loop["ratio"] = loop["scaled"] / everyone["seconds"]
            loop["difference"] = agreement(loop["values"], some["values"])
    return {
        "users": users, "items": ITEMS, "sample": sample,
        "tastemix": {"seconds": everyone["seconds"], "sample": some["values"]}, **loops,
    }  # fmt: skip


def text(measured: dict[str, Any]) -> str:
    ours, users = measured["tastemix"], measured["users"]
    rows: list[list[str]] = [
        ["tastemix, 7 metrics", f"{users:,}", f"{ours['seconds']:.2f}", "", "1"]
    ]
    values = []
    for judge, name in LOOPS.items():
        loop = measured[judge]
        if "error" in loop:
            rows.append(pages.failed(name, loop["error"], 5))
            continue
        times = f"{loop['seconds']:.2f}", f"{loop['scaled']:.1f}", f"{loop['ratio']:.0f}"
        title = f"{name}, {len(loop['values'])} metrics"
        rows.append([title, f"{measured['sample']:,}", *times])
        for metric, difference in loop["difference"].items():
            same = "another definition" if difference is None else f"{difference:.0e}"
            both = ours["sample"][metric.split(",")[0]], loop["values"][metric]
            values.append([f"{metric} ({judge})", *(f"{value:.6f}" for value in both), same])
    size = f"{users * measured['items']:,} test pairs of {users:,} users"
    return "\n".join(
        (
            f"Judging {size}; the loops on a sample, scaled up:\n",
            pages.table(["judge", "users timed", "seconds", "scaled to all", "ratio"], rows),
            "The values on the sample:\n",
            pages.table(["metric", "tastemix", "theirs", "difference"], values),
        )
    )


def main() -> None:
    options = pages.options(__doc__)
    measured = measure(*((4_000, 200) if options.quick else (USERS, SAMPLE)))
    pages.write(options.folder, "judging", measured, text(measured))
    slow = [judge for judge in LOOPS if measured[judge].get("ratio", DEMANDED) < DEMANDED]
    print(f"below {DEMANDED}×: {', '.join(slow)}" if slow else f"at least {DEMANDED}× everywhere")


if __name__ == "__main__":
    main()
