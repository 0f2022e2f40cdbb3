"""Parts by import path: their parameters are settings, and the digest holds their source."""

import hashlib
import json
from pathlib import Path

import pytest
import torch
from tests.command import vaescope

import vaescope as vs
from vaescope.build import build_objective, build_vae
from vaescope.errors import RunError, UsageError
from vaescope.own_parts.making import maker_of
from vaescope.runs import Run
from vaescope.settings import from_command_line, from_python
from vaescope.specs import Experiment, digest

SMALL = ["data.name=synth-linear", "data.n=200", "latent=2", "steps=20", "logging.every=5"]
OWN = ["objective.name=mylab:Weighted", "net.name=mylab:build"]


def spec(*settings: str) -> Experiment:
    return from_command_line("vae", [*SMALL, *settings])


def test_fields_and_parameters_are_settings_with_their_defaults(lab: Path) -> None:
    source = hashlib.sha256((lab / "mylab.py").read_bytes()).hexdigest()
    chosen = spec(*OWN, "objective.weight=3", "net.width=8")
    assert chosen.objective.model_dump() == {
        "name": "mylab:Weighted", "sha256": source, "weight": 3.0,
    }  # fmt: skip
    assert spec(*OWN).net.model_dump() == {"name": "mylab:build", "sha256": source, "width": 64}
    assert [p.shape[0] for p in build_vae(chosen).encoder.parameters()] == [8, 8, 4, 4]
    assert build_objective(chosen).weight == 3.0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("setting", "says", "remedy"),
    [
        ("objective.wieght=3", "no setting objective.wieght", "Did you mean objective.weight?"),
        ("objective.weight=heavy", 'must be a number; got "heavy"', "Change objective.weight"),
        ("objective.weight=NaN", "must be a number", "Change"),
        ("net.width=6.5", "must be a whole number; got 6.5", "Change net.width"),
    ],
)
def test_settings_are_checked_as_ours_are(lab: Path, setting: str, says: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        spec(*OWN, setting)
    assert says in caught.value.message and remedy in caught.value.remedy


def test_schedules_lists_and_choices_are_settings_and_modules_are_not(lab: Path) -> None:
    (lab / "mylab.py").write_text(
        "from dataclasses import dataclass, field\n"
        "from typing import Literal\n"
        "import vaescope as vs\n"
        "from torch import nn\n"
        "from vaescope.schedules import Constant, Schedule\n"
        "@dataclass(frozen=True)\n"
        "class Rich(vs.Objective):\n"
        "    beta: Schedule = field(default_factory=lambda: Constant(2.0))\n"
        "    widths: tuple[int, ...] = (1, 2)\n"
        "    kind: Literal['a', 'b'] = 'a'\n"
        "    limit: float | None = None\n"
        "    helper: nn.Module | None = None\n"
        "    def __call__(self, vae, batch, step, noise): ...\n"
        "@dataclass(frozen=True)\n"
        "class Needy(Rich):\n"
        "    critic: nn.Module = field(kw_only=True)\n"
    )
    rich = spec("objective.name=mylab:Rich").objective.model_dump(exclude={"name", "sha256"})
    assert rich == {"beta": 2.0, "widths": [1, 2], "kind": "a", "limit": None}
    linear = 'objective.beta={"name": "linear", "start": 0, "stop": 4, "steps": 10}'
    made = build_objective(spec("objective.name=mylab:Rich", linear, "objective.widths=[3]"))
    assert made.beta(torch.tensor(5.0)).item() == 2.0  # type: ignore[attr-defined]
    assert made.widths == (3,)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="one of 'a' or 'b'"):
        spec("objective.name=mylab:Rich", "objective.kind=c")
    with pytest.raises(UsageError, match="needs critic, which is not a setting"):
        spec("objective.name=mylab:Needy")


def test_the_digest_holds_source_and_settings_but_not_the_folder(lab: Path) -> None:
    first = digest(spec(*OWN))
    assert digest(spec(*OWN, "objective.weight=1.0")) == first
    assert digest(spec(*OWN, "objective.weight=2")) != first
    text = (lab / "mylab.py").read_text()
    (lab / "mylab.py").write_text(text + "\n# changed\n")
    assert digest(spec(*OWN)) != first
    (lab / "mylab.py").write_text(text)
    assert digest(spec(*OWN)) == first


def test_functions_of_other_packages_are_not_called(lab: Path) -> None:
    for path in ("torch.hub:load", "shutil:rmtree", "numpy.lib.npyio:load", "mylab:dataclass"):
        with pytest.raises(UsageError):
            maker_of("objective", path)


def test_an_own_beta_vae_trains_to_the_weights_of_ours(lab: Path) -> None:
    mine = vs.train(
        "vae", "synth-linear", objective={"name": "mylab:Weighted", "weight": 0.5}, latent=2,
        steps=40, out=lab,
    )  # fmt: skip
    ours = vs.train("beta-vae", "synth-linear", beta=0.5, latent=2, steps=40, out=lab)
    assert mine.weights.read_bytes() == ours.weights.read_bytes()
    losses = [[row["loss"] for row in run.records()] for run in (mine, ours)]
    assert losses[0] == losses[1]


def test_bare_names_and_nested_groups_mean_what_dotted_keys_mean(lab: Path) -> None:
    data = {"name": "synth-linear"}
    nested = from_python("vae", data, {"net": {"name": "mlp", "encoder": [8]}, "latent": 2})
    dotted = from_python("vae", data, {"net.name": "mlp", "net.encoder": [8], "latent": 2})
    assert nested == dotted and nested.net.encoder == (8,)  # type: ignore[union-attr]
    named = from_python("vae", data, {"objective": "mylab:Weighted", "weight": 3})
    whole = from_python("vae", data, {"objective": {"name": "mylab:Weighted", "weight": 3.0}})
    assert named == whole
    with pytest.raises(UsageError, match=r"no setting net\.encodr"):
        from_python("vae", data, {"net": {"name": "mlp", "encodr": [8]}})
    with pytest.raises(UsageError, match="There is no setting 'nett'"):
        from_python("vae", data, {"nett": {"name": "mlp"}})


def test_a_folder_whose_spec_has_no_hash_is_not_opened(lab: Path) -> None:
    run = vs.train("vae", "synth-linear", objective="mylab:Weighted", latent=2, steps=2, out=lab)
    (lab / "mylab.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    for sha256 in (None, "", "0" * 64):
        content = json.loads((run.path / "spec.json").read_text())
        content["objective"]["sha256"] = sha256
        if sha256 is None:
            del content["objective"]["sha256"]
        (run.path / "spec.json").write_text(json.dumps(content))
        with pytest.raises(RunError):
            vs.open_model(Run(run.path)).objective  # noqa: B018
        assert not (lab / "ran").exists()


def test_a_function_may_make_an_objective_with_a_critic(lab: Path) -> None:
    (lab / "mylab.py").write_text(
        "import vaescope as vs\n"
        "from vaescope.objectives.factor import make_critic\n"
        "def factor(latent, *, gamma: float = 2.0, width=16):\n"
        "    from vaescope.schedules import Constant\n"
        "    critic = make_critic(latent, width=width, layers=2)\n"
        "    return vs.objectives.FactorVAE(critic, Constant(gamma))\n"
    )
    run = vs.train("vae", "synth-linear", objective="mylab:factor", latent=2, steps=20, out=lab)
    assert {"critic", "total_correlation"} <= set(run.records()[-1])
    ours = vs.train(
        "factor-vae", "synth-linear", gamma=2.0, critic_width=16, critic_layers=2,
        critic_betas=[0.9, 0.999], latent=2, steps=20, out=lab,
    )  # fmt: skip
    assert run.weights.read_bytes() == ours.weights.read_bytes()


def test_an_unfinished_run_of_another_source_is_refused_a_finished_one_is_not(lab: Path) -> None:
    def train() -> vs.Run:
        return vs.train(
            "vae", "synth-linear", objective="mylab:Weighted", latent=2, steps=4, out=lab / "runs"
        )

    first = train()
    text = (lab / "mylab.py").read_text()
    (lab / "mylab.py").write_text(text + "\n")
    assert train().path != first.path
    (first.path / "done.json").unlink()
    (lab / "mylab.py").write_text(text + "\n\n")
    with pytest.raises(RunError, match=f"{first.path.name} was started with other source"):
        train()
    (lab / "mylab.py").write_text(text)
    assert train() == first and first.is_done


def test_a_function_of_a_step_is_an_objective(lab: Path) -> None:
    """By path and as a value it trains to the weights of ours; one that cannot be imported too."""

    def local(vae, batch, step, noise, *, weight=1.0):  # type: ignore[no-untyped-def]
        return vs.objectives.BetaVAE(lambda _: weight)(vae, batch, step, noise)  # type: ignore[arg-type]

    ours = vs.train("beta-vae", "synth-linear", beta=0.5, latent=2, steps=10, out=lab)
    for objective in (
        {"name": "mylab:weighted", "weight": 0.5},
        {"name": local, "weight": 0.5},
    ):
        mine = vs.train("vae", "synth-linear", objective=objective, latent=2, steps=10, out=lab)
        assert mine.weights.read_bytes() == ours.weights.read_bytes()
    assert mine.open().objective.name == "object"
    with pytest.raises(UsageError, match=r"no setting objective\.wieght"):
        spec("objective.name=mylab:weighted", "objective.wieght=3")


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ("batch.x.sum()", r"returned Tensor, wanted vs\.Terms"),
        ("vs.Terms(e.loss + x.sum(1), e.parts, e.posterior)", r"loss of .* has shape \(64,\)"),
        ("vs.Terms(e.loss, {'p': x}, e.posterior)", r"p of the objective has shape"),
        ("vs.Terms(e.loss, {'p': 1.0}, e.posterior)", r"p of the objective is float"),
        ("vs.Terms(e.loss.detach(), e.parts, e.posterior)", "does not depend on the weights"),
        (
            "vs.Terms(e.loss, {'passive': e.loss}, e.posterior)",
            "a part passive, which is already a column",
        ),
        ("vs.Terms(e.loss, e.parts, None)", "posterior of the objective is NoneType"),
        ("vs.Terms(e.loss, [e.loss], e.posterior)", "must be dictionaries of tensors"),
        ("vs.Terms(e.loss * 1j, e.parts, e.posterior)", "loss of the objective is complex"),
        ("vs.Terms(e.loss, e.parts, e.posterior, {'critic': e.loss})", "no module of that name"),
    ],
)
def test_what_an_objective_may_not_return_is_named(lab: Path, returned: str, says: str) -> None:
    (lab / "mylab.py").write_text(
        "import vaescope as vs\n"
        "def mine(vae, batch, step, noise):\n"
        "    e = vs.objectives.BetaVAE()(vae, batch, step, noise)\n"
        "    x = batch.x\n"
        f"    return {returned}\n"
    )
    with pytest.raises(UsageError, match=says):
        vs.train("vae", "synth-linear", objective="mylab:mine", latent=2, steps=2, out=lab)


def test_a_setting_without_default_or_type_gets_the_remedy(lab: Path) -> None:
    (lab / "mylab.py").write_text("def mine(vae, batch, step, noise, *, w): ...\n")
    with pytest.raises(UsageError, match=r"needs w, .* e\.g\. w=1\.0 or w: float"):
        spec("objective.name=mylab:mine")
    with pytest.raises(UsageError, match=r"for your own, objective\.name=module:Name"):
        spec("objective.name=mylab")


def test_the_command_says_which_line_of_your_own_code_failed(
    lab: Path,
) -> None:
    (lab / "mylab.py").write_text("def mine(vae, batch, step, noise):\n    return batch.mu\n")
    done = vaescope("train", "vae", "data.name=synth-linear", "objective.name=mylab:mine")
    assert done.returncode == 1 and "mylab.py, line 2, in mine. Correct it there" in done.stderr
    assert "fault of vaescope" not in done.stderr
