"""Prints what vaescope makes of each style: python -m tests.adapters.corpus [STYLE] [STATE]."""

import sys
import warnings
from collections import Counter

import torch
from tests.adapters.corpus import STYLES
from tests.adapters.corpus.judging import outcome_of, silently_wrong
from tests.adapters.corpus.training import STATES


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    words = sys.argv[1:]
    states = [state for state in STATES if state in words] or list(STATES)
    wanted = [word for word in words if word not in STATES]
    counts: Counter[tuple[str, str]] = Counter()
    wrong = 0
    for style in STYLES:
        if wanted and not any(word in style.name for word in wanted):
            continue
        for state in states:
            outcome = outcome_of(style, state)
            counts[state, outcome.word] += 1
            wrong += silently_wrong(outcome)
            print(outcome, flush=True)
    for state in states:
        own = {word: n for (at, word), n in counts.items() if at == state}
        print(state, own, "of", sum(own.values()))
    print("silently wrong:", wrong)


if __name__ == "__main__":
    main()
