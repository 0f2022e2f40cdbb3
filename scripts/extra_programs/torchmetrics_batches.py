"""MIG by batches is MIG of all rows: `scripts/extras.py` runs it."""

import torch

import vaescope as vs
from vaescope.metrics.torchmetrics import MIGMetric

codes = vs.known.codes()
metric = MIGMetric()
mean, factors = torch.from_numpy(codes.mean), torch.from_numpy(codes.factors)
for rows in torch.arange(len(mean)).split(64):
    metric.update(mean[rows], factors[rows])
print(float(metric.compute()))
assert abs(float(metric.compute()) - vs.metrics.mig(codes).value) < 1e-6
