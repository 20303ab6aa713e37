"""What the tests of sketches share."""

import numpy as np
from scipy.stats import chi2


def chi_square_p(counts, probabilities):
    """The p-value of the chi-square test, cells expected less than 10 times taken together."""
    counts, probabilities = np.asarray(counts, float), np.asarray(probabilities, float)
    n = counts.sum()
    rare = probabilities * n < 10
    counts = np.append(counts[~rare], counts[rare].sum())
    probabilities = np.append(probabilities[~rare], probabilities[rare].sum())
    kept = probabilities > 0
    assert counts[~kept].sum() == 0
    return chi2.sf(
        ((counts - n * probabilities)[kept] ** 2 / (n * probabilities)[kept]).sum(), max(kept.sum() - 1, 1)
    )
