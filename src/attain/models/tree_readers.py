"""Reading the trees of each library into flat arrays of nodes that mean the same for all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attain.models.adapter import library_name
from attain.models.goal import StructureError


class Nodes(NamedTuple):
    """The nodes of a tree from its root on, or of several. A row goes left if its cell is at most the threshold.

    Attributes
    ----------
    feature, threshold
        The column a node compares, −1 for a leaf, and its threshold, (nodes,).
    left, right
        The nodes below, (nodes,).
    missing_left
        Whether a missing cell goes left, (nodes,).
    value
        What a leaf adds to the score of each class, (nodes, K).
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray


@dataclass(frozen=True, eq=False)
class Trees:
    """All trees of a model.

    Attributes
    ----------
    nodes, roots
        The nodes, tree after tree, and the first one of each.
    width
        The number of columns.
    start
        What the sum over trees starts from, (K,); NaN where that is not one number for all rows.
    votes
        Whether trees vote (forests): values are then the shares of the classes, to be averaged.
    single
        Whether cells are rounded to single precision before they are compared.
    scale
        By what the sum is multiplied to be the model's own score, log-odds where it gives probabilities.
    single_sums
        Whether sums are in single precision.
    """

    nodes: Nodes
    roots: np.ndarray
    width: int
    start: np.ndarray
    votes: bool = False
    single: bool = False
    scale: float = 1.0
    single_sums: bool = False


def read_trees(model: Any, classes: int) -> Trees:
    """The trees of a fitted model, or a `StructureError` that says which models are supported."""
    libraries = library_name(model)
    if "xgboost" in libraries:
        return _xgboost(model, classes)
    if "lightgbm" in libraries:
        return _lightgbm(model, classes)
    if hasattr(model, "_predictors"):
        return _histograms(model, classes)
    if hasattr(model, "tree_") or _is_forest(model):
        return _forest(model)
    if hasattr(model, "estimators_") and hasattr(model, "learning_rate") and hasattr(model, "init_"):
        return _gradient_boosting(model, classes)
    raise StructureError(
        f"{type(model).__name__} is not a tree ensemble that can be read; FeatureTweaking takes decision trees, random "
        "forests, extra trees, GradientBoosting and HistGradientBoosting of scikit-learn, XGBoost and LightGBM, alone "
        "or last in a pipeline; for any other classifier use GrowingSpheres or NearestUnlike"
    )


def _is_forest(model: Any) -> bool:
    members = getattr(model, "estimators_", None)
    forest = hasattr(model, "oob_score") and hasattr(model, "max_depth")
    return forest and isinstance(members, list) and all(hasattr(member, "tree_") for member in members)


def _joined(trees: Sequence[Nodes], width: int, start: np.ndarray, **properties: Any) -> Trees:
    sizes = [len(tree.feature) for tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    nodes, shift = Nodes(*map(np.concatenate, zip(*trees, strict=True))), np.repeat(roots, sizes)
    return Trees(nodes._replace(left=nodes.left + shift, right=nodes.right + shift), roots, width, start, **properties)


def _for_class(values: np.ndarray, k: int, classes: int) -> np.ndarray:
    """What the leaves of the k-th tree of a round add: to the second of two classes, or to the k-th of several."""
    spread = np.zeros((len(values), classes))
    spread[:, 1 if classes == 2 else k] = values
    return spread


def _start(values: np.ndarray, classes: int) -> np.ndarray:
    """What sums start from, (classes,): of the second of two classes, or of each of several."""
    start = np.zeros(classes)
    start[1 if classes == 2 else 0 :] = np.ravel(values)
    return start


def _scikit_tree(tree: Any, value: np.ndarray) -> Nodes:
    feature = np.where(tree.children_left < 0, -1, tree.feature)
    missing_left = tree.missing_go_to_left.astype(bool)
    return Nodes(feature, tree.threshold, tree.children_left, tree.children_right, missing_left, value)


def _forest(model: Any) -> Trees:
    trees = []
    for member in getattr(model, "estimators_", [model]):
        if member.tree_.n_outputs > 1:
            raise StructureError(f"{type(model).__name__} has several outputs; pass a model of one of them")
        share = member.tree_.value[:, 0, :]
        trees.append(_scikit_tree(member.tree_, share / share.sum(axis=1, keepdims=True)))
    return _joined(trees, int(model.n_features_in_), np.zeros(trees[0].value.shape[1]), votes=True, single=True)


def _gradient_boosting(model: Any, classes: int) -> Trees:
    trees = [
        _scikit_tree(member.tree_, _for_class(model.learning_rate * member.tree_.value[:, 0, 0], k, classes))
        for members in model.estimators_
        for k, member in enumerate(members)
    ]
    width = int(model.n_features_in_)
    # scikit-learn has no public name for what boosting starts from; an estimator of the user's own depends on the row
    constant = isinstance(model.init_, str) or hasattr(model.init_, "class_prior_")
    start = model._raw_predict_init(np.zeros((1, width), dtype=np.float32)) if constant else np.full((1, 1), np.nan)
    scale = 2.0 if model.loss == "exponential" else 1.0
    return _joined(trees, width, _start(start, classes), single=True, scale=scale)


def _histograms(model: Any, classes: int) -> Trees:
    trees = []
    for members in model._predictors:
        for k, member in enumerate(members):
            nodes = member.nodes
            if nodes["is_categorical"].any():
                raise _native_levels(model)
            feature = np.where(nodes["is_leaf"], -1, nodes["feature_idx"].astype(np.intp))
            value, missing_left = _for_class(nodes["value"], k, classes), nodes["missing_go_to_left"].astype(bool)
            trees.append(Nodes(feature, nodes["num_threshold"], nodes["left"], nodes["right"], missing_left, value))
    return _joined(trees, int(model.n_features_in_), _start(model._baseline_prediction, classes))


def _xgboost(model: Any, classes: int) -> Trees:
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    if learner["gradient_booster"]["name"] != "gbtree":
        raise StructureError(
            f"the XGBoost model has booster={learner['gradient_booster']['name']!r}; FeatureTweaking takes "
            "booster='gbtree'; otherwise use GrowingSpheres or NearestUnlike"
        )
    grove = learner["gradient_booster"]["model"]
    parallel = int(grove["gbtree_model_param"]["num_parallel_tree"])
    per_round = parallel * (1 if classes == 2 else classes)
    # with early stopping, XGBoost's classifiers predict with the best rounds only
    best = booster.attr("best_iteration") if hasattr(model, "get_booster") else None
    number = len(grove["trees"]) if best is None else (int(best) + 1) * per_round
    trees = []
    for tree, k in zip(grove["trees"][:number], grove["tree_info"][:number], strict=True):
        left = np.array(tree["left_children"], dtype=np.intp)
        if any(tree["split_type"]):
            raise _native_levels(model)
        leaf = left < 0
        condition = np.array(tree["split_conditions"], dtype=np.float32)
        # XGBoost sends cells below the threshold left, that is, those at most the float before it
        before = np.nextafter(condition, np.float32(-np.inf)).astype(np.float64)
        trees.append(
            Nodes(
                np.where(leaf, -1, np.array(tree["split_indices"])),
                before,
                left,
                np.array(tree["right_children"], dtype=np.intp),
                np.array(tree["default_left"], dtype=bool),
                _for_class(condition.astype(np.float64), int(k), classes),
            )
        )
    start = np.atleast_1d(np.asarray(json.loads(learner["learner_model_param"]["base_score"]), dtype=np.float32))
    if learner["objective"]["name"] in ("binary:logistic", "reg:logistic", "binary:logitraw"):
        start = -np.log(np.float32(1) / start - np.float32(1))
    return _joined(trees, int(booster.num_features()), _start(start, classes), single=True, single_sums=True)


def _lightgbm(model: Any, classes: int) -> Trees:
    booster = getattr(model, "booster_", model)
    dumped = booster.dump_model()
    rounds = int(dumped["num_tree_per_iteration"])
    trees = [
        _lightgbm_tree(model, info["tree_structure"], i % rounds, classes) for i, info in enumerate(dumped["tree_info"])
    ]
    scale = 1.0 / (len(trees) // rounds) if dumped["average_output"] else 1.0
    steepness = re.search(r"\bsigmoid:(\S+)", str(dumped.get("objective")))
    scale *= 1.0 if steepness is None else float(steepness[1])
    return _joined(trees, int(booster.num_feature()), np.zeros(classes), scale=scale)


def _lightgbm_tree(model: Any, root: dict[str, Any], k: int, classes: int) -> Nodes:
    nodes: list[dict[str, Any]] = [root]
    left: list[int] = []
    right: list[int] = []
    for node in nodes:  # extended while it is iterated
        inner = "split_feature" in node
        left.append(len(nodes) if inner else -1)
        right.append(len(nodes) + 1 if inner else -1)
        if inner:
            nodes += [node["left_child"], node["right_child"]]
            if node["decision_type"] != "<=":
                raise _native_levels(model)
            if node["missing_type"] == "Zero":
                raise StructureError("the LightGBM model treats zeros as missing; train it without zero_as_missing")
    # missing cells without a separate branch are compared as zeros
    missing = [
        bool(node.get("default_left")) if node.get("missing_type") != "None" else node["threshold"] >= 0.0
        for node in nodes
        if "split_feature" in node
    ]
    inner_nodes = np.array([position >= 0 for position in left])
    missing_left = np.zeros(len(nodes), dtype=bool)
    missing_left[inner_nodes] = missing
    return Nodes(
        np.array([node.get("split_feature", -1) for node in nodes]),
        np.array([node.get("threshold", 0.0) for node in nodes], dtype=np.float64),
        np.array(left),
        np.array(right),
        missing_left,
        _for_class(np.array([node.get("leaf_value", 0.0) for node in nodes]), k, classes),
    )


def _native_levels(model: Any) -> StructureError:
    return StructureError(
        f"{type(model).__name__} splits on sets of categories; FeatureTweaking takes thresholds only: encode "
        "the levels in a pipeline (OneHotEncoder, OrdinalEncoder), or use GrowingSpheres or NearestUnlike"
    )
