"""Settings in the package: one YAML file per method, each value with its reason."""

__all__ = ["PRESETS"]

#: Name -> one line about it; the settings are in `<name>.yaml`.
PRESETS = {
    "ae": "plain autoencoder: no noise, no rate",
    "vae": "variational autoencoder, Kingma and Welling 2014",
    "beta-vae": "beta-VAE, Higgins et al. 2017, as disentanglement_lib trains it",
    "demo": "a beta-VAE that shows the polarised regime in a minute on two cores",
}
