"""What Keras' callbacks do with scripted values of a metric.

usage: keras_callbacks.py OUT_FILE     (pip install keras; figures of Keras 3.15 on TensorFlow)
For each case the epochs that ran, the epoch whose weights the model has at the end, and the learning rate that
each epoch ran with, or the rows of the log.
"""
import csv
import json
import math
import os
import pathlib
import sys
import tempfile

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np


class Model:
    """What callbacks ask of a model. Its weight is the number of the epoch."""

    def __init__(self, rate):
        self.stop_training = False
        self.optimizer = keras.optimizers.SGD(rate)
        self.weights = [np.float32(-1)]

    def get_weights(self):
        return list(self.weights)

    def set_weights(self, weights):
        self.weights = list(weights)


def run(callback, values, name, rate=0.5):
    model = Model(rate)
    callback.set_model(model)
    callback.on_train_begin()
    rates = []
    for epoch, value in enumerate(values):
        callback.on_epoch_begin(epoch)
        rates.append(float(model.optimizer.learning_rate))
        model.weights = [np.float32(epoch)]
        callback.on_train_batch_end(0, {"loss": value})
        callback.on_epoch_end(epoch, {name: value})
        if model.stop_training:
            break
    callback.on_train_end({name: value})
    return {"epochs": len(rates), "weights_of": int(model.weights[0]), "rates": rates}


FALL = [1.0, 0.8, 0.7, 0.72, 0.71, 0.69, 0.75, 0.7, 0.74, 0.73, 0.6, 0.9, 0.9, 0.9]
RISE = [0.1, 0.3, 0.25, 0.4, 0.41, 0.42, 0.3, 0.2, 0.1, 0.05, 0.04]
FLAT = [1.0] * 12
WORSE = [0.5, 0.6, 0.7, 0.8, 0.9]
HOLED = [0.5, float("nan"), 0.4, 0.6, 0.3, 0.7, 0.8]

STOPPING = [
    (FALL, "min", {}),
    (FALL, "min", {"patience": 2}),
    (FALL, "min", {"patience": 3, "restore_best_weights": True}),
    (FALL, "min", {"patience": 4, "min_delta": 0.05, "restore_best_weights": True}),
    (FALL, "min", {"patience": 4, "min_delta": -0.05}),
    (FALL, "min", {"patience": 2, "baseline": 0.65, "restore_best_weights": True}),
    (FALL, "min", {"patience": 2, "baseline": 0.75, "restore_best_weights": True}),
    (FALL, "min", {"patience": 1, "start_from_epoch": 3, "restore_best_weights": True}),
    (FALL, "min", {"patience": 1, "start_from_epoch": 30, "restore_best_weights": True}),
    (FALL, "min", {"patience": 50, "restore_best_weights": True}),
    (RISE, "max", {"patience": 1}),
    (RISE, "max", {"patience": 3, "restore_best_weights": True}),
    (RISE, "max", {"patience": 2, "min_delta": 0.05, "restore_best_weights": True}),
    (RISE, "min", {"patience": 2, "restore_best_weights": True}),
    (FLAT, "min", {"patience": 3, "restore_best_weights": True}),
    (WORSE, "min", {"restore_best_weights": True}),
    (HOLED, "min", {"patience": 2, "restore_best_weights": True}),
]
PLATEAU = [
    (FALL, "min", {"patience": 2}),
    (FALL, "min", {"patience": 1, "factor": 0.5}),
    (FALL, "min", {"patience": 1, "factor": 0.5, "min_lr": 0.2}),
    (FALL, "min", {"patience": 1, "factor": 0.5, "cooldown": 2}),
    (FALL, "min", {"patience": 2, "min_delta": 0.05, "factor": 0.25}),
    (RISE, "max", {"patience": 2, "factor": 0.5}),
    (FLAT, "min", {"patience": 3, "factor": 0.5, "cooldown": 1}),
    (FLAT, "min", {"patience": 0, "factor": 0.5}),
    (HOLED, "min", {"patience": 1, "factor": 0.5}),
]
LOSSES = [
    [1.0, 0.5, 0.25],
    [1.0, float("inf"), 0.25],
    [1.0, 0.5, float("nan"), 1.0],
    [-float("inf"), 1.0],
]


def numbers(values):
    """JSON has no NaN."""
    return [v if math.isfinite(v) else str(v) for v in values]


def main(path):
    cases = []

    def add(kind, values, mode, options, callback):
        name = "accuracy" if mode == "max" else "loss"
        out = run(callback(monitor=name, mode=mode, **options), values, name)
        cases.append({"callback": kind, "values": numbers(values), "mode": mode, "options": options, **out})

    for values, mode, options in STOPPING:
        add("EarlyStopping", values, mode, options, keras.callbacks.EarlyStopping)
    for values, mode, options in PLATEAU:
        add("ReduceLROnPlateau", values, mode, options, keras.callbacks.ReduceLROnPlateau)
    for values in LOSSES:
        out = run(keras.callbacks.TerminateOnNaN(), values, "loss")
        cases.append({"callback": "TerminateOnNaN", "values": numbers(values), "options": {}, **out})
    schedule = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5 if epoch % 3 == 2 else rate)
    out = run(schedule, FLAT, "loss")
    cases.append({"callback": "LearningRateScheduler", "values": FLAT, "options": {}, **out})
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.csv"
        logger = keras.callbacks.CSVLogger(str(log), separator=";")
        model = Model(0.5)
        logger.set_model(model)
        logger.on_train_begin()
        for epoch, value in enumerate(FALL[:3]):
            logger.on_epoch_end(epoch, {"val_loss": value / 4, "loss": value, "val_accuracy": 0.5})
        logger.on_train_end()
        with log.open() as file:
            rows = list(csv.reader(file, delimiter=";"))
    cases.append({"callback": "CSVLogger", "values": FALL[:3], "options": {"separator": ";"}, "rows": rows})
    pathlib.Path(path).write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main(sys.argv[1])
