"""Disentanglement metrics: functions of codes and factors."""

from vaescope.metrics.active_units import active_units
from vaescope.metrics.beta_vae import beta_vae
from vaescope.metrics.dci import DCI, dci
from vaescope.metrics.dci_es import dci_explicitness, dci_size
from vaescope.metrics.downstream import downstream
from vaescope.metrics.entropy_of_means import entropy_of_means
from vaescope.metrics.explicitness import explicitness
from vaescope.metrics.factor_vae import factor_vae
from vaescope.metrics.infomec import InfoMEC, infoe, infomec
from vaescope.metrics.intrinsic_dimension import id_mle, id_two_nn, mle_dimension, two_nn_dimension
from vaescope.metrics.irs import irs
from vaescope.metrics.knn_score import knn_score
from vaescope.metrics.mcc import mcc, mcc_spearman
from vaescope.metrics.mig import mig
from vaescope.metrics.mig_sup import mig_sup
from vaescope.metrics.modularity import modularity
from vaescope.metrics.ordered_factors import monotonicity, smoothness
from vaescope.metrics.protocols import PROTOCOLS, Preset
from vaescope.metrics.sap import sap
from vaescope.metrics.sap_continuous import sap_continuous
from vaescope.metrics.score import Protocol, Score
from vaescope.metrics.similarity import cka, procrustes
from vaescope.metrics.suite import METRICS, measure_metrics
from vaescope.metrics.udr import UDR, udr_lasso, udr_spearman

__all__ = [
    "DCI",
    "METRICS",
    "PROTOCOLS",
    "UDR",
    "InfoMEC",
    "Preset",
    "Protocol",
    "Score",
    "active_units",
    "beta_vae",
    "cka",
    "dci",
    "dci_explicitness",
    "dci_size",
    "downstream",
    "entropy_of_means",
    "explicitness",
    "factor_vae",
    "id_mle",
    "id_two_nn",
    "infoe",
    "infomec",
    "irs",
    "knn_score",
    "mcc",
    "mcc_spearman",
    "measure_metrics",
    "mig",
    "mig_sup",
    "mle_dimension",
    "modularity",
    "monotonicity",
    "procrustes",
    "sap",
    "sap_continuous",
    "smoothness",
    "two_nn_dimension",
    "udr_lasso",
    "udr_spearman",
]
