r"""Knowledge from teachers' votes: models of private parts vote on public rows, and a student learns from the winners.

Privacy. Each unit is given to one of K teachers by random bits, whatever other units there are; a teacher is any
function of its part. On a public row each teacher votes for one class, so one unit more changes at most one vote on
each of q rows: one count falls by 1 and one rises by 1, $\sqrt2$ in L2, and $\sqrt{2q}$ on all rows together; under
change-one, where two teachers may change, twice that. Released are the winners of counts with Gaussian noise, charged
what that noise costs whatever the votes are (Papernot et al. 2017, arXiv:1610.05755; 2018, arXiv:1802.08908). Their
data-dependent bounds are smaller where teachers agree, but are private themselves, and are never used here. The student
sees public rows and released labels alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, sqrt_upper
from discreet.methods.learning.tabular.descent import Weighed
from discreet.methods.learning.tabular.linear import LinearScores
from discreet.methods.learning.tabular.losses import Logistic, Loss, Softmax
from discreet.methods.learning.tabular.minimum import Objective, minimizer
from discreet.methods.learning.tabular.training import Step, Training, movers
from discreet.noise import uniform_integer

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.methods.learning.tabular.estimator import Task
    from discreet.noise import BitSource

__all__ = ["PATE"]

_RIDGE = 0.1


@dataclass(eq=False, repr=False)
class PATE(LinearScores):
    """A student that learns from public rows, labeled by the noisy votes of teachers of private ones.

    `public` are rows of the same columns without labels, that anybody may see. Teachers and student are logistic
    regressions without noise; what is paid for is the labels.

    >>> x = np.random.default_rng(0).uniform(-1, 1, (20000, 1))
    >>> model = PATE(epsilon=5, public=np.linspace(-1, 1, 40)[:, None], classes=["low", "high"], bounds=(-1, 1))
    >>> model = model.fit(x, np.where(x[:, 0] > 0, "high", "low"))
    >>> model.predict([[-0.9], [0.9]]).tolist()
    ['low', 'high']
    """

    public: object = field(default=None, kw_only=True)
    teachers: SupportsIndex = field(default=100, kw_only=True)

    kind: ClassVar[str] = "pate"

    def described(self) -> str:
        """Return all parameters as text, of the public rows a digest."""
        told = {name: repr(value) for name, value in self.get_params().items() if name != "public"}
        public: Any = self.public
        named = isinstance(public, dict) or hasattr(public, "columns")
        cells = (
            {str(name): np.asarray(public[name]).tolist() for name in public} if named else np.asarray(public).tolist()
        )
        text = json.dumps(cells, default=str)
        return json.dumps(told | {"public": hashlib.sha256(text.encode()).hexdigest()})

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.get_params().items() if name != "public"}
        return f"PATE({', '.join(f'{name}={value!r}' for name, value in shown.items() if value is not None)})"

    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        teachers = integer(self.teachers, name="teachers", least=1, most=100_000)
        if self.public is None:
            msg = "public is missing: rows without labels that anybody may see, on which the teachers vote."
            raise ParameterError(msg)
        asked = task.features.matrix(task.features.rows(self.public))
        if not len(asked):
            msg = "public has no rows; the student learns from them."
            raise ParameterError(msg)
        labels, classes = self._labels(rows, task)
        loss = Logistic() if len(classes) == 2 else Softmax(len(classes))
        teacher = uniform_integer(teachers, size=int(rows.units.max(initial=-1)) + 1, bits=bits)[rows.units]
        private = task.features.matrix(rows)
        votes = np.zeros((len(asked), len(classes)), dtype=np.int64)
        for number in range(teachers):
            part = teacher == number
            weights = _learned(loss, private[part], labels[part], rows.units[part])
            votes[np.arange(len(asked)), _voted(asked @ weights)] += 1
        mechanism = task.goal.gaussian(
            sqrt_upper(Fraction(2 * len(asked))) * movers(task.goal.claim.neighbors),
            share=Fraction(1),
            times=1,
            dimensions=votes.size,
        )
        noisy = np.asarray(mechanism.release(votes, bits=bits).value).reshape(votes.shape)
        winners = noisy.argmax(axis=1).astype(np.float64)
        weights = _learned(loss, asked, winners, np.arange(len(asked)))
        return {"weights": weights, "classes": classes}, Training(
            self.kind, task.goal.claim, [Step("votes of teachers", mechanism)]
        )


def _learned(
    loss: Loss, values: NDArray[np.float64], labels: NDArray[np.float64], units: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Fit without noise."""
    rows = Weighed.of(values, labels, units)
    return minimizer(Objective(rows, loss, _RIDGE, np.zeros((rows.vectors.shape[1], loss.outputs))))


def _voted(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class of each row."""
    places: NDArray[np.int64] = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return places
