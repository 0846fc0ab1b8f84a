"""A session on a cluster: what was asked of it is written down, so that it can be asked again."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from tastemix.data.ratings import Side
from tastemix.engine import _native
from tastemix.engine.base import Errors, Spread, StepReport
from tastemix.engine.dask.checkpoint import Asked, Progress, Saved
from tastemix.engine.dask.shelf import written
from tastemix.engine.dask.team import DaskTeam
from tastemix.engine.dask.worker import Opening
from tastemix.engine.objective import Objective
from tastemix.engine.session import BlockSession
from tastemix.engine.sides import SIDES, Held, Pair, Pulls
from tastemix.engine.start import RandomStart, Start

if TYPE_CHECKING:
    from tastemix.engine.dask.placed import DaskPart, DaskPlaced

T = TypeVar("T")


class DaskSession:
    """A session over blocks on workers.

    Calls that move the factors are written down, with their answers. After a worker was lost, its
    blocks are made anew, all blocks go back to the last checkpoint, and the calls since then are
    repeated. When a fit is run again, the calls that a checkpoint knows are answered from it.
    """

    def __init__(
        self,
        placed: DaskPlaced,
        start: Start,
        held: Held,
        pulls: Pulls | None,
        shift: float,
        rank: int,
        progress: Progress,
    ) -> None:
        self.name, self.progress = uuid.uuid4().hex, progress
        self.repeated = 0
        """Half-steps that were done again after a worker was lost."""
        self._turn = _native.Turn()
        self._placed, self._start, self._held = placed, start, held
        self._pulls, self._shift, self._rank = pulls, shift, rank
        self._calls: list[_Call] = []
        self._saved = progress.load()
        self._known = [] if self._saved is None else self._saved.calls
        if isinstance(start, Pair):
            with written(placed.shelf.where):
                for side in SIDES:
                    placed.shelf.save(f"{progress.key}-start-{side}", start.of(side))
        self._team = DaskTeam(
            placed.cluster, placed.layout, self.name, placed.shelf, placed.home(rank)
        )
        self._inner: BlockSession | None = None

    def half_step(
        self, side: Side, objective: Objective, tolerance: float, max_updates: int | None = None
    ) -> StepReport:
        """See Session.half_step."""
        call = ["half_step", side, repr(objective), float(tolerance), max_updates]

        def run(session: BlockSession) -> list[Any]:
            report = session.half_step(side, objective, tolerance, max_updates)
            return [report.objective, report.updates, report.largest]

        return StepReport(*self._ask(call, run))

    def rmse(self, part: DaskPart) -> float:
        """See Session.rmse."""
        call = ["rmse", part.ratings.fingerprint]
        return float(self._ask(call, lambda session: session.rmse(part)))

    def keep(self) -> None:
        """See Session.keep."""
        self._ask(["keep"], lambda session: session.keep())

    def restore(self) -> None:
        """See Session.restore."""
        self._ask(["restore"], lambda session: session.restore())

    def errors(self, part: DaskPart) -> Errors:
        """See Session.errors."""
        return self._look(lambda session: session.errors(part))

    def spread(self, side: Side) -> Spread:
        """See Session.spread."""
        return self._look(lambda session: session.spread(side))

    def factors(self) -> Pair:
        """See Session.factors."""
        return self._look(lambda session: session.factors())

    def pulls(self) -> Pulls | None:
        """See Session.pulls."""
        return self._look(lambda session: session.pulls())

    def _ask(self, call: list[Any], run: Callable[[BlockSession], Any]) -> Any:
        """The answer to a call that is written down."""
        with self._turn, _Watch(self._placed):
            at = len(self._calls)
            if at < len(self._known) and self._inner is None:
                if self._known[at].call == call:
                    self._calls.append(_Call(call, self._known[at].answer, run))
                    return self._known[at].answer
                self._known, self._saved = [], None  # of another fit that began alike
            answer = self._safely(run)
            self._calls.append(_Call(call, answer, run))
            if call[0] == "half_step" and self._steps() % (2 * self._placed.every) == 0:
                self._safely(self._checkpoint)
            return answer

    def _look(self, run: Callable[[BlockSession], T]) -> T:
        """The answer to a question that changes nothing."""
        with self._turn, _Watch(self._placed):
            return self._safely(run)

    def _safely(self, run: Callable[[BlockSession], T]) -> T:
        def tried() -> T:
            if self._inner is None:
                self._inner = self._revived()
            return run(self._inner)

        def lost() -> None:
            self._inner = None
            self._placed.settle()

        return self._placed.cluster.persist(tried, lost)

    def _revived(self) -> BlockSession:
        """The session after the calls so far, from the last checkpoint among them."""
        saved = self._saved
        if saved is not None and len(saved.calls) > len(self._calls):
            saved = None  # asked in the midst of what the checkpoint had behind it
        placed, start, ratings = self._placed, self._start, self._placed.ratings
        first = {side: {"rows": f"{self.progress.key}-start-{side}"} for side in SIDES}
        drawn = isinstance(start, RandomStart)
        begun: dict[Side, dict[str, str]] = {side: {} for side in SIDES} if drawn else first
        opening = Opening(
            session=(self.name, 0),
            start=start if isinstance(start, RandomStart) else None,
            shelf=placed.shelf,
            names=begun if saved is None else {side: saved.names(side) for side in SIDES},
            kept={side: {} if saved is None else saved.kept_names(side) for side in SIDES},
            held=self._held,
            shift=self._shift,
            rank=self._rank,
            group=placed.layout.group,
        )
        self._team.open(opening)
        session = BlockSession(
            *(self._team, self._rank, self._held, self._pulls, self._shift, ratings.scale),
            len(ratings),
        )
        done = 0
        if saved is not None:
            session.go_on_from(saved.small)
            session.kept, done = saved.kept_small, len(saved.calls)
        for asked in self._calls[done:]:
            if asked.call[0] != "rmse":
                asked.run(session)
                self.repeated += asked.call[0] == "half_step"
        return session

    def _checkpoint(self, session: BlockSession) -> None:
        prefix = self.progress.prefix(len(self._calls))
        names = self._team.save(prefix)
        held, kept = ({side: names[side][which] for side in SIDES} for which in (0, 1))
        self._saved = Saved(
            list[Asked](self._calls), prefix, held, kept, session.small(), session.kept
        )
        with written(self.progress.shelf.where):
            self.progress.save(self._saved)

    def _steps(self) -> int:
        return sum(asked.call[0] == "half_step" for asked in self._calls)


class _Call(Asked):
    """A call that can be run again."""

    def __init__(self, call: list[Any], answer: Any, run: Callable[[BlockSession], Any]) -> None:
        super().__init__(call, answer)
        self.run = run


class _Watch:
    """Notes that a fit failed, so that its checkpoints stay."""

    def __init__(self, placed: DaskPlaced) -> None:
        self._placed = placed

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._placed.failed = True
