"""Lists in sentences."""

from vaescope.wording import commas, listed


def test_a_long_list_names_eight_and_counts_the_rest() -> None:
    assert listed(range(60)) == "0, 1, 2, 3, 4, 5, 6, 7 and 52 more"
    assert commas(range(60)) == "0, 1, 2, 3, 4, 5, 6, 7 and 52 more"


def test_a_list_that_folding_would_not_shorten_is_given_in_full() -> None:
    assert listed(range(9)) == "0, 1, 2, 3, 4, 5, 6, 7 and 8"
    assert listed(["x"]) == "x" and listed(()) == ""
