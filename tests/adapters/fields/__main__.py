"""Prints what vaescope makes of each: python -m tests.adapters.fields [FIELD] [STATE]."""

import sys
import warnings
from collections import Counter

import torch
from tests.adapters.fields import FIELDS
from tests.adapters.fields.field import STATES
from tests.adapters.fields.judging import outcome_of


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    words = sys.argv[1:]
    states = [state for state in STATES if state in words] or list(STATES)
    wanted = [word for word in words if word not in STATES]
    counts: Counter[tuple[str, str]] = Counter()
    for one in FIELDS:
        if not wanted or any(word in one.name for word in wanted):
            for state in states:
                outcome = outcome_of(one, state)
                counts[state, outcome.word] += 1
                print(outcome, flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
