"""A model of two outputs as Keras trains it: fixed weights, one epoch of fixed batches, then evaluate.

usage: keras_outputs.py OUT.json     (pip install keras tensorflow; figures of Keras 3.15 on TensorFlow)
"""
import json
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

# Batches of one size: Keras weighs a smaller last one differently in "loss" and in "<output>_loss".
ROWS, BATCH = 24, 8


def array(x):
    x = np.asarray(x)
    dtype = {"float32": "f32", "int32": "i32"}[str(x.dtype)]
    values = [float(f"{v:.9g}") for v in x.ravel()] if dtype == "f32" else x.ravel().tolist()
    return {"dtype": dtype, "shape": list(x.shape), "data": values}


def main():
    random = np.random.default_rng(5)
    x = random.normal(size=(ROWS, 5)).astype(np.float32)
    kind = random.integers(0, 3, size=ROWS).astype(np.int32)
    amount = random.normal(size=(ROWS, 2)).astype(np.float32)

    inputs = keras.Input((5,))
    trunk = keras.layers.Dense(6, activation="tanh", kernel_regularizer=keras.regularizers.L2(0.02), name="trunk")(inputs)
    outputs = [keras.layers.Dense(3, name="kind")(trunk), keras.layers.Dense(2, name="amount")(trunk)]
    model = keras.Model(inputs, outputs)
    start = [(0.5 * random.normal(size=v.shape)).astype(np.float32) for v in model.trainable_variables]
    for variable, value in zip(model.trainable_variables, start):
        variable.assign(value)
    model.compile(
        optimizer=keras.optimizers.SGD(0.1),
        loss={"kind": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "amount": "mse"},
        loss_weights={"kind": 0.75, "amount": 2.0},
        metrics={"kind": ["accuracy"], "amount": ["mae"]},
    )
    history = model.fit(x, [kind, amount], batch_size=BATCH, epochs=1, shuffle=False, verbose=0).history
    result = {
        "x": array(x),
        "kind": array(kind),
        "amount": array(amount),
        "start": {v.path: array(value) for v, value in zip(model.trainable_variables, start)},
        "fit": {name: values[0] for name, values in history.items()},
        "evaluate": model.evaluate(x, [kind, amount], batch_size=BATCH, verbose=0, return_dict=True),
        "end": {v.path: array(v.numpy()) for v in model.trainable_variables},
    }
    with open(sys.argv[1], "w") as file:
        json.dump(result, file)
        file.write("\n")


if __name__ == "__main__":
    main()
