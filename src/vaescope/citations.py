"""What to cite for each method, metric and dataset."""

from collections.abc import Mapping

__all__ = ["BIBTEX", "METHODS"]

#: Key of a paper -> methods, metrics and analyses that cite it.
_CITED = {
    "hinton2006": "ae",
    "kingma2014": "vae",
    "higgins2017": "beta-vae demo",
    "burgess2018": "annealed-vae",
    "kim2018": "factor-vae",
    "chen2018": "beta-tcvae mig",
    "kumar2018": "dip-vae-i dip-vae-ii",
    "klindt2021": "slow-vae",
    "hyvarinen2017": "pcl",
    "shu2020": "weak-gan",
    "mathieu2019": (
        "pinwheel student-t-vae sparse-vae sparse-vae-celeba anisotropic-vae entropy-vae "
        "subspaces decomposition"
    ),
    "bhowal2024": "beta-vae-faces od-score local-decoder",
    "khemakhem2020": "ivae ivae-dsprites",
    "zietlow2022": "orthogonal orthogonal-ae orthogonal-vae polar",
    "kingma2016": "free-bits",
    "rybkin2021": "sigma-vae",
    "hsu2023": "infom infoc infoe",
    "eastwood2023": "dci_explicitness dci_size",
    "burda2016": "active_units",
    "levina2004": "id_mle",
    "facco2017": "id_two_nn",
    "kornblith2019": "cka",
    "ding2021": "procrustes",
    "clapham2026": "entropy_of_means",
    "watcharasupat2021": "monotonicity smoothness",
    "bonheme2023": "types",
    "rolinek2019": "dto precision-budget",
    "zietlow2021": "linear-vae-pca",
    "gresele2021": "ima-contrast",
    "reizinger2022": "self-consistency",
}
#: Method, metric or analysis -> key of its paper.
METHODS: Mapping[str, str] = {
    method: key for key, methods in _CITED.items() for method in methods.split()
}


def _entry(kind: str, key: str, **fields: str) -> str:
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items()]
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


#: Key -> BibTeX. Keys of datasets are the ones on their cards.
BIBTEX: Mapping[str, str] = {
    "kingma2016": _entry(
        "inproceedings", "kingma2016",
        title="Improved Variational Inference with Inverse Autoregressive Flow",
        author="Kingma, Diederik P. and Salimans, Tim and Jozefowicz, Rafal and others",
        booktitle="NeurIPS",
        year="2016",
    ),
    "rybkin2021": _entry(
        "inproceedings", "rybkin2021",
        title="Simple and Effective {VAE} Training with Calibrated Decoders",
        author="Rybkin, Oleh and Daniilidis, Kostas and Levine, Sergey",
        booktitle="ICML",
        year="2021",
    ),
    "hsu2023": _entry(
        "inproceedings", "hsu2023",
        title="Disentanglement via Latent Quantization",
        author="Hsu, Kyle and Dorrell, Will and Whittington, James and others",
        booktitle="NeurIPS",
        year="2023",
    ),
    "eastwood2023": _entry(
        "inproceedings", "eastwood2023",
        title="{DCI-ES}: An Extended Disentanglement Framework",
        author="Eastwood, Cian and Nicolicioiu, Andrei Liviu and others",
        booktitle="ICLR",
        year="2023",
    ),
    "burda2016": _entry(
        "inproceedings", "burda2016",
        title="Importance Weighted Autoencoders",
        author="Burda, Yuri and Grosse, Roger and Salakhutdinov, Ruslan",
        booktitle="ICLR",
        year="2016",
    ),
    "levina2004": _entry(
        "inproceedings", "levina2004",
        title="Maximum Likelihood Estimation of Intrinsic Dimension",
        author="Levina, Elizaveta and Bickel, Peter J.",
        booktitle="NIPS",
        year="2004",
    ),
    "facco2017": _entry(
        "article", "facco2017",
        title="Estimating the intrinsic dimension of datasets by a minimal neighborhood",
        author="Facco, Elena and d'Errico, Maria and Rodriguez, Alex and Laio, Alessandro",
        journal="Scientific Reports",
        year="2017",
    ),
    "kornblith2019": _entry(
        "inproceedings", "kornblith2019",
        title="Similarity of Neural Network Representations Revisited",
        author="Kornblith, Simon and Norouzi, Mohammad and Lee, Honglak and Hinton, Geoffrey",
        booktitle="ICML",
        year="2019",
    ),
    "ding2021": _entry(
        "inproceedings", "ding2021",
        title="Grounding Representation Similarity Through Statistical Testing",
        author="Ding, Frances and Denain, Jean-Stanislas and Steinhardt, Jacob",
        booktitle="NeurIPS",
        year="2021",
    ),
    "clapham2026": _entry(
        "misc", "clapham2026",
        note="arXiv:2605.15965",
        author="Clapham and Bonheme, Lisa and Grzes, Marek",
        year="2026",
    ),
    "watcharasupat2021": _entry(
        "misc", "watcharasupat2021",
        note="arXiv:2110.05587",
        title="Evaluation of Latent Space Disentanglement with Interdependent Attributes",
        author="Watcharasupat, Karn N. and Lerch, Alexander",
        year="2021",
    ),
    "hinton2006": _entry(
        "article", "hinton2006", title="Reducing the Dimensionality of Data with Neural Networks",
        author="Hinton, Geoffrey E. and Salakhutdinov, Ruslan R.", journal="Science", volume="313",
        year="2006",
    ),
    "kingma2014": _entry(
        "inproceedings", "kingma2014", title="Auto-Encoding Variational {Bayes}",
        author="Kingma, Diederik P. and Welling, Max", booktitle="ICLR", year="2014",
    ),
    "higgins2017": _entry(
        "inproceedings", "higgins2017",
        title="{beta-VAE}: Learning Basic Visual Concepts with a Constrained Variational Framework",
        author="Higgins, Irina and Matthey, Loic and Pal, Arka and Burgess, Christopher and "
        "Glorot, Xavier and Botvinick, Matthew and Mohamed, Shakir and Lerchner, Alexander",
        booktitle="ICLR", year="2017",
    ),
    "burgess2018": _entry(
        "article", "burgess2018", title="Understanding disentangling in {beta-VAE}",
        author="Burgess, Christopher P. and Higgins, Irina and Pal, Arka and Matthey, Loic and "
        "Watters, Nick and Desjardins, Guillaume and Lerchner, Alexander",
        journal="arXiv preprint arXiv:1804.03599", year="2018",
    ),
    "kim2018": _entry(
        "inproceedings", "kim2018", title="Disentangling by Factorising",
        author="Kim, Hyunjik and Mnih, Andriy", booktitle="ICML", year="2018",
    ),
    "klindt2021": _entry(
        "inproceedings", "klindt2021",
        title="Towards Nonlinear Disentanglement in Natural Data with Temporal Sparse Coding",
        author="Klindt, David and Schott, Lukas and Sharma, Yash and Ustyuzhaninov, Ivan and "
        "Brendel, Wieland and Bethge, Matthias and Paiton, Dylan",
        booktitle="ICLR", year="2021",
    ),
    "hyvarinen2017": _entry(
        "inproceedings", "hyvarinen2017",
        title="Nonlinear ICA of Temporally Dependent Stationary Sources",
        author="Hyv{\\\"a}rinen, Aapo and Morioka, Hiroshi", booktitle="AISTATS", year="2017",
    ),
    "shu2020": _entry(
        "inproceedings", "shu2020", title="Weakly Supervised Disentanglement with Guarantees",
        author="Shu, Rui and Chen, Yining and Kumar, Abhishek and Ermon, Stefano and Poole, Ben",
        booktitle="ICLR", year="2020",
    ),
    "kumar2018": _entry(
        "inproceedings", "kumar2018",
        title="Variational Inference of Disentangled Latent Concepts from Unlabeled Observations",
        author="Kumar, Abhishek and Sattigeri, Prasanna and Balakrishnan, Avinash",
        booktitle="ICLR", year="2018",
    ),
    "chen2018": _entry(
        "inproceedings", "chen2018",
        title="Isolating Sources of Disentanglement in Variational Autoencoders",
        author="Chen, Ricky T. Q. and Li, Xuechen and Grosse, Roger and Duvenaud, David",
        booktitle="NeurIPS", year="2018",
    ),
    "grzes2023": _entry(
        "inproceedings", "grzes2023",
        title="The Polarised Regime of Identifiable Variational Autoencoders",
        author="Bonheme, Lisa and Grzes, Marek", booktitle="ICLR, Tiny Papers", year="2023",
    ),
    "bonheme2023": _entry(
        "article", "bonheme2023",
        title="Be More Active! Understanding the Differences Between Mean and Sampled "
        "Representations of Variational Autoencoders",
        author="Bonheme, Lisa and Grzes, Marek", journal="Journal of Machine Learning Research",
        year="2023",
    ),
    "locatello2019": _entry(
        "inproceedings", "locatello2019",
        title="Challenging Common Assumptions in the Unsupervised Learning of Disentangled "
        "Representations",
        author="Locatello, Francesco and Bauer, Stefan and Lucic, Mario and R{\\\"a}tsch, Gunnar "
        "and Gelly, Sylvain and Sch{\\\"o}lkopf, Bernhard and Bachem, Olivier",
        booktitle="ICML", year="2019",
    ),
    "mathieu2019": _entry(
        "inproceedings", "mathieu2019",
        title="Disentangling Disentanglement in Variational Autoencoders",
        author="Mathieu, Emile and Rainforth, Tom and Siddharth, N. and Teh, Yee Whye",
        booktitle="ICML", year="2019",
    ),
    "khemakhem2020": _entry(
        "inproceedings", "khemakhem2020",
        title="Variational Autoencoders and Nonlinear {ICA}: A Unifying Framework",
        author="Khemakhem, Ilyes and Kingma, Diederik P. and Monti, Ricardo Pio and "
        "Hyv{\\\"a}rinen, Aapo",
        booktitle="AISTATS", year="2020",
    ),
    "zietlow2022": _entry(
        "phdthesis", "zietlow2022",
        title="An Analysis of the Inner Workings of Variational Autoencoders",
        author="Zietlow, Dominik", year="2022",
    ),
    "rolinek2019": _entry(
        "inproceedings", "rolinek2019",
        title="Variational Autoencoders Pursue {PCA} Directions (by Accident)",
        author="Rolinek, Michal and Zietlow, Dominik and Martius, Georg", booktitle="CVPR",
        pages="12406--12415", year="2019",
    ),
    "zietlow2021": _entry(
        "inproceedings", "zietlow2021",
        title="Demystifying Inductive Biases for $\\beta$-{VAE} Based Architectures",
        author="Zietlow, Dominik and Rolinek, Michal and Martius, Georg", booktitle="ICML",
        year="2021",
    ),
    "bhowal2024": _entry(
        "inproceedings", "bhowal2024",
        title="Why do Variational Autoencoders Really Promote Disentanglement?",
        author="Bhowal, Pratik and Soni, Achint and Rambhatla, Sirisha", booktitle="ICML",
        pages="3817--3849", year="2024",
    ),
    "gresele2021": _entry(
        "inproceedings", "gresele2021", title="Independent mechanism analysis, a new concept?",
        author="Gresele, Luigi and von K{\\\"u}gelgen, Julius and Stimper, Vincent and "
        "Sch{\\\"o}lkopf, Bernhard and Besserve, Michel", booktitle="NeurIPS", year="2021",
    ),
    "reizinger2022": _entry(
        "inproceedings", "reizinger2022",
        title="Embrace the Gap: {VAEs} Perform Independent Mechanism Analysis",
        author="Reizinger, Patrik and Gresele, Luigi and Brady, Jack and "
        "von K{\\\"u}gelgen, Julius and Zietlow, Dominik and Sch{\\\"o}lkopf, Bernhard and "
        "Martius, Georg and Brendel, Wieland and Besserve, Michel", booktitle="NeurIPS",
        year="2022",
    ),
    "dsprites": _entry(
        "misc", "dsprites", title="{dSprites}: Disentanglement testing Sprites dataset",
        author="Matthey, Loic and Higgins, Irina and Hassabis, Demis and Lerchner, Alexander",
        howpublished="https://github.com/deepmind/dsprites-dataset/", year="2017",
    ),
    "shapes3d": _entry(
        "misc", "shapes3d", title="3D Shapes Dataset", author="Burgess, Chris and Kim, Hyunjik",
        howpublished="https://github.com/deepmind/3d-shapes/", year="2018",
    ),
    "cars3d": _entry(
        "inproceedings", "cars3d", title="Deep Visual Analogy-Making",
        author="Reed, Scott E. and Zhang, Yi and Zhang, Yuting and Lee, Honglak",
        booktitle="NeurIPS", year="2015",
    ),
    "smallnorb": _entry(
        "inproceedings", "smallnorb",
        title="Learning Methods for Generic Object Recognition with Invariance to Pose and "
        "Lighting",
        author="LeCun, Yann and Huang, Fu Jie and Bottou, L{\\'e}on", booktitle="CVPR",
        year="2004",
    ),
    "mpi3d": _entry(
        "inproceedings", "mpi3d",
        title="On the Transfer of Inductive Bias from Simulation to the Real World: a New "
        "Disentanglement Dataset",
        author="Gondal, Muhammad Waleed and W{\\\"u}thrich, Manuel and Miladinovi{\\'c}, "
        "{\\DJ}or{\\dj}e and Locatello, Francesco and Breidt, Martin and Volchkov, Valentin and "
        "Akpo, Joel and Bachem, Olivier and Sch{\\\"o}lkopf, Bernhard and Bauer, Stefan",
        booktitle="NeurIPS", year="2019",
    ),
    "mnist": _entry(
        "article", "mnist", title="Gradient-Based Learning Applied to Document Recognition",
        author="LeCun, Yann and Bottou, L{\\'e}on and Bengio, Yoshua and Haffner, Patrick",
        journal="Proceedings of the IEEE", volume="86", year="1998",
    ),
    "fashion-mnist": _entry(
        "article", "fashion-mnist",
        title="{Fashion-MNIST}: a Novel Image Dataset for Benchmarking Machine Learning Algorithms",
        author="Xiao, Han and Rasul, Kashif and Vollgraf, Roland",
        journal="arXiv preprint arXiv:1708.07747", year="2017",
    ),
    "celeba": _entry(
        "inproceedings", "celeba", title="Deep Learning Face Attributes in the Wild",
        author="Liu, Ziwei and Luo, Ping and Wang, Xiaogang and Tang, Xiaoou", booktitle="ICCV",
        year="2015",
    ),
    "faces3d": _entry(
        "inproceedings", "faces3d",
        title="A 3D Face Model for Pose and Illumination Invariant Face Recognition",
        author="Paysan, Pascal and Knothe, Reinhard and Amberg, Brian and Romdhani, Sami and "
        "Vetter, Thomas",
        booktitle="AVSS", year="2009",
    ),
    "sprites": _entry(
        "inproceedings", "sprites", title="Disentangled Sequential Autoencoder",
        author="Li, Yingzhen and Mandt, Stephan", booktitle="ICML", year="2018",
    ),
    "coil20": _entry(
        "techreport", "coil20", title="Columbia Object Image Library ({COIL-20})",
        author="Nene, Sameer A. and Nayar, Shree K. and Murase, Hiroshi",
        institution="Columbia University", year="1996",
    ),
    "olivetti": _entry(
        "inproceedings", "olivetti",
        title="Parameterisation of a Stochastic Model for Human Face Identification",
        author="Samaria, Ferdinando S. and Harter, Andy C.",
        booktitle="IEEE Workshop on Applications of Computer Vision", year="1994",
    ),
    "digits": _entry(
        "misc", "digits", title="Optical Recognition of Handwritten Digits",
        author="Alpaydin, Ethem and Kaynak, Cenk", howpublished="UCI Machine Learning Repository",
        year="1998",
    ),
}  # fmt: skip
