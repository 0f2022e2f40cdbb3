"""When each text is true that an inspection can say."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tests.verdicts.facts import (
    axes,
    best_known,
    by_lot,
    correlated,
    cosine,
    equal_pairs,
    heard,
    known_factors,
    lists,
    most_of_it,
    named,
    other_shape,
    quarters,
    says_close,
    settled,
    share_of_kl,
    unheard,
    used_correlated,
)
from tests.verdicts.situations import MIXED, NOISY, TYPES, N

Truth = Callable[[Any, str], bool]

OF_MODELS: Mapping[str, Truth] = {
    r"(All \d+ latents are|The only latent is) passive": lambda s, _: (
        s.passive == set(range(len(s.latents)))
    ),
    r": none depends on the data \(posterior collapse\)": lambda s, _: (
        s.indices("passive") == set(range(len(s.latents)))
    ),
    r"if they stay passive, lower beta or raise it slowly from 0": lambda s, _: (
        s.passive == set(range(len(s.latents))) and settled(s) is not True
    ),
    r"Lower beta, or raise it slowly from 0": lambda s, _: (
        s.passive == set(range(len(s.latents))) and settled(s) is True
    ),
    r"Look again when training has converged": lambda s, _: settled(s) is False,
    r"Look again when the decoder gives finite values": lambda s, _: np.isnan(s.unexplained),
    r"Look again when the decoder uses the latents": lambda s, _: s.deaf,
    r"Look again when a latent is active": lambda s, _: not s.indices("active"),
    r"Look again when reconstructions are closer to the data": lambda s, _: (
        not s.read and s.unexplained >= 0.95
    ),
    r"Look again when the model is interpreted correctly": lambda s, _: (
        s.read and s.unexplained >= 0.95
    ),
    r"(All \d+ latents are|The only latent is) active: none is passive": lambda s, _: (
        set(s.latents) == {"active"}
    ),
    r"Give the model more latents until one stays passive, to see how many": lambda s, _: (
        set(s.latents) == {"active"} and not s.deaf
    ),
    r"The model is polarised: .* none mixed\.": lambda s, says: (
        {TYPES[kind] for kind in s.latents} == {"active", "passive"}
        and named(re.findall(r"\(([\d, and]+)\)", says)[0]) == s.indices("active")
    ),
    r"Start with the active latents: they carry [\d.]+% of the total KL": lambda s, says: (
        abs(float(re.findall(r"([\d.]+)%", says)[0]) / 100 - share_of_kl(s)) < 0.001
    ),
    r"The types cannot tell which latents ignore x": lambda s, _: len(s.untyped) == len(s.latents),
    r"The types cannot tell whether [\d, ]+ ignores? x": lambda s, says: (
        named(re.findall(r"whether ([\d, ]+)", says)[0]) == set(s.untyped)
    ),
    r"Judge these latents by what the decoder does with them, not by their variances": (
        lambda s, _: bool(s.untyped)
    ),
    r"(\d+) latents? (?:is|are) mixed: .*\d+ of \d+ are active, \d+ passive\.": lambda s, says: (
        tuple(map(int, re.findall(r"(\d+) latents? (?:is|are) mixed", says)))
        == (len(s.indices(*MIXED)),)
        and [(len(s.indices("active")), len(s.latents), len(s.passive))]
        == [tuple(map(int, n)) for n in re.findall(r"(\d+) of (\d+) are active, (\d+) pas", says)]
    ),
    r"(is|are) used for some examples only": lists(r"(?:is|are) used for some", "some"),
    r"(is|are) uncertain in nearly every example": lists(
        r"(?:is|are) uncertain in nearly", "every", "edge"
    ),
    r"(has|have) nearly the same posterior in nearly every example": lists(
        r"ha(?:s|ve) nearly the same posterior", "constant"
    ),
    r"(is|are) more certain in some examples than in others": lists(
        r"(?:is|are) more certain", "more", "wide"
    ),
    r"Borderline between two types: 0 \(0\.105 against 0\.100\)\.": lambda s, says: (
        s.indices("edge") - set(s.untyped) == {0}
    ),
    r"Of the passive latents, [\d, and]+ (is|are) not quite unused: in .* from that of an unused": (
        lambda s, says: s.indices("rare")
        == named(re.findall(r"passive latents, ([\d, and]+) (?:is|are) not", says)[0])
    ),
    r"a polarised model may use latents for some examples only": lambda s, _: (
        set(s.latents) - {"active", "passive", "rare"} == {"some"}
    ),
    r"Keep mixed latents: they depend on the data. A lower beta makes them more certain": (
        lambda s, _: bool(s.indices(*MIXED)) and not s.indices("constant")
    ),
    r"[\d, and]+ costs? rate and hardly distinguish(es)? examples": lists(
        "costs? rate", "constant"
    ),
    r"Training has not converged:": lambda s, _: settled(s) is False,
    r"Training has converged:": lambda s, _: settled(s) is True,
    r"The loss is too noisy to tell whether training has converged": lambda s, _: (
        s.losses == NOISY
    ),
    r"Look at the curve of the loss, or average the loss over more steps": lambda s, _: (
        s.losses == NOISY
    ),
    r"the loss fell from [\d.]+ in its third quarter to [\d.]+ in its last": lambda s, _: (
        quarters(s)[1] < quarters(s)[0]
    ),
    r"the loss rose from [\d.]+ in its third quarter to [\d.]+ in its last": lambda s, _: (
        quarters(s)[1] > quarters(s)[0]
    ),
    r"the loss went from [\d.]+ in its third quarter to [\d.]+ in its last": lambda s, _: (
        quarters(s)[1] == quarters(s)[0]
    ),
    r"The number of active latents has not changed since step 10\.": lambda s, _: bool(s.losses),
    r"A plateau can look the same: compare the reconstructions with the data": lambda s, _: (
        settled(s) is True
    ),
    r"Train for more steps before you judge the latents": lambda s, _: (
        settled(s) is False and s.losses[-1] < s.losses[0]
    ),
    r"(?i)train again with a lower learning rate( before you judge the latents)?": lambda s, _: (
        settled(s) is False and s.losses[-1] > s.losses[0]
    ),
    r"(?i)train longer": lambda s, _: settled(s) is None,
    r"Look at the traversals: the decoder hardly uses [\d, and]+, though the encoder does": (
        lambda s, says: named(re.findall(r"hardly uses ([\d, and]+)", says)[0]) == unheard(s)
    ),
    r"The decoder's output is the same along every traversal: around a typical example it "
    r"ignores all latents": lambda s, _: s.deaf,
    r"Check that decode\(\) uses its argument. .* use a weaker decoder, or lower beta": (
        lambda s, _: s.deaf
    ),
    r"The decoder hardly uses the (\d+ )?passive latents? \(.*\): (it|they) .* of the change along "
    r"the traversals": lambda s, _: not heard(s) and bool(s.loud),
    r"(it accounts for|together they account for) less than 0\.1%": lambda s, _: not heard(s),
    r"The decoder can do without (it|them): `vaescope prune` removes (it|them)": lambda s, _: (
        not heard(s) and not (s.price and any(s.price))
    ),
    r"The decoder can do without (it|them), but some models that take the means lose accuracy": (
        lambda s, _: not heard(s) and any(s.price)
    ),
    r"The decoder can do without (it|them), but their means encode .* best": lambda s, _: (
        not heard(s) and s.factors == "passive" and s.price is None
    ),
    r"The decoder still uses (a latent that is|latents that are) passive \([\d, and]+\): "
    r".* of the change along the traversals": lambda s, says: (
        named(re.findall(r"passive \(([\d, and]+)\)", says)[0]) == heard(s)
    ),
    r"Keep all latents for now: the decoder still uses [\d, and]+\.": lambda s, says: (
        named(re.findall(r"still uses ([\d, and]+)", says)[0]) == heard(s)
    ),
    r"Do not drop (it|them) yet: .*, then look again": lambda s, _: bool(heard(s)),
    r"Do not drop (it|them) before you know the cost: `vaescope prune` measures it": lambda s, _: (
        bool(heard(s)) and settled(s) is True
    ),
    r"(\d+ of \d+ latents are|Latent \d+ of \d+ is) passive \(.*\)\. The total correlation is "
    r"[\d.-]+ nats for the means, .* for the samples, and [\d.]+ for the means without the passive "
    r"latents( \([\d.]+ after dropping as many latents at random\))?": (
        lambda s, says: s.passive == named(
            re.findall(r"Latent (\d+) of|passive \(([\d, and]+);", says)[0][len(s.passive) > 1]
        )
    ),
    r", where independent latents have [\d.]+ at n = 400": lambda s, says: (
        abs(float(re.findall(r"independent latents have ([\d.]+)", says)[0]) - by_lot(s)) < 0.01
    ),
    r": the passive latents make the means look correlated": (
        lambda s, _: correlated(s) and most_of_it(s)
    ),
    r": the used latents are hardly correlated, but the same is true of the latents that remain "
    r"when as many are dropped at random": (
        lambda s, _: correlated(s) and not most_of_it(s) and not used_correlated(s)
    ),
    r"Look at the used latents alone: [\d, and]+": lambda s, _: (
        correlated(s) and not most_of_it(s) and not used_correlated(s)
        and not heard(s) and s.price is None
    ),
    r": dropping as many latents at random lowers it about as much, so the passive latents are not "
     "the whole reason": (
        lambda s, _: correlated(s) and not most_of_it(s) and used_correlated(s)
    ),
    r"Look for correlated pairs among the used latents: [\d, and]+": lambda s, _: (
        correlated(s) and not most_of_it(s) and used_correlated(s)
        and not heard(s) and s.price is None
    ),
    r": the passive latents add little to it": lambda s, _: not correlated(s),
    r"Before you leave them out of a model that takes the means, measure what that costs; "
    r"`vaescope prune` does so if the data have labels\. bonheme2023 advises leaving them out, but "
    r"in our runs linear classifiers lost accuracy\. Used: [\d, and]+": lambda s, _: (
        correlated(s) and most_of_it(s) and not heard(s) and s.price is None
    ),
    r"Drop the passive latents if you feed samples to another model: their samples are noise": (
        lambda s, _: not heard(s) and s.price is None
    ),
    r"That loses the little information that [\d, and]+ encodes?": lambda s, says: (
        named(re.findall(r"little information that ([\d, and]+)", says)[0]) == s.indices("rare")
    ),
    r"Keep them if you need .*: their means encode it best": lambda s, _: s.factors == "passive",
    r"mean variance [\d.]+( to [\d.]+)? times that of an unused latent": lambda s, _: s.scale != 1,
    r"mean variance [\d.]+( to [\d.]+)?[);]": lambda s, _: s.scale == 1 or bool(s.untyped),
    r"Samples of each used latent have about the mean and standard deviation of the prior.*; "
    r"the furthest off is latent \d+ \(mean .*, standard deviation [\d.]+": lambda s, says: (
        (not s.shift or 0 in s.passive) and not s.indices("constant", "wide")
    ),
    r"Each latent can be drawn from the prior on its own": lambda s, _: (
        (not s.shift or 0 in s.passive) and not s.gaps
    ),
    r"The samples have the mean and standard deviation of the prior.*, but not its shape: those of "
    r"latent \d+ are [\d.]+ from it by Kolmogorov's distance": lambda s, _: other_shape(s),
    r"Look at the histograms: codes from the prior may lie where few examples do": lambda s, _: (
        other_shape(s)
    ),
    r"The samples of latent \d+ do not follow the prior.*\(mean .*, standard dev.*\)": (
        lambda s, _: bool(s.shift) or bool(s.indices("constant", "wide"))
    ),
    r"Draw codes from the posteriors of the data rather than from the prior": lambda s, _: (
        bool(s.shift) or bool(s.indices("constant", "wide"))
    ),
    r", assumed to be N\(0, I\)": lambda s, _: s.assumed,
    r"If the model has another prior, pass prior=": lambda s, _: s.assumed,
    r"the axes separate the factors\.": lambda s, _: known_factors(s) == {"a", "b"},
    r"the axes separate the factors, but only by a small gap": lambda s, _: s.factors == "weak",
    r"the axes separate \d+ of \d+ factors \(.*\)\.": lambda s, says: (
        set(re.findall(r"[ab]", re.findall(r"separate \d+ of \d+ factors \((.*?)\)", says)[0]))
        <= (known_factors(s) if s.factors == "used" else {"a", "b"})
        and (s.factors in ("used", "weak") or bool(s.untyped) or s.correlated)
    ),
    r"Means of passive latents encode .* too, which lowers MIG": lambda s, _: s.correlated,
    r"MIG is [\d.]+ \(one seed.*, n = 400\)": lambda s, _: bool(s.factors),
    r"A rotation separates them: a and b in \d+ and \d+, rotated by about 4\d degrees": (
        lambda s, _: s.factors == "rotated"
    ),
    r"A rotation separates them: a and b in 0 and 1, rotated by about (19|2\d) degrees": (
        lambda s, _: s.factors == "leaning"
    ),
    r"Rotate these latents before you name them: vs\.rotate": lambda s, _: (
        s.factors in ("rotated", "leaning")
    ),
    r"no single latent is enough for a and b": lambda s, _: s.factors in ("joined", "leaning"),
    r"Encoded by several latents: a and b in 0 and 1, mixed in a way that no rotation undoes": (
        lambda s, _: s.factors == "joined"
    ),
    r"Name these latents together, not one by one": lambda s, _: s.factors == "joined",
    r"the axes do not separate the factors": lambda s, _: not known_factors(s),
    r"there are too few examples to tell which latents encode the factors": lambda s, _: (
        s.classes > N // 4
    ),
    r"Encode more examples that have factors": lambda s, _: s.classes > N // 4,
    r"Train other seeds before you rely on this: seeds can differ as much as methods do": (
        lambda s, _: s.factors == "used"
    ),
    r"Look at the table of factors for latents that encode the same factor": lambda s, _: (
        s.factors == "weak"
    ),
    r"Look at the table of factors for the others": lambda s, _: len(known_factors(s)) < 2,
    r"Treat the latents as coordinates without a meaning, and do not name them": lambda s, _: (
        not known_factors(s)
    ),
    r"Use the table of factors without the passive latents: their samples are noise": (
        lambda s, _: s.factors == "passive"
    ),
    r"Best encoded: ": best_known,
    r"No latent encodes [ab]( and b)?\.": lambda s, _: len(known_factors(s)) < 2,
    r"Means of passive latents encode .* best": lambda s, _: s.factors == "passive",
    r"Latent \d+ encodes a and b": lambda s, says: (
        (s.factors in ("shared", "rotated") or (s.factors == "passive" and s.correlated))
        and not named(re.findall(r"Latent (\d+) encodes", says)[0]) & s.passive
    ),
    r"the encoder saw the factors, so this does not show what it learns without them": (
        lambda s, _: s.supervised
    ),
    r"Test it on data whose factors it did not see, or compare it with a model without u": (
        lambda s, _: s.supervised
    ),
    r"\(supervised\)": lambda s, _: s.supervised,
    r"(A linear model|Nearest neighbours) on means loses? accuracy on the factors \(.*\): keep "
    r"the passive means for this use": lambda s, _: (
        s.price == (True, False)
    ),
    r"(A linear model|Nearest neighbours) on means loses? no accuracy on the factors beyond "
    r"noise .*: drop them": (
        lambda s, _: s.price is not None and not all(s.price)
    ),
    r"DtO is [\d.]+ against [\d.]+ for randomly rotated axes: ": lambda s, _: bool(s.axes),
    r"the axes are close to the local principal components of the decoder's output": axes(0, 0.5),
    r", and its directions are nearly orthogonal \(the largest mean \|cosine\| is .*, between \d+ "
    r"and \d+\)": lambda s, _: cosine(s) < 0.3,
    r", but its directions are not orthogonal: \d+ and \d+ have a mean \|cosine\| of": (
        lambda s, _: cosine(s) >= 0.3
    ),
    r"the axes are closer to the local principal components of the decoder's output than chance, "
    r"but not close \(": axes(0.45, 0.85),
    r"mean \|cosine\| (of|is) [\d.]+\d": lambda s, says: (
        abs(float(re.findall(r"cosine\| (?:of|is) ([\d.]+\d)", says)[0]) - cosine(s)) < 0.01
    ),
    r"the decoder's directions are nearly orthogonal \(.*\), but they are not the "
    r"local principal components of its output": lambda s, _: cosine(s) < 0.3,
    r"the axes are hardly closer to the local principal components of the decoder's output than "
    r"chance, and not orthogonal: ": lambda s, _: (
        axes(0.75, 9)(s, "") and cosine(s) >= 0.3
    ),
    r"Orthogonal columns whose lengths differ by less than 5% may rotate into each other: ": (
        equal_pairs
    ),
    r"Interpret latents one by one; compare seeds before you give them names": lambda s, _: (
        cosine(s) < 0.3
    ),
    r"Interpret latents one by one, except pairs that may rotate into each other": lambda s, _: (
        s.axes in ("equal", "free")
    ),
    r"The decoder's directions need not be your factors: here they are not": lambda s, _: (
        not known_factors(s) and bool(s.factors)
    ),
    r"Moving one latent may change (a little of )?what another encodes: look at the traversals": (
        lambda s, _: cosine(s) > 0.05
    ),
    r"Compare seeds before you give latents names: their axes may rotate": lambda s, _: (
        s.axes == "free"
    ),
    r"Do not interpret latents one by one\. Train with a diagonal posterior, or rotate the used": (
        lambda s, _: cosine(s) >= 0.3
    ),
    r"Rely on the table of factors rather than on the decoder's directions": lambda s, _: (
        known_factors(s) == {"a", "b"}
    ),
    r"(That|DtO|The \|cosine\||Their mean gap|The share explained) is borderline: ": (
        lambda s, says: says_close(says)
    ),
    r"Borderline: [ab] \([\d.]+ against [\d.]+\)": lambda s, says: says_close(says),
    r"patial means? of (the )?channels? [\d, and]+ (is|are) passive, but (its|their) positions "
    r"carry up to 2 nats each": lambda s, says: (
        s.maps == "places" and named(re.findall(r"channels? ([\d, and]+)", says)[0]) == s.passive
    ),
    r"Judge these channels by position, and keep them": lambda s, _: s.maps == "places",
    r"The latents are the same for all examples, so they have no scale": (
        lambda s, _: s.maps == "flat"
    ),
    r"Check that the data differ and that the encoder uses them": lambda s, _: s.maps == "flat",
    r"The latents have a standard deviation of 5 on these data": lambda s, _: (
        s.maps in ("plain", "places")
    ),
    r"Multiply them by 1 / 5 = 0\.2 before you train a diffusion model on them": lambda s, _: (
        s.maps in ("plain", "places")
    ),
    r"The published scaling factor is 0\.\d+; these data need 1 / 5 = 0\.2": lambda s, _: (
        s.maps in ("right", "shifted", "wrong")
    ),
    r" after a shift of 0, where 0\.1 is published": lambda s, _: s.maps == "shifted",
    r"Channel 1 is the farthest from the published latents_mean and latents_std: 0 and [58][.\d]* "
    r"there, 0 and 5 on these data": lambda s, _: s.maps in ("channels", "off"),
    r"^Keep them\.": lambda s, _: s.maps == "channels",
    r"For data like these: \"latents_mean\": \[0\.0000, 0\.0000\], \"latents_std\": \[5\.0000, "
    r"5\.0000\]": lambda s, _: s.maps == "off",
    r"^Keep it\.": lambda s, _: s.maps in ("right", "shifted"),
    r"Use 0\.2 for data like these; the table has the factor of each channel": lambda s, _: (
        s.maps == "wrong"
    ),
    r"Reconstructions are no closer to the data than the mean of all examples: their squared error "
    r"is 1\.40 times that of the mean": lambda s, _: s.unexplained == 1.4,
    r"Reconstructions are hardly closer to the data than the mean of all examples: their squared "
    r"error is 0\.9[56] times that of the mean": lambda s, _: s.unexplained in (0.96, 0.954),
    r"The decoder returns values that are NaN or infinite: these examples have no reconstruction": (
        lambda s, _: s.unexplained is not None and np.isnan(s.unexplained)
    ),
    r"Look for the cause in the decoder before you use any number that depends on it": (
        lambda s, _: np.isnan(s.unexplained)
    ),
    r"Either the model is untrained or collapsed, .* before you trust any number below": (
        lambda s, _: s.read
    ),
    r"The model is untrained or collapsed, or these are not its data\. .*, or lower beta": (
        lambda s, _: not s.read and s.unexplained >= 0.95
    ),
    r"or these are not its data\. Lower beta\.": lambda s, _: (
        not s.read and s.unexplained >= 0.95 and settled(s) is True
    ),
}  # fmt: skip
