"""What the papers show and leave open, row by row, and where it is tried here: nothing is left out
without a word. Rows are those of the tables and figures of each paper, and questions that its text
raises; pure schematics and other projects of zietlow2022 (figures 7.1 to 7.5) are not among them.
"""

from dataclasses import dataclass

__all__ = ["COVERAGE", "Covered", "missing"]


@dataclass(frozen=True)
class Covered:
    """A row or a question of a paper: studies and tests that try it, or why nothing does."""

    paper: str
    row: str
    studies: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()  # path::function
    missing: str = ""  # what is not there, and why; may stand beside what is

    @property
    def name(self) -> str:
        return f"{self.paper} {self.row}"


def _all(paper: str, study: str, *rows: str, missing: str = "") -> tuple[Covered, ...]:
    return tuple(Covered(paper, row, (f"{paper}/{study}",), missing=missing) for row in rows)


_CHAPTER_4 = (
    "all metrics of the beta-VAE on rendered Shapes3D, other methods by MIG; sprites with four "
    "methods in eight replicates"
)
_LONG = (
    "at the paper's size: 30 latents take 4 core hours a seed; figures 1 to 4 show all latents "
    "of a type together, not one"
)

_GRZES = (
    *_all(
        "grzes2023", "figures",
        "Tab 1-2", "Fig 1 a-c", "Fig 2 a-c", "Fig 3 a-c", "Fig 4 a-b", "text", missing=_LONG,
    ),
    Covered("grzes2023", "collapse under KL pressure",
            ("grzes2023/pressure", "grzes2023/trained-pressure")),
    Covered(
        "grzes2023", "bonheme2023's analysis on iVAEs",
        ("grzes2023/learned-means", "grzes2023/trained-means"),
        tests=("tests/latents/test_polarised.py::"
               "test_passive_latents_of_a_conditional_prior_follow_that_prior",),
    ),
    Covered("grzes2023", "latents beyond r discarded",
            ("grzes2023/discarded", "grzes2023/trained-discarded")),
    Covered(
        "grzes2023", "eq. 11 with full Sigma, eq. 12",
        ("grzes2023/discarded", "grzes2023/trained-covariance"),
        tests=("tests/test_errata.py::"
               "test_the_best_diagonal_covariance_is_not_the_diagonal_of_the_best_one",),
    ),
    Covered("grzes2023", "the rate in gamma",
            ("grzes2023/discarded", "grzes2023/trained-covariance")),
    *_all("grzes2023", "trained-regime", "mixed latents, 0 < c < 1",
          "Prop 1-2 with learnt means"),
    Covered(
        "grzes2023", "the scale that the objective leaves free",
        tests=("tests/test_gauge.py::test_scaling_latents_changes_neither_distortion_nor_rate",),
    ),
)  # fmt: skip

_BONHEME = (
    *_all("bonheme2023", "figure-4", "Fig 4"),
    *_all("bonheme2023", "figure-5", "Fig 5"),
    *_all("bonheme2023", "figure-6", "Fig 6 a,b"),
    *_all("bonheme2023", "figure-7", "Fig 7"),
    *_all("bonheme2023", "figure-8", "Fig 8a", "Fig 8b", "Fig 8c"),
    *_all("bonheme2023", "figure-9", "Fig 9 a-c"),
    *_all("bonheme2023", "figure-10", "Fig 10 a-c"),
    *_all("bonheme2023", "figure-11", "Fig 11"),
    *_all("bonheme2023", "figure-12", "Fig 12"),
    *_all("bonheme2023", "figure-13", "Fig 13"),
    *_all("bonheme2023", "figure-14", "Fig 14"),
    *_all("bonheme2023", "figures-15-16", "Fig 15-16"),
    *_all("bonheme2023", "figure-17", "Fig 17"),
    *_all("bonheme2023", "figure-18", "Fig 18 a-d"),
    *_all("bonheme2023", "threshold", "alpha is a threshold"),
    *_all("bonheme2023", "which-first", "do correlations precede passivity"),
    *_all("bonheme2023", "readouts", "null of random readouts"),
    *_all("bonheme2023", "consumers", "other consumers than least squares"),
    *_all("bonheme2023", "factor-vae", "FactorVAE in the bank"),
    Covered(
        "bonheme2023", "the unpolarised case", ("bonheme2023/unpolarised",),
        tests=("tests/latents/test_polarised.py::"
               "test_a_statement_fails_outside_the_polarised_regime",),
    ),
)  # fmt: skip

_ZIETLOW = (
    Covered("zietlow2022", "Fig 1.1", ("zietlow2022/figure-3.6",), missing="CelebA is missing"),
    *_all("zietlow2022", "theorem-2", "Fig 2.1-2.3"),
    Covered("zietlow2022", "Fig 2.4, 3.1-3.3, 4.1-4.2",
            ("zietlow2022/worked-example", "zietlow2022/figure-4.1")),
    Covered("zietlow2022", "Tab 3.2",
            ("zietlow2022/table-3.2-synth", "zietlow2022/table-3.2-images")),
    Covered("zietlow2022", "Tab 3.3",
            ("zietlow2022/table-3.3-synth", "zietlow2022/table-3.3-dsprites",
             "zietlow2022/table-3.3-mnist"),
            missing="dSprites with equal ranges of x and y, as the thesis has it: ours has y over "
            "a third"),
    *_all("zietlow2022", "figure-3.4", "Fig 3.4"),
    *_all("zietlow2022", "table-3.4", "Tab 3.4, Fig 3.5"),
    *_all("zietlow2022", "figure-3.6", "Fig 3.6", missing="faces: CelebA is not available"),
    Covered("zietlow2022", "Fig 3.7",
            ("zietlow2022/figure-3.7-synth", "zietlow2022/figure-3.7-dsprites")),
    Covered("zietlow2022", "Tab 4.1", ("zietlow2022/table-4.2",), missing=_CHAPTER_4),
    Covered("zietlow2022", "Tab 4.2",
            ("zietlow2022/table-4.2", "zietlow2022/table-4.2-compared",
             "zietlow2022/table-4.2-slow-vae", "zietlow2022/table-4.2-slow",
             "zietlow2022/table-4.2-dsprites"), missing=_CHAPTER_4),
    Covered("zietlow2022", "Tab 4.3", ("zietlow2022/table-4.3", "zietlow2022/table-4.2-dsprites"),
            missing=_CHAPTER_4),
    *_all("zietlow2022", "table-4.4", "Tab 4.4", missing=_CHAPTER_4),
    *_all("zietlow2022", "table-4.5", "Tab 4.5", missing=_CHAPTER_4),
    *_all("zietlow2022", "table-4.2", "Fig 4.3", "Fig 4.9"),
    *_all("zietlow2022", "figures-4.4-4.8", "Fig 4.4-4.7", "Fig 4.8",
          missing="other methods than the beta-VAE"),
    Covered("zietlow2022", "Fig 4.10-4.11", ("zietlow2022/figure-4.10", "zietlow2022/figure-4.11")),
    *_all("zietlow2022", "perturbation-cause", "the perturbation's purpose (section 4.4)"),
    *_all("zietlow2022", "figure-7.6", "Fig 7.6"),
    Covered(
        "zietlow2022", "Theorem 1(a, b), Corollary 1, bound 5.11",
        tests=tuple(f"tests/geometry/test_zietlow2022_theorem_1.py::{name}" for name in (
            "test_a_every_descent_ends_at_the_bound",
            "test_a_stationary_points_off_the_bound_are_saddles",
            "test_b_what_is_near_the_bound_is_near_orthogonal",
            "test_corollary_1_one_point_without_the_logarithm",
            "test_bound_5_11_holds_for_all_rotations_and_noise_and_is_reached",
        )),
    ),
    Covered(
        "zietlow2022", "marginal log-likelihood (2.3) and 7.6's gap of trained models",
        ("zietlow2022/trained-gap",),
        tests=(
            "tests/test_marginal_likelihood.py::"
            "test_the_gap_of_the_best_diagonal_posterior_is_the_contrast",
            "tests/test_marginal_likelihood.py::"
            "test_it_is_exact_for_bent_models_of_two_latents",
        ),
    ),
    *_all("zietlow2022", "figure-4.10", "hue encoded alike across restarts",
          missing="of the best restarts on the whole circle, which are not disentangled here"),
    *_all("zietlow2022", "transfer", "perturbed data for other models, and for longer training",
          missing="fully connected models alone, not convolutions"),
    Covered(
        "zietlow2022", "polar against cartesian codes downstream", ("zietlow2022/coordinates",),
        tests=("tests/geometry/test_polar.py::test_polar_codes_are_called_polar",),
        missing="of codes made by rule, not of trained models",
    ),
    Covered("zietlow2022", "local against global variance",
            ("zietlow2022/local-global", "zietlow2022/trained-local-global"),
            missing="of images"),
    Covered("zietlow2022", "held-out combinations of factors",
            ("zietlow2022/held-out", "zietlow2022/held-out-more"),
            missing="methods that train on pairs, and scores that need batches of one factor's "
            "value"),
)  # fmt: skip

_STAND_INS = "on stand-ins: rendered Shapes3D, Sprites for Faces and COIL-20 for MPI3D"

_BHOWAL = (
    Covered(
        "bhowal2024", "Tab 1", ("bhowal2024/table-1", "bhowal2024/local-sets"),
        tests=("tests/geometry/test_local_decoder.py::"
               "test_where_a_decoder_bends_and_saturates_tanh_with_its_bias_and_the_quadratic_win",),
        missing=_STAND_INS,
    ),
    Covered(
        "bhowal2024", "Tab 2", ("bhowal2024/table-2", "bhowal2024/local-sets"),
        tests=("tests/geometry/test_local_decoder.py::"
               "test_small_noise_makes_all_agree_with_the_jacobian",),
        missing=_STAND_INS,
    ),
    Covered(
        "bhowal2024", "Tab 3", ("bhowal2024/table-1",),
        tests=("tests/studies/test_paper_settings.py::"
               "test_printed_settings_are_followed_or_departed_from_with_a_reason",),
        missing="networks as released: its printed ones cannot train",
    ),
    *(
        Covered("bhowal2024", row, (f"bhowal2024/{study}", "bhowal2024/shapes", "bhowal2024/sets"),
                missing=_STAND_INS)
        for study, row in (("table-6", "Tab 4, Fig 4a-d"), ("table-6", "Tab 6, Fig 4i-p"),
                           ("table-5", "Tab 5, Fig 4e-h"))
    ),
    Covered(
        "bhowal2024", "Tab 7, Fig 5", ("bhowal2024/table-7",),
        tests=("tests/test_errata.py::"
               "test_the_axes_of_table_7_are_not_in_descending_order_of_what_they_explain",),
    ),
    Covered(
        "bhowal2024", "Thm 1(c)", ("bhowal2024/theorem-1",),
        tests=("tests/geometry/test_variance_law.py::"
               "test_the_closed_form_of_a_linear_vae_obeys_the_law",
               "tests/geometry/test_bhowal2024_theorem_1.py::"
               "test_every_descent_of_the_printed_objective_ends_at_the_same_value"),
    ),
    Covered(
        "bhowal2024", "Thm 2", ("bhowal2024/theorem-2",),
        tests=("tests/geometry/test_neighbours.py::"
               "test_the_printed_sum_rises_with_less_rate_because_more_posteriors_overlap",),
    ),
    Covered("bhowal2024", "correlated factors (section 3.3)",
            ("bhowal2024/correlated", "bhowal2024/correlation-levels"),
            tests=("tests/data/test_splits.py::test_data_correlated_draws_rows_and_is_named",)),
    Covered(
        "bhowal2024", "the encoder's side (Lemma 2)", ("bhowal2024/theorem-1",),
        tests=(
            *(f"tests/geometry/test_local_encoder.py::{name}" for name in (
                "test_the_loss_and_the_measure_see_no_mixing_of_the_latents",
                "test_lemma_2_fixing_the_loss_does_not_fix_v_e",
                "test_trained_networks_are_not_the_pair_that_the_lemma_assumes",
            )),
            "tests/inspection/test_closer_look.py::"
            "test_a_linear_vae_at_its_optimum_has_the_numbers_of_theory",
        ),
    ),
    Covered(
        "bhowal2024", "Thm 1(a): every local minimum is global",
        tests=tuple(f"tests/geometry/test_bhowal2024_theorem_1.py::{name}" for name in (
            "test_every_descent_of_the_printed_objective_ends_at_the_same_value",
            "test_a_the_saddle_of_two_latents_has_its_closed_form",
        )),
    ),
    Covered(
        "bhowal2024", "the neglected terms (Lemmas 1, 6, 7)", ("bhowal2024/table-1",),
        tests=("tests/test_errata.py::test_the_second_term_of_the_variance_of_a_function",
               "tests/geometry/test_local_decoder.py::"
               "test_the_intercept_is_the_mean_of_the_curvature_and_the_quadratic_follows_all_of_it"),
    ),
    *_all("bhowal2024", "single-latent", "output change proportional to Delta z (section 3.4)"),
    Covered(
        "bhowal2024", "the network of 3DFaces",
        tests=("tests/nets/test_conv.py::"
               "test_bhowal2024s_pair_for_faces_has_batch_norm_and_the_released_decoder",),
        missing="a run of `beta-vae-faces`: the renders are not distributed",
    ),
)  # fmt: skip

_MATHIEU = (
    *_all("mathieu2019", "figure-2-anisotropic", "Fig 2 top",
          missing="100 networks a cell: at most 64, registered"),
    *_all("mathieu2019", "figure-2-student-t", "Fig 2 bottom",
          missing="100 networks a cell: at most 64, registered"),
    *_all("mathieu2019", "figure-3", "Fig 3"),
    *_all("mathieu2019", "figure-4", "Fig 4 left", "Fig 4 centre", "Fig 4 right",
          missing="on Fashion-MNIST as in the released code: CelebA is not available"),
    *_all("mathieu2019", "figure-4-faces", "Fig 4 on faces", missing="CelebA is not available"),
    *_all("mathieu2019", "figure-6", "Fig 5-6"),
    Covered("mathieu2019", "Tab 1", ("mathieu2019/figure-3", "mathieu2019/figure-4")),
    *_all("mathieu2019", "theorems", "Thm 1-2, Cor 1-2"),
    Covered("mathieu2019", "App C",
            ("mathieu2019/appendix-c-estimator", "mathieu2019/appendix-c-training")),
    Covered(
        "mathieu2019", "a verdict on overlap", ("mathieu2019/overlap",),
        tests=("tests/inspection/test_closer_look.py::test_overlap_has_the_interfaces_fields_"
               "and_the_verdict_of_two_ends",),
        missing="what is best between the two ends, which `tune-beta --by overlap` takes by a "
                "convention",
    ),
    Covered(
        "mathieu2019", "independent-subspace priors (abstract)",
        ("mathieu2019/subspaces", "mathieu2019/subspaces-trained"),
        tests=("tests/priors/test_subspaces.py::"
               "test_latents_depend_within_groups_and_not_between_them",),
    ),
    *_all("mathieu2019", "isotropic-encoder",
          "isotropic encoder, unequal prior variances (section 7)"),
    *_all("mathieu2019", "appendix-c-dimension", "App C in latent dimension"),
    Covered("mathieu2019", "annealing towards modes",
            ("mathieu2019/towards-modes", "mathieu2019/towards-modes-trained")),
    Covered(
        "mathieu2019", "a CelebA preset",
        tests=("tests/studies/test_paper_settings.py::"
               "test_printed_settings_are_followed_or_departed_from_with_a_reason",),
        missing="a run of `sparse-vae-celeba`: CelebA is not available",
    ),
)  # fmt: skip

COVERAGE: tuple[Covered, ...] = (*_GRZES, *_BONHEME, *_ZIETLOW, *_BHOWAL, *_MATHIEU)


def missing() -> tuple[Covered, ...]:
    """What nothing tries, or not wholly, with the reason."""
    return tuple(one for one in COVERAGE if one.missing)
