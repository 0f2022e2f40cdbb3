"""An inspection as a page."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from vaescope import __version__
from vaescope.figures.charts import (
    curves_chart,
    factors_chart,
    histograms_chart,
    traces_chart,
)
from vaescope.inspection import Inspection
from vaescope.inspection.results import Fit
from vaescope.metrics import Score
from vaescope.report import closer_look, gallery, metric_sections
from vaescope.report.chart_parts import figure
from vaescope.report.latents import (
    HOLD,
    SHOWN_LATENTS,
    SUPERVISED,
    cut,
    factor_of,
    is_point,
    latents_section,
    named,
)
from vaescope.report.learnt import learnt_screen
from vaescope.report.page import (
    Column,
    Fact,
    Listing,
    Page,
    PageStatement,
    PageTable,
    Part,
    Picture,
    Pictures,
    Prose,
    Section,
)
from vaescope.report.pictures import columns_of, rows_of
from vaescope.report.render import render, write_page
from vaescope.report.signals import images_of, reconstructed, traversed
from vaescope.report.sliders import ROOM, budget_beside, sliders, without_room
from vaescope.settings import dump_yaml
from vaescope.verdicts import PAPERS, Verdict

__all__ = ["page_of", "save"]


def save(inspection: Inspection, path: str | Path, *, images: bool = True) -> None:
    """Writes the report of an inspection: one HTML file that opens from disk.

    `images=False` leaves out all pictures: the data's, and what the decoder makes of them.
    """
    write_page(page_of(inspection, images=images), path)


def page_of(inspection: Inspection, *, images: bool = True) -> Page:
    """The page of an inspection: verdicts, then one section for each result that is there."""
    subject = inspection.subject
    made: list[Callable[[], Section | None]] = [
        lambda: latents_section(inspection),
        lambda: _traversals(inspection, images=images),
        lambda: sliders(inspection, images=images),
        lambda: gallery.scattered(inspection) if images else None,
        lambda: _reconstructions(inspection, images=images),
        lambda: closer_look.likelihood(inspection),
        lambda: _factors(inspection),
        lambda: metric_sections.correlation(inspection),
        lambda: metric_sections.geometry(inspection),
        lambda: metric_sections.metrics(inspection),
        lambda: metric_sections.decomposition(inspection),
        lambda: closer_look.diagnostics(inspection),
        lambda: metric_sections.maps(inspection),
        lambda: _prior(inspection, images=images),
        lambda: _training(inspection),
        lambda: metric_sections.inferred(inspection),
        lambda: _settings(inspection),
    ]
    sections = tuple(section for make in made if (section := make()) is not None)
    shows = any(part.kind == "pictures" for section in sections for part in section.parts)
    page = Page(
        subject.name,
        f"{subject.says} Numbers are computed over {_examples(subject.n, subject.of)} of "
        f"{subject.data}." + (f" Inferred: {inspection.read}." if inspection.inferred else ""),
        tuple(_facts(inspection)),
        statements(inspection.verdicts),
        sections,
        (
            f"Made by vaescope {__version__}. This file loads nothing from the network.",
            "It shows examples of the data and reconstructions; --no-images leaves them out."
            if shows
            else "It shows no examples of the data.",
        ),
        learnt_screen(inspection, images=images),
    )
    # Where the decoder does not fit, pictures may be larger again.
    if page.has("sliders") and (size := len(render(page).encode())) >= ROOM:
        return page_of(without_room(inspection, size), images=images)
    return page


def _examples(n: int, of: int) -> str:
    return f"all {n:,} examples" if n == of else f"{n:,} of {of:,} examples"


def statements(verdicts: Sequence[Verdict]) -> tuple[PageStatement, ...]:
    """Verdicts as they are shown: each that has no cause, with its consequences."""
    return tuple(
        replace(
            _statement(verdict),
            follow=tuple(_statement(own) for own in verdicts if own.cause == verdict.id),
        )
        for verdict in verdicts
        if verdict.cause is None
    )


def _statement(verdict: Verdict) -> PageStatement:
    paper = None if verdict.paper is None else PAPERS[verdict.paper]
    return PageStatement(
        verdict.tone, verdict.shown, verdict.says, f"Good if {verdict.rule}", verdict.advice,
        verdict.section,
        "" if paper is None else paper.title, "" if paper is None else paper.url,
    )  # fmt: skip


def _facts(inspection: Inspection) -> Iterable[Fact]:
    for kind in () if is_point(inspection.latents) else ("active", "mixed", "passive"):
        count = sum(latent.type == kind for latent in inspection.latents)
        yield Fact(kind, str(count), f"of {len(inspection.latents)}", kind)
    fit = inspection.fit
    if fit is not None:
        n = f"n{HOLD}={HOLD}{fit.n:,}"
        sd = f"nats, sd{HOLD}{fit.distortion_sd:.1f}, {n}"
        yield Fact("distortion", f"{fit.distortion_nats:.1f}", sd)
        yield Fact("rate", f"{fit.rate_nats:.2f}", f"nats, sd{HOLD}{fit.rate_sd:.2f}, {n}")
    if inspection.factors is not None:
        score = inspection.factors.mig
        chance = "" if score.chance is None else f", {score.chance:.2f} by chance"
        seen = ", supervised" if inspection.factors.supervised else ""
        n = f"n{HOLD}={HOLD}{score.protocol.n:,}"
        yield Fact("MIG", f"{score.value:.2f}", f"one seed{seen}{chance}, {n}")


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 or share == 0 else "<0.1%"


def _traversals(inspection: Inspection, *, images: bool) -> Section | None:
    moved, latents = inspection.traversals, inspection.latents
    if moved is None:
        return None
    lead = (
        "One latent varies; the others stay at the code of a typical example. Its share is the "
        "part of the total change over all rows that it accounts for."
    )
    shares = PageTable(
        "traversals", "Share of each latent in the total change over all rows.",
        (
            Column("Latent", "number", 0), Column("Type", "type"),
            Column("Share", "bar", 4, full=1.0),
        ),
        tuple((z.index, z.type, float(moved.share[z.index])) for z in latents),
    )  # fmt: skip
    ends = f"{moved.values[0]:g} to {moved.values[-1]:g}".replace("-", "\N{MINUS SIGN}")
    ends += f" {moved.units}" if moved.units else ""
    parts: list[Part]
    if moved.outputs is None or not images:
        parts = [Prose("Pictures were left out (--no-images)."), shares]
    elif (drawn := images_of(inspection, moved.outputs, 2)) is not None:
        few = latents[:SHOWN_LATENTS]
        budget = budget_beside(inspection.network)
        # Of video, the frames of fewer positions: they lie side by side too.
        wide = drawn.shape[-1] > 3 * drawn.shape[-2]
        places = np.linspace(0, len(moved.values) - 1, 5 if wide else len(moved.values)).astype(int)
        strips = rows_of(drawn[[z.index for z in few]][:, places], budget)
        pictures = tuple(
            Picture(
                png,
                f"Outputs as {named(z)}, moves from {ends}. It accounts for "
                f"{_percent(moved.share[z.index])} of all change.",
                label=str(z.index), note=_percent(moved.share[z.index]),
                extra=factor_of(inspection, z), type=z.type,
            )
            for z, png in zip(few, strips, strict=True)
        )  # fmt: skip
        marks = tuple(f"{value:g}".replace("-", "\N{MINUS SIGN}") for value in moved.values[places])
        caption = f"Each latent from {ends}. Passive ones are dimmed.{cut(latents)}"
        parts = [Pictures(caption, pictures, "rows", marks, shares)]
    else:
        parts = [*traversed(inspection, moved, latents[:SHOWN_LATENTS], ends), shares]
    if images:
        parts += [*gallery.action(inspection), *gallery.grid(inspection)]
    if images and inspection.subject.kind == "images" and "sliders" in inspection.skipped:
        reason = inspection.skipped["sliders"]
        parts.append(Prose(f"There are no live sliders: {reason}", aside=True))
    parts += [Prose(note, aside=True) for note in inspection.notes]
    return Section("traversals", "Traversals", lead, tuple(parts))


def _reconstructions(inspection: Inspection, *, images: bool) -> Section | None:
    shown = inspection.reconstructions
    if shown is None or not images:
        return None
    lead = "What is lost by encoding and decoding."
    fit = inspection.fit
    parts: list[Part]
    pairs = None
    if shown.originals.shape == shown.outputs.shape:  # tokens have probabilities for outputs
        both = np.stack([shown.originals, shown.outputs], axis=1)  # (n, 2, *event)
        pairs = images_of(inspection, both, 2)
    if pairs is None:
        parts = reconstructed(inspection, shown)
    else:
        columns = columns_of(pairs, budget_beside(inspection.network))
        pictures = tuple(
            Picture(png, f"Original above its reconstruction: {label}.")
            for png, label in zip(columns, shown.labels, strict=True)
        )
        caption = (
            f"{len(pictures)} examples, each above its reconstruction from the posterior mean."
        )
        parts = [Pictures(caption, pictures, "tiles")]
    parts += [*gallery.worst(inspection), *gallery.way(inspection)]
    if fit is not None:
        text = (
            f"Distortion {fit.distortion_nats:.1f} nats (sd {fit.distortion_sd:.1f}) and rate "
            f"{fit.rate_nats:.2f} nats (sd {fit.rate_sd:.2f}) per example, over {fit.n:,} examples "
            "and one posterior sample of each."
        )
        parts.append(Prose(text, aside=True))
        parts += [Prose(line, aside=True) for line in _mean_or_sample(inspection, fit)]
    if inspection.effective_beta is not None:
        parts.append(Prose(inspection.effective_beta.summary(), aside=True))
    return Section("reconstructions", "Reconstructions", lead, tuple(parts))


def _mean_or_sample(inspection: Inspection, fit: Fit) -> list[str]:
    """Whether it matters which of the two is decoded, and the noise of each used latent."""
    lines = []
    if fit.distortion_of_means is not None:
        more = fit.distortion_nats - fit.distortion_of_means
        lines.append(
            f"Decoding the means costs {fit.distortion_of_means:.1f} nats per example, decoding "
            f"samples {more:.1f} nats more."
        )
    noise = {
        z.index: z.mean_variance / z.variance_of_mean
        for z in inspection.latents
        if z.type != "passive" and z.variance_of_mean > 0
    }
    if noise:
        least, most = min(noise, key=noise.__getitem__), max(noise, key=noise.__getitem__)
        lines.append(
            "Noise to signal (mean variance over variance of means) of the used latents ranges "
            f"from {noise[least]:.2g} (latent {least}) to {noise[most]:.2g} (latent {most})."
        )
    return lines


def _chance(score: Score) -> str:
    if score.chance is None:
        return ""
    ceiling = float(score.details["ceiling"]) if "ceiling" in score.details else None
    most = "" if ceiling is None else f" and perfect ones about {ceiling:.2f}"
    return f"Codes without information would score {score.chance:.3f} here{most}. "


def _factors(inspection: Inspection) -> Section | None:
    factors = inspection.factors
    if factors is None:
        return None
    score, latents = factors.mig, inspection.latents
    gaps = score.details["gaps"].tolist()
    best = factors.normalised.argmax(axis=0).tolist()
    table = PageTable(
        "mig", "The gap of each factor between the two latents that encode it best.",
        (
            Column("Factor"), Column("Best latent", "number", 0),
            Column("Share encoded", "number", 2), Column("Gap", "bar", 2, full=1.0),
        ),
        tuple(
            (name, best[k], float(factors.normalised[best[k], k]), gaps[k])
            for k, name in enumerate(factors.names)
        ),
    )  # fmt: skip
    alt = "Table of the share of each factor that each latent encodes. " + "; ".join(
        f"{name}: most in latent {best[k]}, {factors.normalised[best[k], k]:.2f}"
        for k, name in enumerate(factors.names)
    )
    caption = "Share of each factor (columns) that each latent (rows) encodes: I(z; v) / H(v)."
    text = (
        f"MIG {score.value:.3f} is the mean of the gaps (Chen et al. 2018): "
        f"{score.protocol.settings['bins']} equal bins of the means, n = {score.protocol.n:,}, one "
        f"seed. {_chance(score)}Means of passive latents may encode factors too; their samples do "
        f"not.{SUPERVISED if factors.supervised else ''}"
        + (f" These codes violate assumptions of MIG: {'; '.join(score.validity)}. Trials are "
           "those of the court of metrics (vaescope court)." if score.validity else "")
    )  # fmt: skip
    chart = factors_chart(factors, latents[:SHOWN_LATENTS])
    parts = (figure("factors", chart, caption + cut(latents), alt), table)
    lead = "Which latent encodes which factor."
    return Section("factors", "Factors", lead, (*parts, Prose(text, aside=True)))


def _prior(inspection: Inspection, *, images: bool) -> Section:
    latents, moments = inspection.latents, inspection.samples
    chart = histograms_chart(inspection.histograms, latents[:SHOWN_LATENTS])
    alt = "A histogram for each latent. " + "; ".join(
        f"{named(z)}: samples with mean {moments.mean[z.index]:.2f} and standard deviation "
        f"{moments.variance[z.index] ** 0.5:.2f}{' ' if moments.units else ''}{moments.units}"
        for z in latents[:SHOWN_LATENTS]
    )
    caption = (
        "Density of the posterior means and of one sample per example, against the prior, "
        f"{inspection.histograms.says}. Heights are cut at {inspection.histograms.top:.2g}: the "
        "means of a passive latent are a spike."
        f"{cut(latents)}"
    )
    lead = "Whether codes drawn from the prior resemble those that the decoder was trained on."
    samples = gallery.drawn(inspection) if images else []
    return Section("prior", "Prior", lead, (*samples, figure("prior", chart, caption, alt)))


def _training(inspection: Inspection) -> Section | None:
    training = inspection.training
    if training is None:
        return None
    alt = (
        f"Curves over {training.step[-1]:,} steps. Distortion goes from "
        f"{training.distortion[0]:.1f} to {training.distortion[-1]:.1f} nats"
    )
    if not np.isnan(training.rate).all():
        alt += (
            f", rate from {training.rate[0]:.2f} to {training.rate[-1]:.2f} nats; in the end "
            f"{training.active[-1]} latents are active, {training.mixed[-1]} mixed and "
            f"{training.passive[-1]} passive"
        )
    caption = "Each point is a mean over the training batches since the previous point."
    lead = "How training went."
    parts = [figure("training", curves_chart(training), caption, alt)]
    if training.variance is not None:
        kinds = {z.index: z.type for z in inspection.latents}
        says = (
            "Mean posterior variance of each latent during training: a latent becomes active "
            "where its line falls, and passive where it returns to that of the prior."
        )
        last = "; ".join(f"{named(z)}: {training.variance[-1, z.index]:.2f}"
                         for z in inspection.latents[:SHOWN_LATENTS])  # fmt: skip
        chart = traces_chart(training.step, training.variance, kinds, "Posterior variance")
        parts.append(figure("variances", chart, says, f"Lines over steps. In the end {last}."))
    if training.latent_kl is not None:
        kinds = {z.index: z.type for z in inspection.latents}
        says = "KL of each latent during training, in nats."
        last = "; ".join(f"{named(z)}: {training.latent_kl[-1, z.index]:.2f}"
                         for z in inspection.latents[:SHOWN_LATENTS])  # fmt: skip
        chart = traces_chart(training.step, training.latent_kl, kinds, "KL, nats")
        parts.append(figure("latent-kl", chart, says, f"Lines over steps. In the end {last}."))
    return Section("training", "Training", lead, tuple(parts))


def _settings(inspection: Inspection) -> Section | None:
    settings = inspection.settings
    if settings is None:
        return None
    parts = [Listing("spec.yaml: all settings, with defaults filled in", dump_yaml(settings.spec))]
    if settings.environment:
        parts.append(Listing("Environment of the training", dump_yaml(settings.environment)))
    lead = "Everything needed to train this model again."
    return Section("settings", "Settings", lead, tuple(parts), open=False)
