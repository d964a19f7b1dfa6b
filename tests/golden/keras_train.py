"""Losses, metrics, optimizers, schedules, regularizers and initializers as Keras computes them.

usage: keras_train.py OUT.json     (pip install keras tensorflow; figures of Keras 3.15 on TensorFlow)

A case is a Keras class, the arguments it was made with (none: its defaults) and what it gave; the tests make the same
object of ours from them. An array is {"dtype", "shape", "data"}. Optimizers run in f64, since Adam's 1 - beta^step in
f32 would be the largest error there is; Keras rounds betas to f32 all the same, where those below are exact.
"""
import itertools
import json
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
from keras.src.trainers.compile_utils import get_metric

DTYPES = {"float32": "f32", "float64": "f64", "int32": "i32"}


def array(x):
    x = np.asarray(x)
    values = [float(f"{v:.9g}") for v in x.ravel()] if x.dtype.kind == "f" else x.ravel().tolist()
    return {"dtype": DTYPES[str(x.dtype)], "shape": list(x.shape), "data": values}


def numbers(values):
    return [float(f"{float(v):.9g}") for v in values]


class Draws:
    """What the cases are made of; a seed a case, so that one does not move the others."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def normal(self, *shape, scale=1.0, offset=0.0):
        return (self.random.normal(size=shape) * scale + offset).astype(np.float32)

    def unit(self, *shape):
        return self.random.uniform(size=shape).astype(np.float32)

    def softmax(self, *shape):
        powers = np.exp(self.normal(*shape, scale=2))
        return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)

    def classes(self, *shape, count):
        return self.random.integers(0, count, size=shape).astype(np.int32)

    def one_hot(self, *shape, count):
        return np.eye(count, dtype=np.float32)[self.classes(*shape, count=count)]

    def bits(self, *shape):
        return self.random.integers(0, 2, size=shape).astype(np.float32)

    def weights(self, rows):
        return (self.random.integers(0, 5, size=rows) / 2).astype(np.float32)


def loss_cases():
    d = Draws(1)
    certain = np.array([[1, 0, 0], [0, 1, 0]], np.float32)  # reaches the clipping of probabilities
    wrong = np.array([2, 1], np.int32)
    yield "SparseCategoricalCrossentropy", {}, d.classes(6, count=4), d.softmax(6, 4)
    yield "SparseCategoricalCrossentropy", {}, wrong, certain
    yield "SparseCategoricalCrossentropy", {"from_logits": True}, d.classes(6, count=4), d.normal(6, 4, scale=5)
    yield "SparseCategoricalCrossentropy", {"from_logits": True}, d.classes(3, 2, count=4), d.normal(3, 2, 4)
    yield "CategoricalCrossentropy", {}, d.one_hot(6, count=4), d.softmax(6, 4)
    yield "CategoricalCrossentropy", {}, np.eye(3, dtype=np.float32)[wrong], certain
    yield "CategoricalCrossentropy", {}, d.one_hot(5, count=3), d.unit(5, 3) * 3 + 0.1
    yield "CategoricalCrossentropy", {"from_logits": True}, d.softmax(6, 4), d.normal(6, 4, scale=5)
    yield (
        "CategoricalCrossentropy",
        {"from_logits": True, "label_smoothing": 0.1},
        d.one_hot(3, 2, count=4),
        d.normal(3, 2, 4),
    )
    yield "BinaryCrossentropy", {}, d.bits(6, 1), d.unit(6, 1)
    yield "BinaryCrossentropy", {}, d.bits(4, 3), np.round(d.unit(4, 3))
    yield "BinaryCrossentropy", {"label_smoothing": 0.2}, d.bits(4, 2, 3), d.unit(4, 2, 3)
    yield "BinaryCrossentropy", {"from_logits": True}, d.bits(6, 2), d.normal(6, 2, scale=8)
    yield "BinaryCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, d.unit(6, 2), d.normal(6, 2)
    for name, arguments in [("MeanSquaredError", {}), ("MeanAbsoluteError", {}), ("Huber", {}), ("Huber", {"delta": 0.25})]:
        yield name, arguments, d.normal(6, 3), d.normal(6, 3)
        yield name, arguments, d.normal(4, 2, 3, scale=9), d.normal(4, 2, 3, scale=9)


def losses():
    for name, arguments, labels, outputs in loss_cases():
        loss = getattr(keras.losses, name)(reduction=None, **arguments)
        variable = tf.Variable(outputs)
        with tf.GradientTape() as tape:
            rows = loss(labels, tf.convert_to_tensor(variable))
            rows = tf.reduce_mean(tf.reshape(rows, [len(outputs), -1]), axis=1)
        yield {
            "class": name,
            "arguments": arguments,
            "labels": array(labels),
            "outputs": array(outputs),
            "losses": array(rows),
            "gradient": array(tape.gradient(rows, variable)),
        }


SCHEDULES = [
    ("CosineDecay", {"initial_learning_rate": 0.1, "decay_steps": 100}),
    ("CosineDecay", {"initial_learning_rate": 0.3, "decay_steps": 60, "alpha": 0.2}),
    (
        "CosineDecay",
        {"initial_learning_rate": 0.01, "decay_steps": 50, "alpha": 0.1, "warmup_target": 0.5, "warmup_steps": 20},
    ),
    ("CosineDecay", {"initial_learning_rate": 0.01, "decay_steps": 50, "warmup_target": 0.5}),
    ("ExponentialDecay", {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.9}),
    ("ExponentialDecay", {"initial_learning_rate": 0.2, "decay_steps": 16, "decay_rate": 0.5, "staircase": True}),
    ("PiecewiseConstantDecay", {"boundaries": [10, 30, 31], "values": [1.0, 0.5, 0.25, 0.125]}),
    ("PiecewiseConstantDecay", {"boundaries": [40], "values": [0.2, 0.1]}),
    ("PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 80}),
    ("PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 50, "end_learning_rate": 0.01, "power": 0.5}),
    ("PolynomialDecay", {"initial_learning_rate": 0.3, "decay_steps": 30, "power": 2.0, "cycle": True}),
]
STEPS = [0, 1, 2, 5, 9, 10, 11, 15, 16, 19, 20, 21, 29, 30, 31, 32, 40, 41, 49, 50, 59, 60, 61, 70, 79, 80, 99, 100, 1000]


def schedules():
    for name, arguments in SCHEDULES:
        schedule = getattr(keras.optimizers.schedules, name)(**arguments)
        rates = [schedule(tf.constant(step, tf.int64)) for step in STEPS]
        yield {"class": name, "arguments": arguments, "steps": STEPS, "rates": numbers(rates)}


OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"learning_rate": 0.2, "clipvalue": 0.5}),
    ("SGD", {"learning_rate": 0.2, "clipnorm": 0.7}),
    ("SGD", {"learning_rate": 0.2, "momentum": 0.5, "global_clipnorm": 1.5}),
    ("Adam", {}),
    ("Adam", {"learning_rate": 0.05, "beta_1": 0.75, "beta_2": 0.875, "epsilon": 1e-3}),
    ("Adam", {"learning_rate": 0.05, "beta_2": 0.984375, "weight_decay": 0.2, "clipnorm": 0.5}),
    ("Adam", {"learning_rate": 0.05, "beta_2": 0.984375, "global_clipnorm": 100.0}),
    ("AdamW", {}),
    ("AdamW", {"learning_rate": 0.1, "weight_decay": 0.05, "beta_1": 0.75, "beta_2": 0.96875, "global_clipnorm": 1.0}),
    ("AdamW", {"learning_rate": 0.02, "beta_2": 0.9375, "clipvalue": 0.3}),
    ("RMSprop", {}),
    ("RMSprop", {"learning_rate": 0.05, "rho": 0.7, "momentum": 0.6, "epsilon": 1e-4}),
    ("RMSprop", {"learning_rate": 0.05, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"learning_rate": 0.05, "momentum": 0.9, "centered": True, "epsilon": 1e-2, "global_clipnorm": 1.0}),
    ("Adagrad", {}),
    ("Adagrad", {"learning_rate": 0.3, "initial_accumulator_value": 0.5, "epsilon": 1e-2}),
    ("Adagrad", {"learning_rate": 0.3, "weight_decay": 0.02, "clipnorm": 0.9}),
    ("SGD", {"learning_rate": {"class": "PiecewiseConstantDecay", "arguments": SCHEDULES[7][1] | {"boundaries": [4]}}}),
    (
        "Adam",
        {
            "beta_2": 0.984375,
            "learning_rate": {"class": "CosineDecay", "arguments": SCHEDULES[2][1] | {"warmup_steps": 3}},
        },
    ),
    (
        "RMSprop",
        {"weight_decay": 0.5, "learning_rate": {"class": "ExponentialDecay", "arguments": SCHEDULES[4][1]}},
    ),
]


def optimizers():
    for name, arguments in OPTIMIZERS:
        made = dict(arguments)
        if isinstance(made.get("learning_rate"), dict):
            rate = made["learning_rate"]
            made["learning_rate"] = getattr(keras.optimizers.schedules, rate["class"])(**rate["arguments"])
        optimizer = getattr(keras.optimizers, name)(**made)
        d = Draws(2)
        start = [d.normal(3), d.normal(2, 2)]
        variables = [keras.Variable(value, dtype="float64") for value in start]
        gradients, values = [], []
        for _ in range(10):
            gradients.append([d.normal(3), d.normal(2, 2, offset=0.5)])
            optimizer.apply([tf.constant(g, tf.float64) for g in gradients[-1]], variables)
            values.append([array(v.numpy().astype(np.float32)) for v in variables])
        yield {
            "class": name,
            "arguments": arguments,
            "start": [array(v) for v in start],
            "gradients": [[array(g) for g in step] for step in gradients],
            "values": values,
        }


def binary(d, rows):
    return d.bits(rows, 1), d.unit(rows, 1)


def several(d, rows):
    return d.bits(rows, 3), d.unit(rows, 3)


def skilled(d, rows):
    labels = d.bits(rows, 1)
    return labels, np.clip(0.3 * labels + 0.7 * d.unit(rows, 1), 0, 1)


def logits(d, rows):
    return d.bits(rows, 1), d.normal(rows, 1, scale=4)


def sparse(d, rows):
    return d.classes(rows, count=7), d.softmax(rows, 7)


def sequences(d, rows):
    return d.classes(rows, 2, count=5), d.softmax(rows, 2, 5)


def one_hot(d, rows):
    return d.one_hot(rows, count=7), d.softmax(rows, 7)


def soft(d, rows):
    return d.softmax(rows, 3), d.softmax(rows, 3)


def ties(d, rows):
    return d.classes(rows, count=7), np.round(d.unit(rows, 7) * 3) / 3


def far(d, rows):
    return d.normal(rows, 2, scale=3, offset=5), d.normal(rows, 2, scale=3, offset=5)


def near(d, rows):
    labels = d.normal(rows, 1, scale=2)
    return labels, labels + d.normal(rows, 1, scale=0.3)


def metric_cases():
    """The name and arguments of a metric, and a function of (draws, rows) that makes labels and outputs."""
    yield "accuracy", {}, binary
    yield "accuracy", {}, sparse
    yield "accuracy", {}, one_hot
    yield "BinaryAccuracy", {}, several
    yield "BinaryAccuracy", {"threshold": 0.3}, binary
    yield "SparseCategoricalAccuracy", {}, sparse
    yield "SparseCategoricalAccuracy", {}, sequences
    yield "CategoricalAccuracy", {}, one_hot
    yield "CategoricalAccuracy", {}, soft
    yield "TopKCategoricalAccuracy", {}, one_hot
    yield "TopKCategoricalAccuracy", {"k": 2}, one_hot
    yield "SparseTopKCategoricalAccuracy", {}, sparse
    yield "SparseTopKCategoricalAccuracy", {"k": 3}, sparse
    yield "SparseTopKCategoricalAccuracy", {"k": 2}, ties
    yield "Precision", {}, binary
    yield "Precision", {"thresholds": 0.7}, several
    yield "Recall", {}, binary
    yield "Recall", {"thresholds": 0.3}, several
    yield "AUC", {}, skilled
    yield "AUC", {"num_thresholds": 11}, several
    yield "AUC", {"from_logits": True}, logits
    yield "MeanAbsoluteError", {}, far
    yield "MeanAbsoluteError", {}, near
    yield "MeanSquaredError", {}, far
    yield "MeanSquaredError", {}, near
    yield "RootMeanSquaredError", {}, far
    yield "RootMeanSquaredError", {}, near
    yield "R2Score", {}, far
    yield "R2Score", {}, near


def metrics():
    for number, (name, arguments, make) in enumerate(metric_cases()):
        for weighted in (False, True):
            d = Draws(100 + number)
            batches = []
            metric = None
            for rows in (8, 8, 5):
                labels, outputs = make(d, rows)
                weights = d.weights(rows) if weighted else None
                if metric is None:
                    by_name = name == "accuracy"
                    metric = get_metric(name, labels, outputs) if by_name else getattr(keras.metrics, name)(**arguments)
                metric.update_state(labels, outputs, sample_weight=weights)
                batches.append(
                    {
                        "labels": array(labels),
                        "outputs": array(outputs.astype(np.float32)),
                        "weights": None if weights is None else array(weights),
                        "result": numbers([metric.result()])[0],
                    }
                )
            yield {"class": name, "arguments": arguments, "batches": batches}
    for inner, weighted in itertools.product([(), (2, 3)], [False, True]):
        d = Draws(3)
        mean = keras.metrics.Mean()
        batches = []
        for rows in (8, 3):
            values, weights = d.normal(rows, *inner), d.weights(rows) if weighted else None
            mean.update_state(values, sample_weight=weights)
            batches.append(
                {
                    "outputs": array(values),
                    "weights": None if weights is None else array(weights),
                    "result": numbers([mean.result()])[0],
                }
            )
        yield {"class": "Mean", "arguments": {}, "batches": batches}


def regularizers():
    for name, arguments in [
        ("L1", {}),
        ("L1", {"l1": 0.3}),
        ("L2", {}),
        ("L2", {"l2": 0.2}),
        ("L1L2", {"l1": 0.1}),
        ("L1L2", {"l1": 0.02, "l2": 0.03}),
    ]:
        weight = tf.Variable(Draws(4).normal(3, 4))
        with tf.GradientTape() as tape:
            penalty = getattr(keras.regularizers, name)(**arguments)(tf.convert_to_tensor(weight))
        yield {
            "class": name,
            "arguments": arguments,
            "weight": array(weight),
            "penalty": array(penalty),
            "gradient": array(tape.gradient(penalty, weight)),
        }


def initializers():
    matrix, kernel = (400, 600), (10, 20, 30, 40)
    for name, arguments, shapes in [
        ("RandomUniform", {}, [matrix]),
        ("RandomUniform", {"minval": -1.0, "maxval": 5.0}, [matrix]),
        ("RandomNormal", {}, [matrix]),
        ("RandomNormal", {"mean": 3.0, "stddev": 2.0}, [matrix]),
        ("TruncatedNormal", {}, [matrix]),
        ("TruncatedNormal", {"mean": -1.0, "stddev": 2.0}, [matrix]),
        ("VarianceScaling", {}, [matrix, kernel]),
        ("VarianceScaling", {"scale": 3.0, "mode": "fan_out", "distribution": "uniform"}, [matrix, kernel]),
        ("VarianceScaling", {"mode": "fan_avg", "distribution": "untruncated_normal"}, [matrix, kernel]),
        ("GlorotUniform", {}, [matrix, kernel]),
        ("GlorotNormal", {}, [matrix, kernel]),
        ("HeUniform", {}, [matrix, kernel]),
        ("HeNormal", {}, [matrix, kernel]),
        ("LecunUniform", {}, [matrix, kernel]),
        ("LecunNormal", {}, [matrix, kernel]),
        ("Zeros", {}, [(2,), (2, 3)]),
        ("Ones", {}, [(2,), (2, 3)]),
        ("Constant", {}, [(2, 3)]),
        ("Constant", {"value": -2.5}, [(2, 3)]),
        ("Identity", {}, [(2, 3), (4, 4)]),
        ("Identity", {"gain": 3.0}, [(3, 2)]),
        ("Orthogonal", {}, [(7, 3), (3, 7)]),
        ("Orthogonal", {"gain": 2.0}, [(4, 4), (2, 3, 4)]),
    ]:
        seed = {} if name in ("Zeros", "Ones", "Constant", "Identity") else {"seed": 6}
        for shape in shapes:
            values = np.asarray(getattr(keras.initializers, name)(**arguments, **seed)(shape))
            case = {"class": name, "arguments": arguments, "shape": list(shape)}
            if name == "Orthogonal":
                flat = values.reshape(-1, shape[-1])
                yield case | {"gram": array(flat.T @ flat if flat.shape[0] > flat.shape[1] else flat @ flat.T)}
            elif values.size < 100:
                yield case | {"values": array(values)}
            else:
                away = values.astype(np.float64) - values.mean(dtype=np.float64)
                variance = (away**2).mean()
                moments = [values.mean(dtype=np.float64), variance, (away**4).mean() / variance**2, abs(away).max()]
                yield case | {"moments": dict(zip(["mean", "variance", "fourth", "largest"], numbers(moments)))}


def main():
    results = {}
    for kind, cases, floats in [
        ("losses", losses, "float32"),
        ("schedules", schedules, "float32"),
        ("optimizers", optimizers, "float64"),
        ("metrics", metrics, "float32"),
        ("regularizers", regularizers, "float32"),
        ("initializers", initializers, "float32"),
    ]:
        keras.config.set_floatx(floats)
        results[kind] = list(cases())
    with open(sys.argv[1], "w") as file:
        file.write("{\n")
        for i, (kind, cases) in enumerate(results.items()):
            lines = ",\n".join(json.dumps(case) for case in cases)
            file.write(f'"{kind}": [\n{lines}\n]{"," if i + 1 < len(results) else ""}\n')
        file.write("}\n")


if __name__ == "__main__":
    main()
