"""Names of the first round, when papers had numbers: still accepted, never given."""

from collections.abc import Mapping

__all__ = ["CRITERIA", "FUNCTIONS", "PAPERS", "paper_key"]

PAPERS: Mapping[str, str] = {
    "000": "grzes2023",
    "001": "bonheme2023",
    "002": "zietlow2022",
    "003": "bhowal2024",
    "004": "mathieu2019",
}

#: Rules by which latents are typed.
CRITERIA: Mapping[str, str] = {
    "001": "bonheme2023",
    "002-chapter-3": "zietlow2022-chapter-3",
    "002-chapter-4": "zietlow2022-chapter-4",
    "003": "bhowal2024",
}

#: Key of a study's work -> the path of its function, which named its cells on disk.
FUNCTIONS: Mapping[str, str] = {
    "grzes2023-figures": "paper_000.figures.measure",
    "bonheme2023-figure-10": "paper_001.figure_10.measure",
    "zietlow2022-synthetic": "paper_002.synthetic.measure",
    "zietlow2022-sprites": "paper_002.images.measure_sprites",
    "zietlow2022-images": "paper_002.images.measure",
    "zietlow2022-table-3.2-synth": "paper_002.table_3_2_synth.compute",
    "zietlow2022-table-3.2-images": "paper_002.table_3_2_images._compute",
    "zietlow2022-figure-3.6": "paper_002.figure_3_6.measure",
    "zietlow2022-orthogonal": "paper_002.orthogonal.measure",
    "zietlow2022-theorem-2": "paper_002.theorem_2.measure",
    "zietlow2022-worked-example": "paper_002.worked_example.compute",
    "zietlow2022-figure-7.6": "paper_002.figure_7_6.compute",
    "bhowal2024-table-6": "paper_003.table_6.measure",
    "mathieu2019-theorems": "paper_004.theorems.compute",
    "mathieu2019-figure-2": "paper_004.figure_2.measure",
    "mathieu2019-figure-3": "paper_004.figure_3.measure",
    "mathieu2019-figure-4": "paper_004.figure_4.measure",
    "mathieu2019-figure-6": "paper_004.figure_6.compute",
    "mathieu2019-appendix-c-estimator": "paper_004.appendix_c.compute",
    "mathieu2019-appendix-c-training": "paper_004.appendix_c.measure",
}


def paper_key(name: str) -> str:
    """A name that may begin with a paper's number, by its key.

    >>> paper_key("002/table-3.4"), paper_key("002"), paper_key("mig")
    ('zietlow2022/table-3.4', 'zietlow2022', 'mig')
    """
    paper, slash, rest = name.partition("/")
    return f"{PAPERS.get(paper, paper)}{slash}{rest}"
