"""Disentanglement metrics: functions of codes and factors."""

from vaescope.metrics.beta_vae import beta_vae
from vaescope.metrics.dci import DCI, dci
from vaescope.metrics.downstream import downstream
from vaescope.metrics.explicitness import explicitness
from vaescope.metrics.factor_vae import factor_vae
from vaescope.metrics.intrinsic_dimension import mle_dimension, two_nn_dimension
from vaescope.metrics.irs import irs
from vaescope.metrics.knn_score import knn_score
from vaescope.metrics.mcc import mcc, mcc_spearman
from vaescope.metrics.mig import mig
from vaescope.metrics.mig_sup import mig_sup
from vaescope.metrics.modularity import modularity
from vaescope.metrics.protocols import PROTOCOLS, Preset
from vaescope.metrics.sap import sap
from vaescope.metrics.sap_continuous import sap_continuous
from vaescope.metrics.score import Protocol, Score
from vaescope.metrics.suite import METRICS, measure_metrics
from vaescope.metrics.udr import UDR, udr_lasso, udr_spearman

__all__ = [
    "DCI",
    "METRICS",
    "PROTOCOLS",
    "UDR",
    "Preset",
    "Protocol",
    "Score",
    "beta_vae",
    "dci",
    "downstream",
    "explicitness",
    "factor_vae",
    "irs",
    "knn_score",
    "mcc",
    "mcc_spearman",
    "measure_metrics",
    "mig",
    "mig_sup",
    "mle_dimension",
    "modularity",
    "sap",
    "sap_continuous",
    "two_nn_dimension",
    "udr_lasso",
    "udr_spearman",
]
