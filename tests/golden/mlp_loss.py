"""Loss curves of a 784-128-10 network in JAX with Keras' Adam: 50 steps, batch 64, from weights given by a formula.
In f32, and by Keras' own layers under its policy mixed_bfloat16.

usage: mlp_loss.py OUT_FOLDER [MNIST_FOLDER]     (pip install jax keras; figures of jax 0.10, Keras 3.15)
Writes mlp_loss_formula.txt, and mlp_loss_mnist.txt from the first 3,200 images where the folder is given; beside
each its mlp_loss_..._bf16.txt.
"""
import gzip
import os
import pathlib
import sys

os.environ["KERAS_BACKEND"] = "jax"
# XLA keeps no more bits between ops than their types say.
os.environ["XLA_FLAGS"] = "--xla_allow_excess_precision=false"
import jax
import jax.numpy as jnp
import keras
import numpy as np


def formula(count, factor, scale):
    return (np.sin(np.arange(count, dtype=np.float64) * factor) * scale).astype(np.float32)


def weights():
    return {
        "w1": jnp.asarray(formula(784 * 128, 0.7, 0.05).reshape(784, 128)),
        "b1": jnp.zeros(128),
        "w2": jnp.asarray(formula(128 * 10, 0.9, 0.1).reshape(128, 10)),
        "b2": jnp.zeros(10),
    }


def loss(p, x, y):
    hidden = jnp.maximum(x @ p["w1"] + p["b1"], 0)
    logits = hidden @ p["w2"] + p["b2"]
    return (jax.nn.logsumexp(logits, axis=1) - jnp.take_along_axis(logits, y[:, None], 1)[:, 0]).mean()


def curve(x, y):
    start = weights()
    names = list(start)
    variables = [keras.Variable(start[name]) for name in names]
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(variables)
    values, state = [v.value for v in variables], [v.value for v in optimizer.variables]

    @jax.jit
    def step(values, state, x, y):
        value, gradients = jax.value_and_grad(loss)(dict(zip(names, values)), x, y)
        values, state = optimizer.stateless_apply(state, [gradients[name] for name in names], values)
        return values, state, value

    losses = []
    for i in range(50):
        values, state, value = step(values, state, x[64 * i : 64 * i + 64], y[64 * i : 64 * i + 64])
        losses.append(float(value))
    return losses


def mixed_curve(x, y):
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = keras.Sequential([keras.Input((784,), dtype="float32"), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)])
    keras.config.set_dtype_policy("float32")
    model.set_weights([np.asarray(w) for w in weights().values()])
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return [float(model.train_on_batch(x[64 * i : 64 * i + 64], y[64 * i : 64 * i + 64])) for i in range(50)]


def write(out, name, x, y):
    np.savetxt(out / f"mlp_loss_{name}.txt", curve(x, y), fmt="%.9g")
    np.savetxt(out / f"mlp_loss_{name}_bf16.txt", mixed_curve(x, y), fmt="%.9g")


def main():
    jax.config.update("jax_default_matmul_precision", "highest")
    out = pathlib.Path(sys.argv[1])
    rows = 50 * 64
    x = (0.5 + 0.5 * np.sin(np.arange(rows * 784, dtype=np.float64) * 0.37)).astype(np.float32).reshape(rows, 784)
    y = (np.arange(rows) * 7 // 3 % 10).astype(np.int32)
    write(out, "formula", x, y)
    if len(sys.argv) > 2:
        folder = pathlib.Path(sys.argv[2])
        images = gzip.open(folder / "t10k-images-idx3-ubyte.gz").read()[16:]
        labels = gzip.open(folder / "t10k-labels-idx1-ubyte.gz").read()[8:]
        x = (np.frombuffer(images, np.uint8)[: rows * 784].astype(np.float32) / np.float32(255)).reshape(rows, 784)
        y = np.frombuffer(labels, np.uint8)[:rows].astype(np.int32)
        write(out, "mnist", x, y)


if __name__ == "__main__":
    main()
