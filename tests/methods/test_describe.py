"""Answers that somebody has already, described as `explain` describes those it finds."""

import json
import re

import numpy as np

from attain.results.status import Status
from attain.testing import people
from tests.desk.service.world import refused, trained


def test_answers_that_were_found_are_described_as_before() -> None:
    explainer, model, others = trained()
    person = others.loc[[refused()[1]]]
    asked = {"ranges": True, "importance": True, "contributions": True}
    session = explainer.session(model, target=people.DESIRED)
    found = session.explain(person, n=2, **asked)
    given = session.describe(person, found.rows, **asked)
    known, again = (json.loads(one.to_json()) for one in (found, given))
    assert len(found.rows) == 2
    # nothing was searched: the model was asked about other rows, and there are no figures of a search
    for one in (known, again):
        one.pop("rows_asked")
        one.pop("rows_uncharged")
        one["person_figures"].pop("rows_scored")
    purpose = re.compile(r" \w+ asks for more than [^.]*\.")  # what the search knows of an option
    known["sentences"] = [purpose.sub("", text) for text in known["sentences"]]
    known["option_figures"] = {name: known["option_figures"][name] for name in again["option_figures"]}
    assert {"typicality", "total_shift", "connected"} <= again["option_figures"].keys()
    assert again == known


def test_answers_that_do_not_hold_are_left_out() -> None:
    explainer, model, others = trained()
    person = others.loc[[refused()[1]]]
    session = explainer.session(model, target=people.DESIRED)
    found = session.explain(person)
    own = found.table.values
    alone = session.describe(person, own)
    assert alone.statuses == (Status.OUT_OF_REACH,)
    both = session.describe(person, np.concatenate((own, found.rows)))
    np.testing.assert_array_equal(both.rows, found.rows)
    changed = np.flatnonzero(own[0] != found.rows[0])
    locked = {"immutable": [explainer.population_.schema.names[changed[0]]]}
    held = session.describe(person, found.rows, constraints=locked)
    assert not len(held.rows)
