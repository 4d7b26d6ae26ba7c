"""What the paper leaves open or gets wrong, and what was done about it."""

from __future__ import annotations

from typing import Final

REMARKS: Final = (
    ("Algorithm 1", "It samples from S(ẑ, r, Δr), which is empty once r exceeds Δr.", "Read as S(ẑ, r, r + Δr)."),
    (
        "Algorithm 1",
        "The box of training codes is tested before a sample exists, for a vector as if for a number, and what happens "
        "when the box is left without an answer is not said.",
        "Samples outside the box in any dimension are discarded; the stop rule is a parameter, and three are run.",
    ),
    (
        "Algorithm 1",
        "The p of the norm, and the component with which z̃ is decoded, are not given.",
        "p = 2; the most probable component at z̃, and on a line of its own that of the person.",
    ),
    (
        "Section 4",
        "g(z) is written without xᵖ and c, against p(xᶠ | z, c, xᵖ); the encoder's factorisation holds p(xᶠ | ·).",
        "The decoder has both; the encoder is q(c | x) q(z | x, c).",
    ),
    (
        "Section 5",
        "A chain may run through all of X and only its ends must be accepted: for a linear f everything is connected.",
        "Chains run over real people of the desired class (DBSCAN with min_samples 2).",
    ),
    (
        "Section 5",
        "k, ε, scaling, contamination and min_samples are not given.",
        "k from 5 to 40, 1 % contamination, z-scored columns, ε absolute and at quantiles of real people's distances.",
    ),
    ("Section 5", "Strictly less than ε in the text, DBSCAN has at most.", "At most ε."),
    (
        "Table 1",
        "Less debt is shown as a rise from the 55th to the 75th percentile, fewer loans as a fall from the 85th to the "
        "65th.",
        "Percentiles are always the share of people at or below the value.",
    ),
    (
        "Tables 3, 4",
        "HELOC: two features are listed twice, one with contrary arrows; the arrows of three others point the wrong "
        "way; one listed feature is not in the data and one in the data is not listed; codes with an order are "
        "Poisson.",
        "Corrected; HCLS runs with the corrected arrows, and with the printed ones on a line of its own.",
    ),
    (
        "Section 6.2",
        "D⁺ is written as y = 1, but 1 is the bad outcome in both data sets.",
        "D⁺ has the desired label: 0 in Give Me Some Credit, Good in HELOC.",
    ),
    (
        "Section 6.2",
        "HCLS explains another classifier than the others; whose refusals and whose people judge it are not said.",
        "It is judged against its own SVM's people, for both choices of refused people.",
    ),
    (
        "Appendix D",
        "The SVM with a Gaussian kernel on Give Me Some Credit was trained on an amount of data that is not said.",
        "On 5,000 training rows drawn by the seed; the logistic regression on all.",
    ),
    (
        "Released code",
        "The decoder gets neither xᵖ nor c, reconstruction is weighted by 1.2, decoding is a random draw, the box is "
        "missing, the distance is that of the inputs, and TS and MS are taken from histograms.",
        "The line “as released” has its search (random decoding, no box, least input distance) with this CHVAE.",
    ),
    (
        "Appendix C",
        "The text names HCLS, the figure GS; the answers are in three categories and in all.",
        "AR, GS and C-CHVAE, as in the figure.",
    ),
    ("Section 6.1", "The centres of the blobs and the seed are not given.", "(−5, 9), (0, 4.5), (6, 1); every seed."),
    (
        "Section 5.1",
        "P, the ratio of two nearest distances, has the label of the local outlier factor in the text, but orders "
        "answers differently: among 0, 1, 2, 3, 10, 10.1 the answers 4 and 10.3 have P 1 and 2, but LOF (k = 2) 1.33 "
        "and 1.",
        "The figures are called local outlier factor scores, so that is what is drawn.",
    ),
)
"""Where, what, and what was done."""

PRINTED: Final = (
    (
        "Give Me Some Credit, codes 96 and 98",
        "counts, with a Poisson likelihood",
        "states apart from the counts, which one may leave and not enter",
    ),
    ("AR's cost", "the largest shift, the default of the published code", "the total shift; the local cost"),
    ("GS", "with the published step that takes back changes", "without it, as in the code released with the paper"),
    ("HCLS's budget", "10, all of it spent", "the least that flips the decision"),
    ("HCLS's directions on HELOC", "as printed", "corrected (its main line), and none"),
    ("distances", "not said; the released code leaves columns as they are", "z-scored (the main figures), and raw"),
    (
        "C-CHVAE's stop rule",
        "not clear: until the last sample has left the box of training codes (the main line)",
        "until half of them have; until the first has",
    ),
    ("C-CHVAE's search", "Algorithm 1, shell after shell", "the search of the released code"),
    ("the autoencoder of the blobs", "“outputs of a DNN”: one hidden layer", "linear, as in the released code"),
    ("the best that is known here", "–", "the guarded search of this package"),
)
"""What is run as the paper has it, and what is run beside it."""
