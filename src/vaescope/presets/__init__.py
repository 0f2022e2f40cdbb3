"""Settings in the package: one YAML file per method, each value with its reason."""

__all__ = ["PRESETS"]

#: Name -> one line about it; the settings are in `<name>.yaml`.
PRESETS = {
    "ae": "plain autoencoder: no noise, no rate",
    "vae": "variational autoencoder, Kingma and Welling 2014",
    "beta-vae": "beta-VAE, Higgins et al. 2017, as disentanglement_lib trains it",
    "free-bits": "VAE with free bits, Kingma et al. 2016",
    "sigma-vae": "VAE with a learnt pixel variance, Rybkin et al. 2021",
    "annealed-vae": "annealed VAE, Burgess et al. 2018",
    "factor-vae": "FactorVAE, Kim and Mnih 2018",
    "beta-tcvae": "beta-TCVAE, Chen et al. 2018",
    "dip-vae-i": "DIP-VAE-I, Kumar et al. 2018",
    "dip-vae-ii": "DIP-VAE-II, Kumar et al. 2018",
    "slow-vae": "SlowVAE, Klindt et al. 2021: pairs of images and sparse steps between them",
    "pcl": "permutation-contrastive learning, Hyvarinen and Morioka 2017: an encoder alone",
    "weak-gan": "weakly supervised GAN with full sharing, Shu et al. 2020",
    "pinwheel": "clusters by a mixture prior, mathieu2019 figure 3",
    "student-t-vae": "Student-t priors, mathieu2019 figure 2",
    "sparse-vae": "sparse prior on Fashion-MNIST, mathieu2019 figure 4",
    "sparse-vae-celeba": "sparse prior on CelebA, mathieu2019 figure 4 as the paper has it",
    "beta-vae-faces": "beta-VAE on 3DFaces with batch norm, bhowal2024 table 3",
    "anisotropic-vae": "Gaussian prior with principal variances, mathieu2019 figure 2",
    "ivae": "identifiable VAE on 40 segments, Khemakhem et al. 2020",
    "ivae-dsprites": "identifiable VAE on dSprites, grzes2023",
    "entropy-vae": "the entropy-regularised twin of the beta-VAE, mathieu2019 corollary 1",
    "orthogonal-ae": "autoencoder with an explicit penalty on the decoder's Jacobian",
    "orthogonal-vae": "VAE with an explicit penalty on the decoder's Jacobian",
    "demo": "a beta-VAE that shows the polarised regime in a minute on two cores",
}
