"""float64 in JAX for the length of a test."""

import jax

if hasattr(jax, "enable_x64"):
    enable_x64 = jax.enable_x64
else:  # before JAX 0.8
    from jax.experimental import enable_x64

__all__ = ["enable_x64"]
