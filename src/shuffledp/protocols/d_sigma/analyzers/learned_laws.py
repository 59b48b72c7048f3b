"""Laws of answers by place: estimates from a view with slots, and their distance from the truth."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import View
from shuffledp.core.local_models import FrequencyModel
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.protocols.d_sigma.people.assignment import Groups

_ROUNDING = 1e-6  # by which laws may miss a sum of 1
_EQUAL = 1e-12  # as far from uniform as rounding leads


class BoostedRegions:
    """Estimator of the law of answers at each place: gradient boosting, calibrated by Platt scaling.

    A classifier learns which report lies at which place, in folds; what it gives is scaled to be calibrated (sigmoid),
    and the randomizer's noise is then taken out, so that rows are laws of answers. Beside it `RegionalAnalyzer` is the
    light estimator, without a model of how laws vary, and with errors.

    Needs scikit-learn: ``pip install 'shuffledp[experiments]'``.

    Args:
        points: the public place of each slot, shape (slots,) or (slots, columns).
        num_trees: of each classifier and value, 1 or more.
        num_folds: 2 or more.
        seed: of the folds and of the early stop, 0 or more; it protects nobody.

    Raises:
        InvalidParameterError: if a number is not finite or out of range.

    References:
        Platt 1999; Meehan et al. 2022, Section 5.
    """

    def __init__(self, points: ArrayLike, *, num_trees: int = 100, num_folds: int = 3, seed: int = 0) -> None:
        array = _places("points", points)
        validate.integer_at_least(1, num_trees=num_trees)
        validate.integer_at_least(2, num_folds=num_folds)
        validate.integer_at_least(0, seed=seed)
        self._points = array
        self._num_trees, self._num_folds, self._seed = int(num_trees), int(num_folds), seed

    def laws(self, view: View, *, at: ArrayLike | None = None) -> Floats:
        """The estimated law of answers at each place.

        Args:
            view: of randomized response, one report per slot. Reports without labels teach nothing about places, and
                every place gets the law of all.
            at: other places, shape (places,) or (places, columns); None is those of the slots.

        Returns:
            Shape (places, values); rows sum to 1.

        Raises:
            ImportError: if scikit-learn is not installed.
            InvalidParameterError: if there is not one report per slot, or ``at`` has other columns or holds no finite
                numbers.
            UnsupportedModelError: if reports are no values, or labels are not slots.
        """
        where = self._points if at is None else _places("at", at)
        if where.shape[1] != self._points.shape[1]:
            raise invalid(f"of {self._points.shape[1]} columns, as points", shape_of_at=where.shape)
        model, said = _values(view)
        if said.size != len(self._points):
            raise invalid(f"one for each of {len(self._points)} slots", num_reports=said.size)
        seen = np.zeros((len(where), model.domain_size))
        counts = np.bincount(said, minlength=model.domain_size)
        if view.labels is None or np.count_nonzero(counts >= self._num_folds) < 2:
            seen[:] = counts / counts.sum()
        else:
            kept = counts[said] >= self._num_folds
            classifier = self._classifier()
            classifier.fit(self._points[view.labels][kept], said[kept])
            seen[:, classifier.classes_] = classifier.predict_proba(where)
        laws = np.clip((seen - model.q) / (model.p - model.q), 0, None)
        total = laws.sum(axis=1, keepdims=True)
        found: Floats = np.where(total > 0, laws / np.where(total > 0, total, 1), 1 / model.domain_size)
        return found

    def _classifier(self) -> Any:
        try:
            from sklearn.calibration import CalibratedClassifierCV
            from sklearn.ensemble import HistGradientBoostingClassifier
            from sklearn.model_selection import StratifiedKFold
        except ImportError as error:
            message = "BoostedRegions needs scikit-learn: pip install 'shuffledp[experiments]'."
            raise ImportError(message) from error
        boosting = HistGradientBoostingClassifier(
            max_iter=self._num_trees, learning_rate=0.1, max_leaf_nodes=15, early_stopping=True, random_state=self._seed
        )
        # Folds are drawn: people who stand next to each other in the list often live next to each other.
        folds = StratifiedKFold(self._num_folds, shuffle=True, random_state=self._seed)
        return CalibratedClassifierCV(boosting, method="sigmoid", cv=folds)


def _places(name: str, points: ArrayLike) -> Floats:
    """Points as finite numbers, one row per place; an array of one dimension is a single column."""
    validate.unmasked(**{name: points})
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(f"{name} must be numbers, in rows of one length.") from None
    if array.ndim not in (1, 2) or array.size == 0 or not np.isfinite(array).all():
        raise InvalidParameterError(f"{name} must be finite numbers, one row per place; got shape {array.shape}.")
    return array[:, None] if array.ndim == 1 else array


def _values(view: View) -> tuple[Any, Integers]:
    validate.instance_of(View, view=view)
    model = view.reports.model
    if not isinstance(model, FrequencyModel) or list(view.reports.columns) != ["value"]:
        raise UnsupportedModelError(f"laws by place are learned from values; got reports of {model.kind!r}.")
    if view.labels is not None and not view.shuffle.keeps_places:
        raise UnsupportedModelError(f"laws by place need labels that are slots; got a {view.shuffle.kind!r} shuffle.")
    return model, view.reports["value"].astype(np.int64)


def laws_in_groups(answers: ArrayLike, groups: Groups, num_values: int) -> Floats:
    """Share of each answer in each person's own group, shape (people, values).

    Args:
        answers: everybody's true answer, numbers from 0 on, shape (people,).
        groups: of the same people.
        num_values: possible answers, 2 or more.

    Returns:
        Shape (people, values); rows sum to 1.

    Raises:
        InvalidParameterError: if ``answers`` are not of the groups' people, or out of range.

    Example:
        >>> laws_in_groups([0, 1, 1], Groups.from_labels(["a", "a", "b"]), 2).tolist()
        [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]
    """
    validate.instance_of(Groups, groups=groups)
    validate.integer_at_least(2, num_values=num_values)
    validate.unmasked(answers=answers)
    held = np.asarray(answers)
    if held.shape != (groups.num_users,) or held.dtype.kind not in "iu":
        raise invalid(f"numbers of values, one for each of {groups.num_users} people", shape_of_answers=held.shape)
    if held.min() < 0 or held.max() >= num_values:
        raise invalid("above every answer", num_values=num_values)
    shares = np.array([np.bincount(held[members], minlength=num_values) / members.size for members in groups])
    laws: Floats = shares[groups.own]
    return laws


def learnability_error(estimated: ArrayLike, truth: ArrayLike) -> float:
    """Learnability error lambda: mean total variation from the true laws, divided by a uniform guess's.

    0 is perfect, 1 as bad as to call all answers equally likely everywhere.

    Args:
        estimated: shape (places, values), rows sum to 1; single numbers may be below 0, as unbiased estimates are.
        truth: of the same shape; laws, 0 or more.

    Raises:
        InvalidParameterError: if the shapes differ, rows are no such numbers, or all true laws are uniform within
            rounding, so that there is nothing to learn.

    References:
        Meehan et al. 2022, Section 5.
    """
    found, real = _rows("estimated", estimated), _rows("truth", truth)
    if found.shape != real.shape or real.ndim != 2 or real.size == 0:
        raise invalid(f"of shape {real.shape}, as truth", shape_of_estimated=found.shape)
    for name, rows in (("estimated", found), ("truth", real)):
        if not np.allclose(rows.sum(axis=1), 1, rtol=0, atol=_ROUNDING):
            raise InvalidParameterError(f"rows of {name} must add up to 1.")
    if real.min() < 0:
        raise InvalidParameterError("truth must hold probabilities, 0 or more.")
    guess = float(np.abs(real - 1 / real.shape[1]).sum())
    if guess <= _EQUAL * real.size:
        raise InvalidParameterError("truth must differ from the uniform law somewhere.")
    return float(np.abs(found - real).sum()) / guess


def _rows(name: str, laws: ArrayLike) -> Floats:
    """Checked laws: an array of finite numbers, in rows of one length."""
    validate.unmasked(**{name: laws})
    try:
        rows = np.asarray(laws, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(f"{name} must be numbers, in rows of one length.") from None
    if not np.isfinite(rows).all():
        raise InvalidParameterError(f"{name} must be finite numbers.")
    return rows


def share_of_likeliest(laws: ArrayLike, answers: ArrayLike, *, coarser: Sequence[int] | None = None) -> float:
    """Accuracy: share of people whose true answer is the likeliest under the law of their place.

    Args:
        laws: shape (people, values), finite; of one person or more.
        answers: the true answers, numbers of values from 0 on, shape (people,).
        coarser: for each value the number of the class that it is put into; None keeps them apart. Chances of the
            values of a class are added up.

    Raises:
        InvalidParameterError: if the shapes disagree, or an answer or a class is no such number.
    """
    validate.unmasked(answers=answers)
    chances, held = _rows("laws", laws), np.asarray(answers)
    classes = np.arange(chances.shape[-1] if chances.ndim else 0) if coarser is None else np.asarray(coarser)
    if chances.ndim != 2 or held.shape != chances.shape[:1] or classes.shape != chances.shape[1:] or not chances.size:
        raise invalid("one row per answer and one column per value", shape_of_laws=chances.shape)
    if held.dtype.kind not in "iu" or held.min() < 0 or held.max() >= chances.shape[1]:
        raise InvalidParameterError(f"answers must be numbers of values, from 0 to {chances.shape[1] - 1}.")
    if classes.dtype.kind not in "iu" or classes.min() < 0:
        raise invalid("numbers of classes, 0 or more", coarser=classes.tolist())
    classes = np.unique(classes, return_inverse=True)[1]
    merged = chances @ np.eye(classes.max() + 1)[classes]
    return float((merged.argmax(axis=1) == classes[held]).mean())
