"""`python -m experiments capacity`: how large an autoencoder to search, on your own data and model."""

from __future__ import annotations

from attain.cli.evaluate import comparison_inputs
from attain.cli.layer import NO_ANSWERS, Arguments
from attain.cli.terminal import say, say_json, width


def run(given: Arguments) -> int:
    """Sweeps, writes and reports; returns the exit code."""
    from experiments.research.capacity import capacity

    card = capacity(**comparison_inputs(given), quick=given.quick, seconds=given.seconds)
    written = [] if given.out is None else [str(path) for path in card.write(given.out)]
    if given.json:
        networks = card.table.reset_index().to_dict("records")
        say_json({"out": written, "recommended": card.recommended, "networks": networks})
    else:
        print(card.text(width()))
        if written:
            say(f"\nWritten: {', '.join(written)}")
    return 0 if (card.table["found"] > 0).any() else NO_ANSWERS
