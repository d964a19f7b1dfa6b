#!/usr/bin/env python3
"""A training step of a peer on its default device, as `espalier bench` has it: 784-128-10 (mlp), or two convolutions
(cnn), Adam, batch 64, data on the device. Prints "PEER/PRECISION EXAMPLES_PER_SECOND"; nothing without the peer.

usage: peer_gpu_steps.py jax|torch mlp|cnn
"""
import sys
import time

BATCH, STEPS, ROUNDS = 64, 200, 3


def rate(step, wait):
    """The median of some rounds, in examples a second."""
    for _ in range(20):
        step()
    wait()
    found = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(STEPS):
            step()
        wait()
        found.append(BATCH * STEPS / (time.perf_counter() - begin))
    return sorted(found)[ROUNDS // 2]


def of_torch(workload):
    import torch
    from torch import nn

    if not torch.cuda.is_available():
        return None
    if workload == "mlp":
        model, shape = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), (BATCH, 784)
    else:
        model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(),
                              nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 10))
        shape = (BATCH, 1, 28, 28)
    model = model.cuda()
    x, y = torch.randn(shape, device="cuda"), torch.randint(10, (BATCH,), device="cuda")
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    loss_of = torch.compile(lambda x, y: nn.functional.cross_entropy(model(x), y))

    def step():
        optimizer.zero_grad()
        loss_of(x, y).backward()
        optimizer.step()

    precision = torch.get_float32_matmul_precision()
    return f"torch/{precision} {rate(step, torch.cuda.synchronize)}"


def of_jax(workload):
    import jax
    import jax.numpy as jnp
    import optax

    if jax.default_backend() == "cpu":
        return None
    key = jax.random.PRNGKey(0)
    normal = lambda *shape: jax.random.normal(key, shape) * 0.05
    if workload == "mlp":
        p, x = [normal(784, 128), normal(128), normal(128, 10), normal(10)], normal(BATCH, 784)

        def body(p, x):
            return jax.nn.relu(x @ p[0] + p[1]) @ p[2] + p[3]
    else:
        p = [normal(3, 3, 1, 32), normal(32), normal(3, 3, 32, 64), normal(64), normal(1600, 10), normal(10)]
        x = normal(BATCH, 28, 28, 1)

        def body(p, x):
            for kernel, bias in ((p[0], p[1]), (p[2], p[3])):
                x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID",
                                                 dimension_numbers=("NHWC", "HWIO", "NHWC"))
                x = jax.lax.reduce_window(jax.nn.relu(x + bias), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1),
                                          "VALID")
            return x.reshape(x.shape[0], -1) @ p[4] + p[5]
    y = jax.random.randint(key, (BATCH,), 0, 10)
    optimizer = optax.adam(1e-3)

    def loss(p):
        return optax.softmax_cross_entropy_with_integer_labels(body(p, x), y).mean()

    def update(p, s):
        change, s = optimizer.update(jax.grad(loss)(p), s)
        return optax.apply_updates(p, change), s

    compiled = jax.jit(update, donate_argnums=(0, 1))
    state = [p, optimizer.init(p)]

    def step():
        state[:] = compiled(*state)

    precision = jax.config.jax_default_matmul_precision or "default"
    return f"jax/{precision} {rate(step, lambda: jax.block_until_ready(state))}"


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("jax", "torch") or sys.argv[2] not in ("mlp", "cnn"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        text = (of_jax if sys.argv[1] == "jax" else of_torch)(sys.argv[2])
    except ImportError:
        text = None
    if text:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
