"""The cheapest point of a ball against all points of a grid."""

import itertools

import numpy as np
import pytest

from attain.methods.guarded.balls import BallSubproblems, Numbers, States
from attain.methods.guarded.settings import GuardedSettings
from tests.both_paths import same_bytes
from tests.coordinates import coordinates


def made(own, goal, price, slope, switches=()):
    """One pair, feature by feature: numbers first, then switches of (price, gap, gain)."""
    numbers, states = len(own), len(switches)
    width = numbers + states
    table = np.array(switches).reshape(states, 3)
    pad = np.zeros(states)
    row = lambda *parts: np.concatenate(parts)[None]  # noqa: E731
    numeric, other = (
        row(np.ones(numbers, bool), np.zeros(states, bool)),
        row(np.zeros(numbers, bool), np.ones(states, bool)),
    )
    zero = np.zeros(numbers)
    return BallSubproblems(
        objective=None, space=None, settings=GuardedSettings(), owners=np.array([0]), transplants=np.zeros((1, width)),
        numbers=Numbers(numeric, row(own, pad), row(goal, pad), row(price, pad)),
        states=States(other, row(zero, table[:, 0]), row(zero, table[:, 1]), row(zero, table[:, 2])),
        slope=np.concatenate((slope, pad)), slack_sq=np.array([1.0]), score=np.array([0.0]),
    )  # fmt: skip


def figures(balls, pull, numbers, taken):
    """The cost of a point, less ν times its gain, and its squared distance from the real row."""
    smooth = balls.numbers.moves[0]
    cost = (balls.numbers.price[0, smooth] * np.abs(numbers - balls.numbers.own[0, smooth])).sum(axis=-1)
    cost = cost - pull * ((numbers - balls.numbers.own[0, smooth]) * balls.slope[smooth]).sum(axis=-1)
    cost = cost + (taken * (balls.states.price[0, ~smooth] - pull * balls.states.gain[0, ~smooth])).sum(axis=-1)
    used = ((numbers - balls.numbers.centre[0, smooth]) ** 2).sum(axis=-1)
    return cost, used + ((1 - taken) * balls.states.gap[0, ~smooth]).sum(axis=-1)


def everywhere(balls, number=81, width=4.0):
    axis = np.linspace(-width, width, number)
    grid = np.array(list(itertools.product(axis, repeat=int(balls.numbers.moves[0].sum()))))
    for taken in itertools.product((0, 1), repeat=int((~balls.numbers.moves[0]).sum())):
        yield grid, np.tile(np.array(taken, dtype=float), (len(grid), 1))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(2, 0), (3, 0), (2, 1), (2, 2), (0, 3)])
def test_no_point_as_close_to_the_real_row_is_cheaper(seed, shape) -> None:
    """What makes the sum with a multiplier least is cheapest among all points that use no more room (Everett 1963)."""
    random = np.random.default_rng((seed, *shape))
    numbers, states = shape
    switches = np.column_stack((random.random(states), np.full(states, 2.0), random.normal(size=states)))
    balls = made(
        random.normal(size=numbers), random.normal(size=numbers), random.random(numbers), random.normal(size=numbers),
        switches,
    )  # fmt: skip
    for pull, room in itertools.product((0.0, 0.3, 1.0, 3.0), (0.2, 1.0, 2.5)):
        point, taken = same_bytes(lambda pull=pull, room=room: balls.cheapest(np.array([pull]), np.array([room])))
        own, used = figures(balls, pull, point[0, :numbers], taken[0, numbers:].astype(float))
        assert used <= room + 1e-9
        for grid, states_taken in everywhere(balls, 41 if numbers == 3 else 81):
            cost, far = figures(balls, pull, grid, states_taken)
            assert (cost[far <= used + 1e-12] >= own - 1e-9).all()


@pytest.mark.parametrize("seed", range(4))
def test_with_numbers_alone_it_is_the_cheapest_of_the_whole_ball(seed) -> None:
    random = np.random.default_rng(seed)
    balls = made(*(random.normal(size=2) for _ in range(2)), random.random(2), random.normal(size=2))
    for pull, room in itertools.product((0.0, 0.5, 2.0), (0.2, 1.0)):
        point, _ = balls.cheapest(np.array([pull]), np.array([room]))
        own, _ = figures(balls, pull, point[0], np.zeros(0))
        ((grid, none),) = everywhere(balls, 401)
        cost, far = figures(balls, pull, grid, none)
        least = cost[far <= room].min()
        # twelve halvings leave the multiplier within half a percent, and the grid has steps of a fiftieth
        assert own <= least + 0.02 * (1 + abs(least))
        assert own >= least - 0.02 * (1 + abs(least))


def test_a_ball_that_contains_the_row_needs_no_move() -> None:
    balls = made(np.array([0.3, -0.2]), np.array([0.5, 0.1]), np.array([1.0, 1.0]), np.array([1.0, 1.0]), [(0.5, 2, 1)])
    point, taken = balls.cheapest(np.array([0.0]), np.array([5.0]))
    np.testing.assert_array_equal(point[0, :2], [0.3, -0.2])
    assert not taken.any()


def test_a_ball_without_slack_is_the_real_row() -> None:
    balls = made(np.array([0.0, 0.0]), np.array([1.0, -2.0]), np.array([1.0, 1.0]), np.array([1.0, 1.0]), [(0.5, 2, 1)])
    point, taken = balls.cheapest(np.array([0.0]), np.array([0.0]))
    np.testing.assert_allclose(point[0, :2], [1.0, -2.0], atol=1e-3)
    assert taken[0, 2]


def pairs(built, radius):
    people = np.repeat(np.arange(len(built.region)), 20)
    centres = np.tile(np.arange(20), len(built.region))
    return BallSubproblems.of(
        built.objective, built.reference, built.surrogate, people, centres,
        np.zeros(len(people)), radius, GuardedSettings(),
    )  # fmt: skip


def test_pairs_have_the_objectives_own_prices(case) -> None:
    built = case.built(constraints={"cost": {"x": 3.0, "house": 2.0}})
    balls = pairs(built, 1.0)
    free = built.schema.free_columns
    shifts = built.objective.shifts(balls.transplants, balls.owners)
    moved = np.where(balls.numbers.moves, np.abs(balls.numbers.centre - balls.numbers.own) * balls.numbers.price, 0.0)
    switched = np.where(balls.states.differs, balls.states.price - built.objective.change_weight, 0.0)
    apart = (np.abs(balls.numbers.centre - balls.numbers.own) > 1e-9) | ~balls.numbers.moves
    np.testing.assert_allclose(np.where(apart, moved + switched, shifts), shifts, atol=1e-12)
    gained = np.where(
        balls.numbers.moves,
        (balls.numbers.centre - balls.numbers.own) * balls.slope,
        np.where(balls.states.differs, balls.states.gain, 0),
    )
    whole = built.space.transform(balls.transplants) @ built.surrogate.slope
    np.testing.assert_allclose(balls.score + gained.sum(axis=1), whole, atol=1e-9)
    assert balls.transplants[:, free].shape == balls.numbers.moves.shape


def test_rows_lie_in_their_balls_and_keep_what_cannot_change(case) -> None:
    built = case.built()
    radius = 1.5
    balls = pairs(built, radius)
    for pull in (0.0, 0.4, 3.0):
        weights = np.full(len(balls.owners), pull)
        rows = balls.rows(*same_bytes(lambda weights=weights: balls.cheapest(weights, balls.slack_sq)))
        assert built.region.allows(rows, balls.owners).all()
        np.testing.assert_array_equal(rows[:, 0], built.region.factuals[balls.owners, 0])
        movable = built.space.transform(rows) - coordinates(built.reference)[np.tile(np.arange(20), len(built.region))]
        owner = np.concatenate((built.space.scaled, built.space.indicated, [-1]))
        movable[:, owner == 0] = 0.0
        far = np.sqrt((movable**2).sum(axis=1))
        # steps and whole numbers move a point by half a step each
        slack = sum(0.5 * step / built.space.scale[list(built.space.scaled).index(j)] for j, step in STEPS.items())
        assert (far <= radius + slack).all()


STEPS = {2: 0.1, 3: 1.0, 4: 1.0}


def test_a_frozen_feature_stays(case) -> None:
    built = case.built(constraints={"immutable": ["x", "house"]})
    balls = pairs(built, 1.5)
    rows = balls.rows(*balls.cheapest(np.full(len(balls.owners), 3.0), balls.slack_sq))
    np.testing.assert_array_equal(rows[:, [0, 1, 5]], built.region.factuals[balls.owners][:, [0, 1, 5]])


def test_the_estimated_cost_is_that_of_the_surrogate(case) -> None:
    built = case.built()
    balls = pairs(built, 1.5)
    estimate = same_bytes(lambda: balls.estimated_cost(built.surrogate.threshold))
    never = balls.estimated_cost(1e3)
    always = balls.estimated_cost(-1e3)
    assert (estimate[estimate < 900] > 0).all()
    assert (never > 900).all()
    assert (always <= estimate + 1e-9).all()
    # where no answer is seen, the ball whose score comes closest is the most promising
    highest = np.full(len(estimate), -np.inf)
    for pull in GuardedSettings().probed_score_weights:
        numbers, taken = balls.cheapest(np.full(len(estimate), pull), balls.slack_sq)
        gained = np.where(
            balls.numbers.moves, (numbers - balls.numbers.own) * balls.slope, np.where(taken, balls.states.gain, 0)
        )
        highest = np.maximum(highest, balls.score + gained.sum(axis=1))
    assert (np.diff(highest[np.argsort(never, kind="stable")]) <= 1e-6).all()
