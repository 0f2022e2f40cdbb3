"""The Basel renders: a tensor, and nothing but a tensor."""

from pathlib import Path

import numpy as np
import pytest
import torch

from vaescope.data.faces3d import CARD, faces3d, read
from vaescope.errors import DataError

SIZES = (2, 3, 1, 2)
TENSOR = torch.randint(256, (*SIZES, 64, 64), generator=torch.Generator().manual_seed(0)).byte()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "basel_face_renders.pth"


@pytest.mark.parametrize("zipped", [True, False])
def test_the_grid_can_be_observed_by_its_factors(path: Path, zipped: bool) -> None:
    torch.save(TENSOR, path, _use_new_zipfile_serialization=zipped)
    data = read(path, sizes=SIZES)
    assert data.shape == (1, 64, 64) and len(data) == 12
    face = data.observe(np.array([[1, 2, 0, 1]]))[0, 0]
    np.testing.assert_allclose(face, TENSOR[1, 2, 0, 1].numpy() / 255, rtol=1e-6)


def test_the_tensor_is_read_once(path: Path) -> None:
    torch.save(TENSOR, path)
    seen: list[int] = []
    for _ in range(2):
        read(path, sizes=SIZES, progress=lambda name, done, total: seen.append(done))
    assert seen == [TENSOR.numel()]


class Bomb:
    """Unpickling it leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("zipped", [True, False])
def test_nothing_is_unpickled(path: Path, tmp_path: Path, zipped: bool) -> None:
    torch.save(Bomb(tmp_path / "trace"), path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(DataError, match=r"basel_face_renders\.pth .*not a plain tensor"):
        read(path)
    assert not (tmp_path / "trace").exists()


def test_another_shape_type_or_content_is_refused(path: Path) -> None:
    torch.save(TENSOR, path)
    with pytest.raises(DataError, match=r"\(2, 3, 1, 2, 64, 64\); wanted .*\(50, 21, 11, 11"):
        read(path)
    torch.save(TENSOR.float(), path)
    with pytest.raises(DataError, match=r"is torch\.float32"):
        read(path, sizes=SIZES)
    torch.save({"faces": TENSOR}, path)
    with pytest.raises(DataError, match="holds a dict"):
        read(path, sizes=SIZES)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("kept", [0.0, 0.01, 0.5, 0.9])
def test_a_truncated_file_is_named(path: Path, kept: float, zipped: bool) -> None:
    torch.save(TENSOR, path, _use_new_zipfile_serialization=zipped)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(DataError, match=r"basel_face_renders\.pth cannot be read"):
        read(path, sizes=SIZES)


def test_by_name_it_says_that_it_is_not_distributed() -> None:
    with pytest.raises(DataError, match=r"basel_face_renders\.pth.*not distributed"):
        faces3d()
    assert CARD.n == 127_050
