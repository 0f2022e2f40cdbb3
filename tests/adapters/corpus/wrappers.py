"""Where encoder and decoder are kept, and under which names."""

from types import SimpleNamespace
from typing import Any

import torch
from tests.adapters.corpus.layers import Layers, logvar_truth, probabilities, reparameterise
from tests.adapters.corpus.returns import Basic, basic_output, basic_truth
from tests.adapters.corpus.style import LATENTS, Style, mlp
from torch import Tensor, nn

__all__ = ["STYLES"]


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 48), nn.ReLU())
        self.mean, self.log_var = nn.Linear(48, LATENTS), nn.Linear(48, LATENTS)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.body(x)
        return self.mean(h), self.log_var(h)


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = mlp(LATENTS, 48, 64, end=nn.Sigmoid())

    def forward(self, z: Tensor) -> Tensor:
        return self.net(z).view(-1, 1, 8, 8)


class TwoParts(nn.Module):
    """encoder and decoder are modules; the model has only forward."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()

    def forward(self, x: Tensor) -> Any:
        mean, log_var = self.encoder(x)
        return self.decoder(reparameterise(mean, log_var)), mean, log_var


def _two_parts(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = model.encoder.body(x)
    return model.encoder.mean(h), model.encoder.log_var(h).exp()


class Sampling(nn.Module):
    def forward(self, inputs: tuple[Tensor, Tensor]) -> Tensor:
        z_mean, z_log_var = inputs
        return z_mean + torch.exp(0.5 * z_log_var) * torch.randn_like(z_mean)


class SamplingEncoder(Encoder):
    """z_mean, z_log_var and z, drawn by a layer of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.sampling = Sampling()

    def forward(self, x: Tensor) -> Any:
        h = self.body(x)
        z_mean, z_log_var = self.mean(h), self.log_var(h)
        return [z_mean, z_log_var, self.sampling((z_mean, z_log_var))]


class WithSamplingLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = SamplingEncoder(), Decoder()

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x)[2])


class FeaturesThenHeads(nn.Module):
    """`encoder` gives features, of which the model's own heads make the posterior: no encode."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 48), nn.ReLU())
        self.fc_mu, self.fc_logvar = nn.Linear(48, LATENTS), nn.Linear(48, LATENTS)
        self.decoder = mlp(LATENTS, 48, 64, end=nn.Sigmoid())

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return reparameterise(mu, logvar)

    def forward(self, x: Tensor) -> Any:
        h = self.encoder(x)
        mu, logvar = self.fc_mu(h), self.fc_logvar(h)
        return self.decoder(self.reparameterize(mu, logvar)).view(-1, 1, 8, 8), mu, logvar


class FeaturesOfTheirWidth(FeaturesThenHeads):
    """As many features as latents, so that the decoder takes both."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), mlp(64, 48, LATENTS), nn.Tanh())
        self.fc_mu, self.fc_logvar = nn.Linear(LATENTS, LATENTS), nn.Linear(LATENTS, LATENTS)


def _features(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = model.encoder(x)
    return model.fc_mu(h), model.fc_logvar(h).exp()


def _flat_decoder(model: Any, z: Tensor) -> Tensor:
    return model.decoder(z).view(-1, 1, 8, 8)


class SignedSigma(nn.Module):
    """Features, a head called sigma that may be negative, and only forward."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.ReLU())
        self.mu, self.sigma = nn.Linear(48, LATENTS), nn.Linear(48, LATENTS)
        self.decoder = mlp(LATENTS, 48, 64, end=nn.Sigmoid())

    def forward(self, x: Tensor) -> Any:
        h = self.encoder(x.view(x.size(0), -1))
        mu, sigma = self.mu(h), self.sigma(h)
        return self.decoder(mu + sigma * torch.randn_like(sigma)), mu, sigma


def _signed(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = model.encoder(x.flatten(1))
    return model.mu(h), model.sigma(h) ** 2 + 1e-12


class OnlyForward(Layers):
    """No encode, no decode, no parts of such names: layers by number."""

    decode = None  # type: ignore[assignment]

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self._heads(x)
        z = reparameterise(mu, logvar)
        return torch.sigmoid(self._drawn(z)).view(-1, 1, 8, 8), mu, logvar


class ForwardDict(OnlyForward):
    def forward(self, x: Tensor) -> Any:
        recon, mu, logvar = OnlyForward.forward(self, x)
        return {"recon_x": recon, "mu": mu, "log_var": logvar}


class Output(dict):  # type: ignore[type-arg]
    """A dictionary whose keys are attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error


class EmbeddingEncoder(Encoder):
    def forward(self, x: Tensor) -> Output:
        h = self.body(x)
        return Output(embedding=self.mean(h), log_covariance=self.log_var(h))


class ReconstructionDecoder(Decoder):
    def forward(self, z: Tensor) -> Output:
        return Output(reconstruction=self.net(z).view(-1, 1, 8, 8))


class Configured(nn.Module):
    """A configuration that names the loss; forward takes a dictionary and gives the losses."""

    def __init__(self, loss: str = "bce") -> None:
        super().__init__()
        self.encoder, self.decoder = EmbeddingEncoder(), ReconstructionDecoder()
        self.model_config = SimpleNamespace(
            input_dim=(1, 8, 8), latent_dim=LATENTS, reconstruction_loss=loss
        )

    def forward(self, inputs: dict[str, Tensor]) -> Output:
        x = inputs["data"]
        codes = self.encoder(x)
        z = reparameterise(codes.embedding, codes.log_covariance)
        return Output(recon_x=self.decoder(z).reconstruction, z=z)


def _decoder_net(model: Any, z: Tensor) -> Tensor:
    return model.decoder.net(z).view(-1, 1, 8, 8)


class Trainer(nn.Module):
    """As Lightning modules are: training_step, hyper-parameters, the VAE within."""

    def __init__(self) -> None:
        super().__init__()
        self.hparams = {"lr": 1e-3, "kl_weight": 0.1}
        self.model = TwoParts()

    def forward(self, x: Tensor) -> Any:
        return self.model(x)

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        recon, mu, log_var = self.model(batch[0])
        bce = nn.functional.binary_cross_entropy(recon, batch[0], reduction="sum")
        return bce - 0.5 * (1 + log_var - mu**2 - log_var.exp()).sum()

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=self.hparams["lr"])


class FlatTrainer(nn.Module):
    """As Lightning modules are, with encode and decode of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = mlp(64, 48), mlp(LATENTS, 48, 64)
        self.fc_mu, self.fc_var = nn.Linear(48, LATENTS), nn.Linear(48, LATENTS)

    def _step(self, x: Tensor) -> Any:
        h = torch.relu(self.encoder(x.flatten(1)))
        mu, log_var = self.fc_mu(h), self.fc_var(h)
        q = torch.distributions.Normal(mu, torch.exp(log_var / 2))
        p = torch.distributions.Normal(torch.zeros_like(mu), torch.ones_like(mu))
        z = q.rsample()
        return z, self.decoder(z).view(-1, 1, 8, 8), p, q

    def forward(self, x: Tensor) -> Tensor:
        return self._step(x)[1]

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        z, logits, p, q = self._step(batch[0])
        bce = nn.functional.binary_cross_entropy_with_logits(logits, batch[0], reduction="sum")
        return bce + (q.log_prob(z) - p.log_prob(z)).sum()


def _flat_trainer(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = torch.relu(model.encoder(x.flatten(1)))
    return model.fc_mu(h), model.fc_var(h).exp()


class Holder:
    """No module: an object that holds one."""

    def __init__(self) -> None:
        self.net = TwoParts()

    def encode(self, x: Tensor) -> Any:
        return self.net.encoder(x)

    def decode(self, z: Tensor) -> Tensor:
        return self.net.decoder(z)


class OtherNames(nn.Module):
    """Parts under other names: inference and generative networks."""

    def __init__(self) -> None:
        super().__init__()
        self.q_net, self.p_net = Encoder(), Decoder()

    def recognition(self, x: Tensor) -> Any:
        return self.q_net(x)

    def generate(self, z: Tensor) -> Tensor:
        return self.p_net(z)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.recognition(x)
        return self.generate(reparameterise(mu, logvar)), mu, logvar


def _other_names(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = model.q_net.body(x)
    return model.q_net.mean(h), model.q_net.log_var(h).exp()


class Bottleneck(nn.Module):
    """Features -> (z, mu, logvar) in a module between encoder and decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.mu, self.logvar = nn.Linear(48, LATENTS), nn.Linear(48, LATENTS)

    def forward(self, h: Tensor) -> Any:
        mu, logvar = self.mu(h), self.logvar(h)
        return reparameterise(mu, logvar), mu, logvar


class WithBottleneck(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), mlp(64, 48), nn.ReLU())
        self.bottleneck, self.decoder = Bottleneck(), Decoder()

    def forward(self, x: Tensor) -> Any:
        z, mu, logvar = self.bottleneck(self.encoder(x))
        return self.decoder(z), mu, logvar


def _bottleneck(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = model.encoder(x)
    return model.bottleneck.mu(h), model.bottleneck.logvar(h).exp()


class Preprocessing(Layers):
    """forward shifts the images before encode sees them."""

    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(2 * x - 1)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


def _preprocessed(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    return logvar_truth(model, 2 * x - 1)


def _functions(model: Any) -> Any:
    return {"encode": model.encode, "decode": model.decode}


def _lambdas(model: Any) -> Any:
    return {"encode": lambda x: model.encoder(x)[:2], "decode": lambda z: model.decoder(1.0 * z)}


PAIR = {"posterior": ("logvar", "pair,logvar")}


def _style(name: str, make: Any, posterior: Any, output: Any, *rest: Any, **more: Any) -> Style:
    return Style(f"wrappers/{name}", make, posterior, output, *rest,
                 **{"answers": PAIR, **more})  # fmt: skip


def _inner(accessor: Any, truth: Any) -> Any:
    return lambda model, values: truth(accessor(model), values)


STYLES = (
    _style("encoder, decoder", TwoParts, _two_parts, _decoder_net),
    _style("sampling layer", WithSamplingLayer, _two_parts, _decoder_net),
    _style("features, then heads", FeaturesThenHeads, _features, _flat_decoder),
    _style("features as wide as latents", FeaturesOfTheirWidth, _features, _flat_decoder),
    _style("signed sigma, only forward", SignedSigma, _signed, _flat_decoder,
           answers={"posterior": ("std", "pair,std")}),
    _style("only forward", OnlyForward, logvar_truth, probabilities),
    _style("only forward, dict", ForwardDict, logvar_truth, probabilities),
    _style("config bce", Configured, _two_parts, _decoder_net),
    _style("config mse", lambda: Configured("mse"), _two_parts, _decoder_net, "squared-error",
           beta=0.02),
    _style("trainer around a model", Trainer, _inner(lambda m: m.model, _two_parts),
           _inner(lambda m: m.model, _decoder_net)),
    _style("trainer of its own", FlatTrainer, _flat_trainer, _flat_decoder, "logits"),
    _style("functions of flat images", Basic, basic_truth, basic_output, call=_functions),
    _style("lambdas", TwoParts, _two_parts, _decoder_net, call=_lambdas),
    _style("DataParallel", lambda: nn.DataParallel(Basic()),
           _inner(lambda m: m.module, basic_truth), _inner(lambda m: m.module, basic_output)),
    _style("object that holds a module", Holder, _inner(lambda m: m.net, _two_parts),
           _inner(lambda m: m.net, _decoder_net), module=lambda m: m.net),
    _style("recognition and generate", OtherNames, _other_names,
           lambda m, z: m.p_net.net(z).view(-1, 1, 8, 8)),
    _style("bottleneck", WithBottleneck, _bottleneck, _decoder_net),
    _style("forward shifts the images", Preprocessing, _preprocessed, probabilities,
           answers={**PAIR, "value_range": ((-1.0, 1.0),)}),
)  # fmt: skip
