"""The constants of the guarded search, in one place.

What set each: (T) tuned inside 70 % of HELOC, frozen at commit 16a3268 before other data were looked at; (C) chosen
among a few values by the cost of answers on German credit, HELOC, GMSC and Adult, so that tables of these data are no
independent check of it; (N) a numerical tolerance or scale; (M) a bound on memory or time; (–) not tuned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from attain.population.guard import GuardSettings, Setting


@dataclass(frozen=True)
class GuardedSettings:
    """See the module's text for what the letters mean."""

    guard: GuardSettings = field(default_factory=GuardSettings)

    # the guard's rates and calibration
    rates: Mapping[Setting, float] = field(
        default_factory=lambda: MappingProxyType({"connected": 0.18, "typical": 0.1})
    )
    """The share of real rows that the guard may refuse, where `rate` is None. (T)"""
    unusual: float = 10
    """An answer is unusual, rather than outside, if it passes at the rate divided by this. (–)"""
    density_samples: int = 5
    """Draws for the density of each row under an autoencoder. (–)"""
    held_out: float = 0.2
    """The share of the training rows kept for calibration, where none are given. (–)"""
    held_out_stream: int = 0xCA11B8A7E
    """Separates the draw of calibration rows from other uses of the seed. (–)"""
    refits: int = 5
    """Models fitted on rows drawn with replacement, where `robust` is a function. (–)"""

    # the objective
    cost: Literal["midrank", "ecdf"] = "midrank"
    """What shifts in the cost are measured by. By `ecdf` it costs almost nothing to leave a value that most rows share
    for a larger one that few have. (–)"""

    # size of a batch
    distances_at_once: int = 16_000_000
    """The most distances between a batch and the training rows. (M)"""
    batch_cells: int = 32_000
    """The most cells of a batch; its subproblems hold about a thousand times as many numbers. (M)"""
    cells_at_once: int = 8_000_000
    """The most cells of candidates in one array: 64 MB. (M; answers change where a budget is nearly spent)"""
    judged_at_once: int = 32
    """Starts put to the guard at a time, at least, until each row has one that passes. (M)"""
    measured_at_once: int = 4096
    """Candidates measured by the guard at a time. (M)"""

    # the linear surrogate of the model
    surrogate_rows: int = 20_000
    """The most training rows that it is fitted on. (M)"""
    ridge: float = 1e-6
    """The ridge penalty, relative to the number of rows. (N)"""
    agreement: float = 0.999
    """It counts as exact if it decides like the model about this share of the training rows. (–)"""
    tolerance: float = 0.01
    """How far below the threshold a row may still meet the goal, in standard deviations of the fitted scores. (T)"""
    saturated: float = 1 - 1e-9
    """Scores of at least this size are 1: their log-odds are lost to rounding. (N)"""

    # starts near real rows
    nearest: int = 512
    """Real rows considered for each row, by distance. (T)"""
    n_balls: int = 48
    """Of these, the ones whose balls are estimated first, by the smaller of two ranks: distance and shift. (T)"""
    n_searched: int = 12
    """Of these, the ones in whose balls the model is asked. (T)"""
    radius_quantile: float = 0.95
    """Without a distance limit, balls reach this quantile of real rows' nearest distances. (T)"""
    radii: tuple[float, ...] = (1.0, 0.75)
    """Radii searched, relative to the guard's. (T)"""
    inside: float = 0.97
    """Balls are a little smaller than the guard's limit, because final form moves a point. (T)"""
    score_weights: tuple[float, float] = (0.025, 10.0)
    """The range of ν searched by bisection. (T)"""
    score_weight_halvings: int = 5
    """Bisections of ν. (T)"""
    probed_score_weights: tuple[float, ...] = (0.1, 0.5, 2.0, 10.0)
    """The ν at which the cost of an answer in each ball is estimated before the model is asked. (T)"""
    log_multipliers: tuple[float, float] = (-6.0, 10.0)
    """The range of log μ searched by bisection. (N)"""
    multiplier_halvings: int = 10
    """Bisections of log μ. (N)"""
    enough_starts: int = 6
    """A row with this many starts needs no further ones from real rows. (T)"""
    horizons: tuple[int, ...] = (6, 0)
    """Months within which answers are searched for by themselves, where changes take time; the longest first. Only the
    first where the schema has no clocks: that was chosen by time and cost on German credit. (T)"""

    # changes of single features
    sweep_values: int = 32
    """The most values of each feature on the grid of changes that are compared, where the model is compiled. (–)"""
    several_changes: tuple[int, int] = (3, 2)
    """How many changes that gain most for what they cost are made, one after the other, and how many of the cheapest
    versions after each that flip the decision are starts, where the model is compiled. (C)"""
    n_swept: int = 3
    """The best candidates of each row whose changes are exchanged exactly. (C)"""
    n_made_up: int = 8
    """The features, those that promise the least cost, by which each change is made up for. (M)"""
    singles_asked: int = 240
    """The most changes of single features that a row's model is asked about, where it is not compiled. (–)"""

    # starts by hill-climbing
    climb_values: int = 12
    """Values tried for each number. (–)"""
    climb_rounds: int = 10
    """The most rounds. (–)"""
    climb_rows: int = 8192
    """Real rows tried as the beginning. (–)"""

    # starts drawn from a density
    n_draws: int = 64
    """Draws for each row. (–)"""
    n_drawn: int = 16
    """Of these, the cheapest that may flip the decision. (–)"""
    draw_stream: int = 0x57A2755
    """Separates their random numbers from those of other searches. (–)"""

    # the local search
    n_candidates: int = 4
    """Candidates of each row, where the surrogate is exact. (T)"""
    n_candidates_inexact: int = 6
    """Candidates of each row, where it is not. (–)"""
    rounds: int = 10
    """The most rounds. (T)"""
    relaxed_rounds: int = 5
    """The most rounds after each relaxation. (T)"""
    relaxations: int = 4
    """Steps from the guard's rate to that of unusual answers, geometrically; after the last there are no limits. (T)"""
    n_kept: int = 8
    """The best candidates of each row that are put to the guard itself. (T)"""
    reversions: tuple[float, ...] = (1.0, 0.5, 0.25)
    """How much of a change is taken back. (T)"""
    fine_reversions: tuple[float, ...] = (0.125, 0.03125)
    """How much of a change is taken back where none of these makes a candidate better. (C)"""
    attractions: tuple[float, ...] = (1.0, 0.5)
    """How far a cell moves towards a real row's. (T)"""
    n_attractors: int = 3
    """Real rows nearest to a candidate that it moves towards. (T)"""
    combined: tuple[int, ...] = (2, 3, 5, 8)
    """How many single changes that improve a candidate are tried together. (T)"""
    n_reverted: int = 3
    """The costliest changes that are exchanged for others. (T)"""
    n_compensating: int = 3
    """The cheapest features to make up for them. (T)"""
    compensation: float = 1.1
    """How much of the lost score they make up for. (T)"""
    n_measured: int = 2
    """The best versions of a candidate whose density is computed. (T)"""
    density_scale: float = 10.0
    """This many nats below the density limit cost as much as an outlier factor e times its limit. (T)"""
    excess_weight: float = 50.0
    """The cost of a unit of excess over the guard's limits: larger than any change, so that a candidate first becomes
    typical, then easy. (–)"""
    shortlist: int = 160
    """Real rows near a row, and near its cheapest start that passes, among which candidates are measured. (T)"""

    # the easiest answer, and the certificate
    easiest_values: int = 1024
    """The most values of a column on the grid; a shift is then off by at most 0.001. (M)"""
    certificate_values: int = 1_000
    """The most values of a number: every multiple of its step, or else values of training rows. (M)"""
    certificate_distances: int = 30_000_000
    """The most distances between a row's options and cells of real rows; beyond it there is no certificate. (M)"""
    certificate_nodes: int = 20_000
    """Nodes after which the solver leaves a ball; its bound holds all the same. (M)"""
