"""What several models share."""

import jax
import jax.numpy as jnp


def layer_norm(x, scale, offset):
    mean = jnp.mean(x, -1, keepdims=True)
    centred = x - mean
    variance = jnp.mean(centred * centred, -1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + 1e-5) * scale + offset


def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def softmax(x):
    """Over the last axis. The maximum is a constant for the gradient, which does not change it."""
    shifted = jnp.exp(x - jax.lax.stop_gradient(jnp.max(x, -1, keepdims=True)))
    return shifted / jnp.sum(shifted, -1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1.0 + jnp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def silu(x):
    return x * jax.lax.logistic(x)


def swiglu(gate, up):
    return silu(gate) * up


def cross_entropy(logits, labels):
    """The mean of -log softmax at the labels."""
    shifted = logits - jax.lax.stop_gradient(jnp.max(logits, -1, keepdims=True))
    chosen = (labels[..., None] == jnp.arange(logits.shape[-1])).astype(logits.dtype)
    normaliser = jnp.log(jnp.sum(jnp.exp(shifted), -1))
    return jnp.mean(normaliser - jnp.sum(shifted * chosen, -1))


def attend(query, key, value, causal):
    """Attention over arrays of (batch, length, heads, units)."""
    score = jnp.einsum("bthd,bshd->bhts", query, key) * query.shape[-1] ** -0.5
    if causal:
        length = query.shape[1]
        mask = jnp.arange(length)[:, None] >= jnp.arange(length)[None, :]
        score = jnp.where(mask, score, -1e9)
    return jnp.einsum("bhts,bshd->bthd", softmax(score), value)


def rotary(x, base=10000.0):
    """Rotary positions (Su 2021) on (batch, length, heads, units)."""
    half = x.shape[-1] // 2
    frequency = base ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angle = jnp.arange(x.shape[1], dtype=jnp.float32)[:, None] * frequency
    cos, sin = jnp.cos(angle)[:, None, :].astype(x.dtype), jnp.sin(angle)[:, None, :].astype(x.dtype)
    left, right = x[..., :half], x[..., half:]
    return jnp.concatenate([left * cos - right * sin, left * sin + right * cos], -1)


def attend_grouped(query, key, value, base=10000.0):
    """Causal attention with rotary positions in which several heads of queries share a key and a value (Ainslie 2023)."""
    query, key = rotary(query, base), rotary(key, base)
    share = query.shape[2] // key.shape[2]
    return attend(query, jnp.repeat(key, share, 2), jnp.repeat(value, share, 2), causal=True)


def grouped_attention(x, w, heads, groups):
    """Causal attention in which `heads // groups` query heads share a key and a value (Ainslie 2023)."""
    batch, length, width = x.shape
    units = width // heads
    query = rotary((x @ w["query"]).reshape(batch, length, heads, units))
    key = rotary((x @ w["key"]).reshape(batch, length, groups, units))
    value = (x @ w["value"]).reshape(batch, length, groups, units)
    key, value = jnp.repeat(key, heads // groups, 2), jnp.repeat(value, heads // groups, 2)
    return attend(query, key, value, causal=True).reshape(batch, length, width) @ w["output"]
