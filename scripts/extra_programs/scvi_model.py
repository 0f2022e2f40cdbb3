"""A model of scvi-tools, trained for a moment and inspected: `scripts/extras.py` runs it."""

import scvi

import vaescope as vs

scvi.settings.seed = 0
cells = scvi.data.synthetic_iid()
scvi.model.SCVI.setup_anndata(cells, batch_key="batch", labels_key="labels")
model = scvi.model.SCVI(cells, n_latent=4, n_hidden=16)
model.train(max_epochs=20, accelerator="cpu", enable_progress_bar=False, logger=False)
found = vs.inspect(model, effort="fast")
print(found.summary())
assert len(found.latents) == 4
assert max(one.kl_nats for one in found.latents) > 0.1
