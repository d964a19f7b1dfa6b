"""Training steps that JAX lowers, run by `espalier run` beside JAX itself: three steps, each fed with its own results.

usage: jax_steps.py ESPALIER FOLDER [--reference] [MODEL ...]      (pip install jax; figures of jax 0.10)
Prints a line a model; exit 1 when an output is further from JAX's than 5e-4 of its largest value.
"""
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np

R = np.random.default_rng(0)
TOLERANCE = 5e-4


def normal(*shape, scale=None):
    return jnp.asarray(R.standard_normal(shape, dtype=np.float32) * (scale or shape[0] ** -0.5))


def cross_entropy(logits, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1).mean()


def adam(params, m, v, grads, t, rate=1e-3, b1=0.9, b2=0.999):
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, m, grads)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, v, grads)
    step = rate * jnp.sqrt(1 - b2**t) / (1 - b1**t)
    return jax.tree.map(lambda p, m, v: p - step * m / (jnp.sqrt(v) + 1e-7), params, m, v), m, v


def mlp_dropout():
    p = {"w1": normal(20, 32), "b1": jnp.zeros(32), "w2": normal(32, 10), "b2": jnp.zeros(10)}
    def loss(p, key, x, y):
        h = jax.nn.relu(x @ p["w1"] + p["b1"])
        h = jnp.where(jax.random.bernoulli(key, 0.8, h.shape), h / 0.8, 0)
        return cross_entropy(h @ p["w2"] + p["b2"], y)
    def step(p, m, v, t, key, x, y):
        key, use = jax.random.split(key)
        value, g = jax.value_and_grad(loss)(p, use, x, y)
        p, m, v = adam(p, m, v, g, t)
        return p, m, v, t + 1, key, value
    return step, (p, zeros(p), zeros(p), jnp.float32(1), jax.random.PRNGKey(3)), (normal(16, 20, scale=1), labels(16, 10))


def cnn_batchnorm():
    p = {"c1": normal(3, 3, 1, 8, scale=0.3), "c2": normal(3, 3, 8, 16, scale=0.1), "g": jnp.ones(8), "b": jnp.zeros(8), "w": normal(16 * 9, 10)}
    s = {"mean": jnp.zeros(8), "var": jnp.ones(8)}
    conv = lambda x, k, stride=1: jax.lax.conv_general_dilated(x, k, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    def loss(p, s, x, y):
        h = conv(x, p["c1"])
        mean, var = h.mean((0, 1, 2)), h.var((0, 1, 2))
        s = {"mean": 0.9 * s["mean"] + 0.1 * mean, "var": 0.9 * s["var"] + 0.1 * var}
        h = jax.nn.relu((h - mean) * jax.lax.rsqrt(var + 1e-5) * p["g"] + p["b"])
        h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        h = jax.nn.relu(conv(h, p["c2"], 2))
        return cross_entropy(h.reshape(h.shape[0], -1) @ p["w"], y), s
    def step(p, m, s, x, y):
        (value, s), g = jax.value_and_grad(loss, has_aux=True)(p, s, x, y)
        m = jax.tree.map(lambda m, g: 0.9 * m - 0.05 * g, m, g)
        return jax.tree.map(lambda p, m: p + m, p, m), m, s, value
    return step, (p, zeros(p), s), (normal(8, 12, 12, 1, scale=1), labels(8, 10))


def decoder():
    d, heads, vocabulary, length = 32, 4, 17, 12
    def block():
        return {"g1": jnp.ones(d), "g2": jnp.ones(d), "qkv": normal(d, 3 * d), "o": normal(d, d), "up": normal(d, 4 * d), "down": normal(4 * d, d)}
    p = {"token": normal(vocabulary, d, scale=0.1), "place": normal(length, d, scale=0.1), "blocks": [block(), block()], "g": jnp.ones(d)}
    mask = jnp.tril(jnp.ones((length, length), bool))
    def norm(x, g):
        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g
    def loss(p, ids, y):
        x = p["token"][ids] + p["place"]
        for q in p["blocks"]:
            b, t, _ = x.shape
            qkv = (norm(x, q["g1"]) @ q["qkv"]).reshape(b, t, 3, heads, d // heads)
            a = jnp.einsum("bthd,bshd->bhts", qkv[:, :, 0], qkv[:, :, 1]) * (d // heads) ** -0.5
            a = jax.nn.softmax(jnp.where(mask, a, -1e30))
            x = x + jnp.einsum("bhts,bshd->bthd", a, qkv[:, :, 2]).reshape(b, t, d) @ q["o"]
            x = x + jax.nn.gelu(norm(x, q["g2"]) @ q["up"]) @ q["down"]
        logits = norm(x, p["g"]) @ p["token"].T
        return cross_entropy(logits.reshape(-1, vocabulary), y.reshape(-1))
    def step(p, m, v, t, ids, y):
        value, g = jax.value_and_grad(loss)(p, ids, y)
        p, m, v = adam(p, m, v, g, t)
        return p, m, v, t + 1, value
    ids = R.integers(vocabulary, size=(3, length + 1)).astype(np.int32)
    return step, (p, zeros(p), zeros(p), jnp.float32(1)), (jnp.asarray(ids[:, :-1]), jnp.asarray(ids[:, 1:]))


def lstm_scan():
    n, inputs = 16, 8
    p = {"x": normal(inputs, 4 * n), "h": normal(n, 4 * n), "b": jnp.zeros(4 * n), "w": normal(n, 5)}
    def loss(p, xs, y):
        def cell(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ p["x"] + h @ p["h"] + p["b"], 4, axis=-1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zero = jnp.zeros((xs.shape[1], n))
        (h, _), _ = jax.lax.scan(cell, (zero, zero), xs)
        return cross_entropy(h @ p["w"], y)
    def step(p, m, v, t, xs, y):
        value, g = jax.value_and_grad(loss)(p, xs, y)
        p, m, v = adam(p, m, v, g, t)
        return p, m, v, t + 1, value
    return step, (p, zeros(p), zeros(p), jnp.float32(1)), (normal(9, 4, inputs, scale=1), labels(4, 5))


def zeros(tree):
    return jax.tree.map(jnp.zeros_like, tree)


def labels(count, classes):
    return jnp.asarray(R.integers(classes, size=count).astype(np.int32))


MODELS = {"mlp_dropout": mlp_dropout, "cnn_batchnorm": cnn_batchnorm, "decoder": decoder, "lstm_scan": lstm_scan}


def check(name, command, folder, flags):
    step, state, batch = MODELS[name]()
    folder = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    leaves, tree = jax.tree.flatten((state, batch))
    flat = lambda *leaves: tuple(jax.tree.leaves(step(*(lambda s, b: (*s, *b))(*jax.tree.unflatten(tree, leaves)))))
    lowered = jax.jit(flat, keep_unused=True).lower(*leaves)
    program = folder / "step.mlir"
    program.write_text(lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True))
    count = len(jax.tree.leaves(state))
    theirs, ours = [np.asarray(x) for x in leaves], [np.asarray(x) for x in leaves]
    compiled, worst, where = lowered.compile(), 0.0, ""
    for i in range(3):
        expected = [np.asarray(x) for x in compiled(*theirs)]
        inputs = []
        for k, value in enumerate(ours):
            inputs.append(str(folder / f"in{k}.npy"))
            np.save(inputs[-1], value)
        run = subprocess.run([command, "run", str(program), "--inputs", *inputs, "--outputs", str(folder), *flags], capture_output=True, text=True)
        if run.returncode:
            print(f"{name}: {run.stderr.strip()}")
            return False
        got = [np.load(folder / f"out{k}.npy") for k in range(len(expected))]
        for k, (a, b) in enumerate(zip(got, expected)):
            if a.shape != b.shape or a.dtype != b.dtype:
                print(f"{name}: output {k} is {a.dtype}{a.shape}, JAX gives {b.dtype}{b.shape}")
                return False
            error = float(np.max(np.abs(a.astype(np.float64) - b)) / max(np.max(np.abs(b)), 1e-30)) if a.size else 0.0
            if not error <= worst:
                worst, where = error, f"step {i + 1}, output {k}"
        theirs, ours = expected[:count] + theirs[count:], got[:count] + ours[count:]
    print(f"{name}: worst {worst:.2e} of the largest value ({where or 'all equal'}), {'ok' if worst <= TOLERANCE else 'FAILED'}")
    return worst <= TOLERANCE


def main():
    jax.config.update("jax_default_matmul_precision", "highest")
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    flags = [a for a in sys.argv[3:] if a.startswith("--")]
    names = [a for a in sys.argv[3:] if not a.startswith("--")] or list(MODELS)
    sys.exit(0 if all([check(name, command, folder, flags) for name in names]) else 1)


if __name__ == "__main__":
    main()
