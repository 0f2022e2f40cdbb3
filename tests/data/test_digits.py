"""scikit-learn's digits."""

import numpy as np

from vaescope.data.digits import digits


def test_digits_have_their_known_counts_and_range() -> None:
    data = digits()
    assert len(data) == 1797 and data.shape == (1, 8, 8) and data.factors is not None
    counts = np.bincount(data.factors.classes(np.arange(1797))[:, 0])
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    rows = data.rows(np.arange(1797))
    assert (rows.min(), rows.max()) == (0.0, 1.0)
    assert len(np.unique(rows)) == 17
