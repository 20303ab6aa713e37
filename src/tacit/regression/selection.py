"""How many components? Add them while it pays.

A mixture that has more components than the residuals can tell apart costs accuracy (the thesis' tables 3.4 to 3.6,
and ours), so start with the best single one and add, one at a time, the candidate that helps most, while the
Bayesian information criterion falls or the cross-validated score rises; this is the advice of the thesis.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(300, 2))
>>> line = X @ [1.0, 2.0]
>>> MixtureRegressorCV().fit(X, line + rng.normal(size=300)).components_
('gaussian',)
>>> far = rng.random(300) < 0.1
>>> MixtureRegressorCV().fit(X, line + np.where(far, 20, 1) * rng.normal(size=300)).components_
('cauchy', 'gaussian')
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, check_cv

from tacit.arrays import Floats
from tacit.regression import checks, families
from tacit.regression.mixture import FittedMixture, MixtureRegressor


class Step(NamedTuple):
    """One trial: its components, its criterion (a BIC or minus a score: less is better), and whether it was kept."""

    components: tuple[str, ...]
    criterion: float
    kept: bool


class MixtureRegressorCV(FittedMixture):
    """A `MixtureRegressor` that chooses its components. It gives no privacy.

    Settings:

    * `candidates`: what may be added, each once; name a family twice to allow two of it
    * `criterion`: "bic", or "cv" for the cross-validated score
    * `cv`: folds or a splitter of scikit-learn; None stands for five folds in random order
    * `scoring`: what "cv" maximises
    * `estimator`: a `MixtureRegressor` with all other settings; its components are replaced

    After `fit`:

    * `path_`: every trial, a `Step` each
    * `best_estimator_`: the `MixtureRegressor` with the chosen components; all its attributes are here too
    """

    def __init__(
        self,
        candidates: Any = ("gaussian", "laplace", "cauchy"),
        *,
        criterion: str = "bic",
        cv: Any = None,
        scoring: Any = "neg_mean_squared_error",
        estimator: MixtureRegressor | None = None,
    ) -> None:
        self.candidates = candidates
        self.criterion = criterion
        self.cv = cv
        self.scoring = scoring
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Choose the components, then learn line and density."""
        candidates = families.read(self.candidates, most=8)
        checks.one_of(self.criterion, "criterion", ("bic", "cv"))
        template = self.estimator if self.estimator is not None else MixtureRegressor()
        if not isinstance(template, MixtureRegressor):
            raise checks.refusal("estimator", self.estimator, "give a MixtureRegressor, or None")
        if isinstance(template.scales, list | tuple | np.ndarray):
            raise checks.refusal("estimator", template, 'its scales must be "learned" or "fixed"')
        table, target, v = self._read(X, y, sample_weight)
        scored = self.criterion == "cv"
        folds = list(self._splits(table, target)) if scored else []
        scorer = check_scoring(template, self.scoring) if scored else None

        def judge(chosen: tuple[families.Family, ...]) -> float:
            model = clone(template).set_params(components=chosen)
            if scorer is None:
                return float(model.fit(table, target, v).bic_)
            scores = []
            for train, test in folds:
                model.fit(table[train], target[train], v[train])
                scores.append(scorer(model, table[test], target[test], sample_weight=v[test]))
            return -float(np.mean(scores))

        kept, self.path_ = search(candidates, judge)
        self.best_estimator_ = clone(template).set_params(components=kept).fit(X, y, sample_weight)
        own = ("n_features_in_", "feature_names_in_")
        found = {name: value for name, value in vars(self.best_estimator_).items() if name not in own}
        for name, value in found.items():
            if name[0] == "_" or name[-1] == "_":
                setattr(self, name, value)
        return self

    def _splits(self, X: Any, y: Floats) -> Any:  # noqa: N803
        if self.cv is None:
            return KFold(min(5, len(y)), shuffle=True, random_state=0).split(X, y)
        return check_cv(self.cv, y, classifier=False).split(X, y)


def search(
    candidates: tuple[families.Family, ...], judge: Callable[[tuple[families.Family, ...]], float]
) -> tuple[tuple[families.Family, ...], tuple[Step, ...]]:
    """The best single candidate, then the best addition, as long as `judge` falls."""
    kept: tuple[families.Family, ...] = ()
    left, best, path = list(candidates), np.inf, []
    while left:
        trials = {one: judge((*kept, one)) for one in dict.fromkeys(left)}
        added = min(trials, key=lambda one: trials[one])
        better = trials[added] < best
        for one, value in trials.items():
            names = tuple(each.name for each in (*kept, one))
            path.append(Step(names, value, better and one is added))
        if not better:
            break
        kept, best = (*kept, added), trials[added]
        left.remove(added)
    return kept, tuple(path)
