"""Every registered likelihood, and one from outside, passes the public suite."""

import pytest

from attain.density.likelihoods import registered
from attain.testing.likelihood import check_likelihood


@pytest.mark.parametrize("name", sorted(registered()))
def test_likelihood_keeps_its_contract(name: str) -> None:
    check_likelihood(registered()[name])
