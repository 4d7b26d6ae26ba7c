"""The same model in eager PyTorch, for comparison: same sizes, same likelihoods, same sum over components."""

from __future__ import annotations

from typing import Any

import numpy as np


def epoch(columns: Any, rows: np.ndarray, batch: int, components: int, latent: int, hidden: int, estimator: str) -> Any:
    """A function that trains for one epoch of shuffled batches."""
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(1)
    torch.manual_seed(0)
    blocks = [(type(block.likelihood).__name__, len(block.positions)) for block in columns.free]
    width = columns.width
    outputs = columns.outputs
    conditions = rows.shape[1] - width
    data = torch.from_numpy(np.ascontiguousarray(rows))
    encoder = nn.Sequential(
        nn.Linear(rows.shape[1], hidden), nn.Tanh(), nn.Linear(hidden, components * (1 + 2 * latent))
    )
    first = nn.Linear(latent + components + conditions, hidden)
    last = nn.Linear(hidden, outputs)
    prior = nn.Parameter(torch.randn(components, latent))
    weights = [*encoder.parameters(), *first.parameters(), *last.parameters(), prior]
    optimiser = torch.optim.Adam(weights, lr=1e-3)
    one_hot = torch.eye(components)

    def log_density(raw: Any, x: Any) -> Any:
        total, place, column = 0.0, 0, 0
        for name, number in blocks:
            cells = x[:, None, column : column + number]
            known = ~torch.isnan(cells)
            cells = torch.nan_to_num(cells)
            if name == "Poisson":
                rate = functional.softplus(raw[..., place : place + number]) + 1e-4
                density = cells * torch.log(rate) - rate
                place += number
            elif name == "Categorical":
                size = (outputs - place) // number if (name, number) == blocks[-1] else 2
                logits = raw[..., place : place + number * size].unflatten(-1, (number, size))
                logits = functional.pad(logits, (1, 0))
                chosen = cells.long().expand(*logits.shape[:-1])[..., None]
                density = torch.log_softmax(logits, -1).gather(-1, chosen)[..., 0]
                place += number * size
            else:
                location, scale = raw[..., place : place + 2 * number].chunk(2, -1)
                scale = functional.softplus(scale) + 1e-2
                density = -0.5 * ((cells - location) / scale) ** 2 - torch.log(scale)
                place += 2 * number
            total = total + torch.where(known, density, 0.0).sum(-1)
            column += number
        return total

    def step(x: Any) -> None:
        clean = torch.nan_to_num(x)
        given = encoder(clean)
        log_share = torch.log_softmax(given[:, :components], -1)
        mean, log_scale = given[:, components:].chunk(2, -1)
        mean = mean.unflatten(-1, (components, latent))
        log_scale = log_scale.unflatten(-1, (components, latent)).clamp(-7, 2)
        scale = log_scale.exp()
        n = len(x)
        share = log_share.exp()
        if estimator == "exact":
            weights_of, centre = one_hot.expand(n, components, components), prior
        else:
            noise = -torch.log(-torch.log(torch.rand_like(log_share).clamp_min(1e-9)))
            soft = torch.softmax((log_share + noise) / 0.5, -1)[:, None, :]
            mean, scale = soft @ mean, soft @ scale
            log_scale, weights_of, centre = scale.log(), soft, soft @ prior
        z = mean + scale * torch.randn(n, 1, latent)
        conditioned = clean[:, None, width:].expand(n, z.shape[1], conditions)
        raw = last(torch.tanh(first(torch.cat([z, weights_of, conditioned], -1))))
        kl = (0.5 * (scale**2 + (mean - centre) ** 2 - 1) - log_scale).sum(-1)
        bound = log_density(raw, x) - kl
        bound = (share * bound).sum(-1) if estimator == "exact" else bound[:, 0]
        loss = -(bound - (share * log_share).sum(-1)).mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    def run() -> None:
        order = torch.randperm(len(data))
        for start in range(0, len(data) - batch + 1, batch):
            step(data[order[start : start + batch]])

    return run
