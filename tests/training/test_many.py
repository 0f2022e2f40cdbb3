"""Models trained together are the models they would be alone."""

from pathlib import Path

import numpy as np
import pytest
import torch

from vaescope.build import build_data, build_optimiser, build_vae
from vaescope.encoding import load_vae
from vaescope.errors import NonFiniteError, UsageError
from vaescope.native import library
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.specs import Experiment
from vaescope.training import many
from vaescope.training.compiled_steps import Steps
from vaescope.training.group import train_group
from vaescope.training.loop import new_state, steps
from vaescope.training.many import _stack, _Tanh, groups, stackable, train_many

CPU = torch.device("cpu")
SMALL = ["data.name=synth-linear", "data.n=300", "latent=2", "net.name=mlp", "net.encoder=[16]",
         "net.decoder=[16]", "batch=32", "steps=100", "logging.every=50"]  # fmt: skip


def experiments(*changes: str) -> list[Experiment]:
    return [from_command_line("beta-vae", [*SMALL, *change.split()]) for change in changes]


DIFFERENT = experiments(
    "seed=0 objective.beta=0.01 optimiser.lr=1e-3",
    "seed=1 objective.beta=0.5 optimiser.lr=1e-2",
    "seed=1 objective.beta=0.01 optimiser.lr=1e-3",
    "seed=7 objective.beta=1 optimiser.lr=5e-3",
)
FULL = experiments(*(f"seed={k} posterior.name=full optimiser.lr=1e-3" for k in range(4)))
SUBSPACES = experiments(
    *(f"seed={k} prior.name=subspaces optimiser.lr=1e-3" for k in range(2))
)  # fmt: skip
#: betas whose second moment falls soon, so that AMSGrad's largest one is another.
AMSGRAD = experiments(
    *(f"seed={k} optimiser.amsgrad=true optimiser.betas=[0.9,0.9] optimiser.lr=1e-3"
      for k in range(4))
)  # fmt: skip


#: Activations, depths, variances, schedules and batches that steps in C are to know, or to leave.
DEEP = experiments(
    *(f"seed={k} net.encoder=[20,9] net.decoder=[7,33] net.decoder_activation=relu "
      f"net.encoder_activation=tanh batch=48 optimiser.lr=1e-3" for k in range(4))
)  # fmt: skip
LINEAR = [
    from_command_line(
        "beta-vae",
        ["data.name=synth-linear", "data.n=300", "latent=2", "net.name=linear", "batch=32",
         "steps=100", "logging.every=50", "likelihood.name=gaussian", "likelihood.scale=0.3",
         "optimiser.lr=1e-3", f"seed={k}"],
    )
    for k in range(4)
]  # fmt: skip

SPRITES = [
    "data.name=dsprites", "data.size=16", "latent=3", "net.name=mlp", "net.encoder=[16,8]",
    "net.decoder=[16]", "batch=32", "steps=100", "logging.every=50",
    'data.grid={"shape":[0,1],"orientation":[0],"scale":[0,5],"x":[0,9,30],"y":[1,5,9,30]}',
]  # fmt: skip
#: Images of three channels on noise, 768 numbers, with layers wider than a block of inputs, and not
#: by a multiple of what is multiplied at once: bonheme2023 figure 10 and zietlow2022 chapter 4.
WIDE = [*SPRITES, "data.name=dsprites-noisy", "net.encoder=[131,128]", "net.decoder=[128,101]"]
_WARM = [
    "objective.beta.name=linear", "objective.beta.start=0.0", "objective.beta.stop=4.0",
    "objective.beta.steps=11", "optimiser.lr.name=cosine", "optimiser.lr.start=2e-3",
    "optimiser.lr.stop=0.0", "optimiser.lr.steps=100",
]  # fmt: skip
_COLOUR = ["data.name=dsprites-colour", "data.pixel_noise=0.175"]
AE = [from_command_line("ae", [*SPRITES, "optimiser.lr=1e-3", f"seed={k}"]) for k in range(3)]
SLOW = [
    from_command_line(
        "slow-vae",
        [*SPRITES, "batch=24", "optimiser.lr=1e-3", f"seed={k}", f"objective.beta=0.{k + 1}",
         f"objective.gamma={k}.3", "objective.form=released"],
    )
    for k in range(3)
]  # fmt: skip
CONSISTENT = [
    from_command_line(
        "slow-vae",
        [*WIDE, "batch=16", "optimiser.lr=1e-3", f"seed={k}", "objective.gamma=0.3",
         "objective.rate=2", "objective.form=consistent"],
    )
    for k in range(2)
]  # fmt: skip
NOISY = [
    from_command_line(
        "beta-tcvae", [*WIDE, "optimiser.lr=1e-3", f"objective.beta={k}", f"seed={k}"]
    )
    for k in range(1, 4)
]
#: Critics with betas, rates and a width of their own.
FACTOR = [
    from_command_line(
        "factor-vae",
        [*WIDE, "optimiser.lr=1e-3", f"objective.gamma={k + 3}.0", "objective.rate.name=linear",
         "objective.rate.start=0.0", "objective.rate.stop=1.0", "objective.rate.steps=11",
         "objective.critic_width=37", "objective.critic_layers=2",
         f"objective.critic_lr={k + 1}e-3", f"seed={k}", "steps=20", "logging.every=10"],
    )
    for k in range(3)
]  # fmt: skip
WARM = [from_command_line("beta-vae", [*WIDE, *_WARM, *_COLOUR, f"seed={k}"]) for k in range(2)]


@pytest.mark.parametrize(
    ("together", "way"),
    [
        (DIFFERENT, "c"),
        (DIFFERENT, "torch"),
        (FULL, "torch"),
        (SUBSPACES, "torch"),
        (AMSGRAD, "c"),
        (AMSGRAD, "torch"),
        (DEEP, "c"),
        (LINEAR, "c"),
        pytest.param(DIFFERENT, "compiled", marks=pytest.mark.slow),
    ],
)
def test_a_stacked_model_equals_its_solo_run_over_100_steps(
    together: list[Experiment], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = build_data(together[0].data)
    if way == "c" and library("stack", BATCH=16) is None:
        pytest.skip("there is no C compiler")
    if way == "c":
        monkeypatch.delattr(many._Stack, "advance")  # nothing but the steps in C
    else:
        monkeypatch.setattr(many, "_in_c", lambda *_: None)
    *_, last = train_many(together, data, compiled=way == "compiled")
    assert last.records is not None
    for k, experiment in enumerate(together):
        state = new_state(experiment, CPU)
        *_, record = [r for r in steps(state, experiment, data, "fp32") if r is not None]
        assert last.records[k].loss == pytest.approx(record.loss, rel=1e-4)
        assert last.records[k].types == record.types
        np.testing.assert_allclose(last.records[k].variance, record.variance, rtol=1e-3)
        for name, parameter in last.weights(k).named_parameters():
            # Adam divides by the gradient's size, so rounding drifts by a fraction of its rate.
            expected = state.vae.get_parameter(name)
            torch.testing.assert_close(parameter, expected, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("together", [NOISY, WARM, AE, SLOW, CONSISTENT])
def test_wide_stacked_models_move_as_they_would_alone(
    together: list[Experiment], monkeypatch: pytest.MonkeyPatch
) -> None:
    """100 steps on frozen noise, strengths and rates that change on the way. Where a gradient is
    rounding Adam moves a single weight by chance, so all weights are compared at once."""
    data = build_data(together[0].data)
    if library("stack", BATCH=32) is None:
        pytest.skip("there is no C compiler")
    monkeypatch.delattr(many._Stack, "advance")  # nothing but the steps in C
    *_, last = train_many(together, data)
    assert last.records is not None
    for k, experiment in enumerate(together):
        state = new_state(experiment, CPU)
        begun = torch.nn.utils.parameters_to_vector(state.vae.parameters()).detach().clone()
        *_, record = [r for r in steps(state, experiment, data, "fp32") if r is not None]
        assert last.records[k].loss == pytest.approx(record.loss, rel=1e-5)
        assert last.records[k].types == record.types
        np.testing.assert_allclose(last.records[k].variance, record.variance, rtol=1e-3)
        wanted = torch.nn.utils.parameters_to_vector(state.vae.parameters())
        ours = torch.nn.utils.parameters_to_vector(last.weights(k).parameters())
        assert ((ours - wanted).norm() / (wanted - begun).norm()).item() < 0.1


def test_critics_learn_in_c_as_they_do_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights and moments of each critic, by torch's Adam. Twenty steps: where the input of a unit
    is rounding, its slope is chance, and after one such event neither half is the same."""
    if library("stack", BATCH=32) is None:
        pytest.skip("there is no C compiler")
    monkeypatch.setattr(many, "BLOCK", 21)  # moments are carried from call to call
    stacks = []
    monkeypatch.setattr(many, "_stack", lambda *own: stacks.append(_stack(*own)) or stacks[0])
    data = build_data(FACTOR[0].data)
    assert stackable(FACTOR[0])
    *_, last = train_many(FACTOR, data)
    critics = stacks[0][0].critics
    assert critics is not None and last.records is not None
    for k, experiment in enumerate(FACTOR):
        state = new_state(experiment, CPU)
        critic, optimiser = state.groups["critic"], state.optimisers["critic"]
        *_, record = [r for r in steps(state, experiment, data, "fp32") if r is not None]
        assert last.records[k].loss == pytest.approx(record.loss, rel=1e-5)
        assert last.records[k].parts == pytest.approx(record.parts, rel=1e-4)
        held = [optimiser.state[p] for p in critic.parameters()]
        pairs = [
            (many._flat([last.weights(k)])[0], many._flat([state.vae])[0]),
            (critics.flat[k], many._flat([critic])[0]),
            (critics.first[k], torch.cat([many._laid_out(own["exp_avg"]) for own in held])),
            (critics.second[k], torch.cat([many._laid_out(own["exp_avg_sq"]) for own in held])),
        ]
        for ours, wanted in pairs:
            assert ((ours - wanted).norm() / wanted.norm()).item() < 1e-4


def test_a_model_alone_is_that_of_a_group_however_many_steps_a_call_makes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To rounding: torch's powers of a whole vector differ from those of its last elements."""
    if library("stack", BATCH=32) is None:
        pytest.skip("there is no C compiler")
    data, spec = build_data(WARM[1].data), WARM[1]
    begun = torch.nn.utils.parameters_to_vector(build_vae(spec).parameters())
    *_, alone = train_many([spec], data)
    monkeypatch.setattr(many, "BLOCK", 14)  # seven steps of two models: 50 is no multiple
    *_, among = train_many(WARM, data)
    ours, wanted = (
        torch.nn.utils.parameters_to_vector(one.parameters())
        for one in (alone.weights(0), among.weights(1))
    )
    assert ((ours - wanted).norm() / (wanted - begun).norm()).item() < 1e-3


@pytest.mark.parametrize(
    "change",
    ["posterior.name=full", "likelihood.name=laplace", "batch=30", "net.decoder_activation=xtanh",
     "net.encoder_activation=leaky-relu",
     "objective.name=beta-tcvae objective.estimator=stratified",
     "likelihood.name=gaussian likelihood.learned=true"],
)  # fmt: skip
def test_models_of_another_kind_are_left_to_torch(change: str) -> None:
    (spec,) = experiments(change)
    stack, _ = _stack([spec], build_data(spec.data))
    assert many._in_c(stack, spec.batch) is None


#: Objectives whose terms are written in C: preset, and strengths of three models.
IN_C = {
    "beta-vae": "objective.beta={k}",
    "beta-tcvae": "objective.beta={k} objective.rate=0.25",
    "dip-vae-i": "objective.off_diagonal={k} objective.diagonal=1{k}.0",
    "dip-vae-ii": "objective.off_diagonal={k} objective.diagonal={k} objective.rate=0.25",
    "annealed-vae": "objective.gamma=20.0 objective.capacity.name=linear "
    "objective.capacity.start=0.0 objective.capacity.stop={k} objective.capacity.steps=4",
    "colour": "objective.beta={k}",
    "noisy": "objective.beta={k} objective.rate=0.5",
    "ramp": "objective.beta.name=linear objective.beta.start=0.1 objective.beta.stop={k} "
    "objective.beta.steps=4",
}  # fmt: skip


@pytest.mark.parametrize("name", list(IN_C))
def test_a_block_of_steps_in_c_is_that_of_torch(name: str) -> None:
    """Five steps from the same weights, with strengths that change on the way: all parts that are
    recorded, and the moments, which hold the gradients, to rounding."""
    changes = [f"seed={k} optimiser.lr=1e-3 {IN_C[name].format(k=k)}" for k in range(1, 4)]
    if name == "ramp":
        together = experiments(*changes)
    elif name == "noisy":
        together = [from_command_line("beta-tcvae", [*WIDE, *one.split()]) for one in changes]
    elif name == "colour":
        coloured = [*SPRITES, "data.name=dsprites-colour"]
        together = [from_command_line("beta-vae", [*coloured, *one.split()]) for one in changes]
    else:
        together = [from_command_line(name, [*SPRITES, *one.split()]) for one in changes]
    data = build_data(together[0].data)
    stack, flat = _stack(together, data)
    apart = 0.03 if name == "noisy" else 0.3  # sums over 768 numbers grow faster
    flat = flat + apart * torch.randn(flat.shape, generator=torch.Generator().manual_seed(0))
    own = many._in_c(stack, together[0].batch)
    if own is None:
        pytest.skip("there is no C compiler")
    assert isinstance(own, Steps)
    feed = many.StackedBatches(together, data, 1)
    x, noise = feed(2, 5)
    assert feed.rows is not None
    torch.testing.assert_close(feed.rows[feed.index(2, 5)], x)
    ends = []
    rows, index, now = feed.rows, feed.index(2, 5), torch.tensor(2.0)
    for in_c in (True, False):
        still = (torch.zeros_like(flat), torch.zeros_like(flat), torch.zeros_like(flat))
        if in_c:
            ends.append(own(flat.clone(), still, rows, noise, now, index))
        else:
            ends.append(stack.advance(flat.clone(), still, x, noise, now))
    (ours, our_moments, our_parts), (wanted, moments, parts) = ends
    largest = moments[0].abs().max().item()
    torch.testing.assert_close(our_moments[0], moments[0], rtol=1e-3, atol=1e-5 * largest)
    torch.testing.assert_close(our_moments[1], moments[1], rtol=1e-3, atol=1e-6 * largest**2)
    moved = (wanted - flat).abs() > 1e-4  # where the gradient is rounding, Adam's sign is chance
    torch.testing.assert_close(ours[moved], wanted[moved], rtol=0.0, atol=2e-4)
    assert set(our_parts) == set(parts)
    for key, value in parts.items():
        torch.testing.assert_close(our_parts[key], value, rtol=2e-4, atol=1e-5, msg=key)


def test_amsgrad_divides_by_the_largest_second_moment() -> None:
    """Against the recursion of Reddi et al. 2018, written out for one weight in NumPy."""
    (spec,) = experiments("optimiser.amsgrad=true optimiser.betas=[0.9,0.5] optimiser.lr=1")
    weight = torch.nn.Parameter(torch.zeros(1))
    optimiser = build_optimiser(spec, "vae", [weight])
    first, second, largest, expected = 0.0, 0.0, 0.0, 0.0
    for t, gradient in enumerate([3.0, 0.1, 0.1, -0.2, 0.05], 1):
        weight.grad = torch.tensor([gradient])
        optimiser.step()
        first = 0.9 * first + 0.1 * gradient
        second = 0.5 * second + 0.5 * gradient**2
        largest = max(largest, second)
        expected -= first / (1 - 0.9**t) / (np.sqrt(largest / (1 - 0.5**t)) + 1e-8)
        assert weight.item() == pytest.approx(expected, rel=1e-5)
    assert largest > 10 * second


def seeds(count: int, *change: str) -> list[Experiment]:
    return experiments(*(f"seed={k} {' '.join(change)}" for k in range(count)))


def test_groups_depend_on_the_list_and_on_what_pays() -> None:
    long = "steps=5000"
    mixed = [*seeds(4, long), *seeds(4, long, "posterior.name=full"), *seeds(1, long, "latent=3")]
    assert groups(mixed) == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    assert groups(seeds(3, "steps=50000")) == [[0], [1], [2]]
    assert groups(seeds(4, "steps=4000")) == [[0], [1], [2], [3]]  # it takes seconds anyway
    assert [len(group) for group in groups(seeds(50, long))] == [13, 13, 12, 12]
    assert [len(group) for group in groups(seeds(8, "steps=1000000"))] == [4, 4]
    assert [len(group) for group in groups(seeds(8, "steps=1000001"))] == [1] * 8
    assert not stackable(from_command_line("beta-vae", ["data.size=32"]))


def test_a_group_of_larger_models_has_fewer_steps_to_lose() -> None:
    if library("stack", BATCH=64) is None:
        pytest.skip("there is no C compiler")
    images = ["data.name=dsprites-noisy", "data.size=32", "net.name=mlp", "net.encoder=[128,128]"]
    wide = [*images, "net.decoder=[128,128]"]  # 826,644 parameters

    def sizes(steps: int, *change: str) -> list[int]:
        settings = [*wide, f"steps={steps}", *change]
        many = [from_command_line("beta-tcvae", [*settings, f"seed={k}"]) for k in range(16)]
        return [len(group) for group in groups(many)]

    assert sizes(4_000) == [16]
    assert sizes(20_000) == [6, 5, 5]
    assert sizes(200_000) == [1] * 16
    assert sizes(4_000, "net.encoder=[512,512]") == [1] * 16  # products in bf16 are as fast


def test_what_differs_in_more_than_numbers_is_refused() -> None:
    with pytest.raises(UsageError, match="differ in more than seed"):
        next(train_many([DIFFERENT[0], FULL[0]], build_data(DIFFERENT[0].data)))


def folders(tmp_path: Path, together: list[Experiment]) -> list[Run]:
    runs = [Run.of(experiment, "beta-vae", tmp_path) for experiment in together]
    for run, experiment in zip(runs, together, strict=True):
        run.create(experiment)
    return runs


def test_each_model_of_a_group_has_a_whole_run_folder(
    tmp_path: Path,
) -> None:
    runs = folders(tmp_path, DIFFERENT)
    data = build_data(DIFFERENT[0].data)
    for _ in train_group(runs, DIFFERENT, data):
        pass
    for run in runs:
        assert run.is_done
        assert [row["step"] for row in run.records()] == [50, 100]
        assert '"stack_size": 4' in run.environment.read_text()
        load_vae(run)
    before = [run.weights.stat().st_mtime_ns for run in runs]
    assert list(train_group(runs, DIFFERENT, data)) == []
    assert before == [run.weights.stat().st_mtime_ns for run in runs]


def test_one_that_diverges_does_not_disturb_the_rest(
    tmp_path: Path,
) -> None:
    wild = [*DIFFERENT[:3], *experiments("seed=3 optimiser.lr=1e30")]
    runs = folders(tmp_path, wild)
    with pytest.raises(NonFiniteError, match=runs[3].path.name):
        list(train_group(runs, wild, build_data(wild[0].data)))
    assert [run.is_done for run in runs] == [True, True, True, False]


def test_the_quick_tanh_is_tanh_and_has_a_gradient_everywhere() -> None:
    x = torch.linspace(-200.0, 200.0, 4001, requires_grad=True)
    y = _Tanh()(x)
    torch.testing.assert_close(y, torch.tanh(x), rtol=0.0, atol=3e-7)
    (slope,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(slope, 1.0 - torch.tanh(x).square(), rtol=0.0, atol=1e-6)


def test_weights_come_back_from_the_matrix_as_they_went_in() -> None:
    stack, flat = _stack(DIFFERENT, build_data(DIFFERENT[0].data))
    for k, experiment in enumerate(DIFFERENT):
        expected = dict(build_vae(experiment).named_parameters())
        for name, value in stack.named(flat[k]).items():
            torch.testing.assert_close(value, expected[name.removeprefix("vae.")], rtol=0, atol=0)
