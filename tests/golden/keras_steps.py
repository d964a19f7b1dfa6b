"""Loss scales, averages of variables and sums of gradients as Keras' optimizers go, step by step.

usage: keras_steps.py OUT.json     (pip install keras tensorflow; figures of Keras 3.15 on TensorFlow)

A case is a Keras optimizer, its arguments, the gradients of each call, with what overflows planted among them, and
after each call the variables, the updates made (iterations) and the loss scale; then the variables that
finalize_variable_values leaves. An array is {"dtype", "shape", "data"}, "inf", "-inf" and "nan" in it as texts.

"loss_scale" is a LossScaleOptimizer around it: the gradients are those of the loss, and Keras gets them times its
scale, in f32. "calls": Keras makes one update of the mean of so many gradients, where we have
gradient_accumulation_steps. It is for what Keras moves by calls of apply and we by updates: averages, and schedules.
"averages_of_calls": Keras accumulates and averages itself, and "final" is not ours: its averages also move at calls
that update nothing.

Optimizers run in f64, as in keras_train.py, and for its reasons.
"""
import json
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf

STEPS = 10
INF, NAN = float("inf"), float("nan")


def number(value):
    return float(f"{float(value):.9g}") if np.isfinite(value) else str(float(value))


def array(x):
    x = np.asarray(x, np.float32)
    return {"dtype": "f32", "shape": list(x.shape), "data": [number(v) for v in x.ravel()]}


# What stands in a gradient, by the number of its call: the variable, its element, the value.
OVERFLOWS = {0: (0, 1, INF), 4: (1, 2, NAN), 5: (0, 0, -INF)}
# Times 32768 this overflows f32, times 16384 it does not: the second of two such calls counts.
LARGE = {2: (0, 1, 1.5e34), 3: (0, 1, 1.5e34), 8: (1, 0, -1.5e34)}

SCALE = {"initial": 32768.0, "growth_steps": 3}
SGD = {"learning_rate": 0.1, "momentum": 0.9}
ADAM = {"learning_rate": 0.05, "beta_2": 0.984375}
RMSPROP = {"learning_rate": 0.05, "rho": 0.7, "momentum": 0.6, "epsilon": 1e-4}
FALLING = {"learning_rate": {"class": "PiecewiseConstantDecay", "arguments": {"boundaries": [2], "values": [0.2, 0.05]}}}


def ema(momentum, frequency=None):
    return {"use_ema": True, "ema_momentum": momentum} | (
        {} if frequency is None else {"ema_overwrite_frequency": frequency}
    )


def accumulate(steps):
    return {"gradient_accumulation_steps": steps}


def cases():
    """Class, arguments, loss scale or None, what is planted, calls of an update that Keras makes of their mean."""
    rules = [("SGD", SGD), ("Adam", ADAM), ("RMSprop", RMSPROP)]
    for name, arguments in rules:
        yield name, arguments, SCALE, OVERFLOWS, 1
    # Nothing overflows: the scale goes up alone.
    yield "Adam", ADAM | {"global_clipnorm": 1.0}, {"initial": 8.0, "growth_steps": 2}, {}, 1
    # A good step each: twice as much after every one.
    yield "SGD", SGD | {"nesterov": True}, {"initial": 1.0, "growth_steps": 1}, {6: (0, 0, INF)}, 1
    for bound in ({"clipvalue": 0.5}, {"clipnorm": 0.75}, {"global_clipnorm": 1.5}):
        yield "SGD", SGD | bound, SCALE, LARGE, 1

    for name, arguments in rules:
        yield name, arguments | ema(0.75), None, {}, 1
        yield name, arguments | ema(0.9, 3), None, {}, 1
    yield "AdamW", {"learning_rate": 0.1, "weight_decay": 0.05, "beta_2": 0.96875} | ema(0.5, 1), None, {}, 1
    yield "SGD", SGD | {"weight_decay": 0.1, "clipnorm": 0.7} | ema(0.9, 4), None, {}, 1

    for steps in (2, 3, 4):
        for name, arguments in rules:
            yield name, arguments | accumulate(steps), None, {}, 1
    yield "SGD", SGD | {"clipnorm": 0.4, "weight_decay": 0.1} | accumulate(2), None, {}, 1
    yield "Adam", ADAM | {"global_clipnorm": 0.8} | accumulate(3), None, {}, 1
    yield "RMSprop", RMSPROP | {"clipvalue": 0.2, "centered": True} | accumulate(4), None, {}, 1
    yield "SGD", SGD | accumulate(3) | {"loss_scale_factor": 1024.0}, None, {}, 1

    # Calls that overflow are no part of a sum, whose scale changes between its calls.
    for name, arguments in rules:
        yield name, arguments | accumulate(2), SCALE, OVERFLOWS, 1
    yield "SGD", SGD | {"global_clipnorm": 0.5} | accumulate(3), {"initial": 4.0, "growth_steps": 2}, OVERFLOWS, 1
    yield "SGD", SGD | {"clipvalue": 0.5} | accumulate(2), SCALE, LARGE, 1
    # Nor do they move averages.
    yield "SGD", SGD | ema(0.75, 3), SCALE, OVERFLOWS, 1
    yield "Adam", ADAM | {"clipnorm": 0.5} | ema(0.9), SCALE, OVERFLOWS, 1

    for steps in (2, 3):
        yield "SGD", SGD | ema(0.75), None, {}, steps
        yield "Adam", ADAM | ema(0.9, 2), None, {}, steps
        yield "SGD", {"momentum": 0.5} | FALLING, None, {}, steps
        yield "SGD", SGD | ema(0.75) | accumulate(steps), None, {}, 1


def made(name, arguments):
    arguments = dict(arguments)
    if isinstance(arguments.get("learning_rate"), dict):
        rate = arguments["learning_rate"]
        arguments["learning_rate"] = getattr(keras.optimizers.schedules, rate["class"])(**rate["arguments"])
    return getattr(keras.optimizers, name)(**arguments)


def scaled(gradient, factor):
    with np.errstate(over="ignore"):
        return tf.constant(np.float32(gradient) * np.float32(factor), tf.float64)


def case(name, arguments, scale, planted, calls):
    optimizer = made(name, arguments)
    if scale:
        optimizer = keras.optimizers.LossScaleOptimizer(
            optimizer, initial_scale=scale["initial"], dynamic_growth_steps=scale["growth_steps"]
        )
    random = np.random.default_rng(11)
    start = [random.normal(size=shape).astype(np.float32) for shape in (3, (2, 2))]
    variables = [keras.Variable(value, dtype="float64") for value in start]
    optimizer.build(variables)
    steps, before = [], []
    for call in range(STEPS):
        gradients = [random.normal(size=3).astype(np.float32), (random.normal(size=(2, 2)) + 0.5).astype(np.float32)]
        if call in planted:
            variable, element, value = planted[call]
            gradients[variable].ravel()[element] = value
        before.append(gradients)
        if len(before) == calls:
            factor = optimizer.dynamic_scale.numpy() if scale else arguments.get("loss_scale_factor", 1)
            means = [np.mean(np.float64(of_calls), axis=0) for of_calls in zip(*before)] if calls > 1 else gradients
            given = [tf.constant(g, tf.float64) for g in means] if calls > 1 else [scaled(g, factor) for g in means]
            optimizer.apply(given, variables)
            before = []
        steps.append(
            {
                "gradients": [array(g) for g in gradients],
                "values": [array(v.numpy()) for v in variables],
                "iterations": int(optimizer.iterations),
            }
        )
        if scale:
            steps[-1]["loss_scale"] = float(optimizer.dynamic_scale.numpy())
    optimizer.finalize_variable_values(variables)
    return {
        "class": name,
        "arguments": arguments | (accumulate(calls) if calls > 1 else {}),
        "loss_scale": scale,
        "start": [array(v) for v in start],
        "steps": steps,
        "averages_of_calls": bool(arguments.get("use_ema") and arguments.get("gradient_accumulation_steps")),
        "final": [array(v.numpy()) for v in variables],
    }


def main():
    keras.config.set_floatx("float64")
    lines = ",\n".join(json.dumps(case(*given)) for given in cases())
    with open(sys.argv[1], "w") as file:
        file.write(f'{{"cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
