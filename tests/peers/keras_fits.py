"""Runs drawn fits in Keras: the truth in f64, and how far f32 may be from it.

usage: keras_fits.py < FITS > RESULTS     (Keras on TensorFlow or PyTorch: PEERS_HOME's tf, or pip install)

A line of FITS is a JSON object that scripts/compare-fits drew: data, first weights, layers, loss, optimizer. A line of
RESULTS has the weights behind each step, the losses, and beside each array how far a run in f32 may be from it: 16
times what the same run in f32 is off, or what a run in f64 is off whose first weights were moved by half a unit in the
last place of f32, whichever is most so far; at least 4 units of the largest element.

The loop is written out here, since some of what Espalier means is not what Keras' fit does: a loss is the mean over
the weights of rows, rows of weight 0 are not there, and an update of several batches is by the mean over their rows.
Layers, losses, schedules and optimizers are Keras' own.
"""
import json
import os
import sys

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
if "KERAS_BACKEND" not in os.environ:
    try:
        import tensorflow  # noqa: F401
        os.environ["KERAS_BACKEND"] = "tensorflow"
    except ImportError:
        os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

UNIT = 2.0**-24
FACTOR, UNITS = 16, 4


def regularizer(layer, name):
    l1, l2 = layer.get(name + "_l1", 0), layer.get(name + "_l2", 0)
    return keras.regularizers.L1L2(l1, l2) if l1 or l2 else None


def made(layer):
    arguments = {key: value for key, value in layer.items() if key != "type" and not key.endswith(("_l1", "_l2"))}
    for name in ("kernel", "bias", "embeddings"):
        if regularizer(layer, name):
            arguments[name + "_regularizer"] = regularizer(layer, name)
    return getattr(keras.layers, layer["type"])(**arguments)


class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, steps, initial, then):
        self.steps, self.initial, self.then = steps, initial, then

    def __call__(self, step):
        step = int(step)
        if step >= self.steps:
            return self.then(step - self.steps) if callable(self.then) else self.then
        first = float(self.then(0)) if callable(self.then) else self.then
        return keras.ops.convert_to_tensor(self.initial + (first - self.initial) * step / self.steps,
                                           dtype=keras.config.floatx())

    def get_config(self):
        return {}


def rate_of(rate):
    if not isinstance(rate, dict):
        return rate
    arguments = {key: value for key, value in rate.items() if key != "schedule"}
    if rate["schedule"] == "WarmUp":
        return WarmUp(rate["steps"], rate["initial"], rate_of(rate["then"]))
    return getattr(keras.optimizers.schedules, rate["schedule"])(**arguments)


def optimizer_of(spec):
    arguments = {key: value for key, value in spec.items() if key not in ("type", "gradient_accumulation_steps")}
    arguments["learning_rate"] = rate_of(spec["learning_rate"])
    return getattr(keras.optimizers, spec["type"])(**arguments)


def loss_of(spec):
    arguments = {key: value for key, value in spec.items() if key != "type"}
    return getattr(keras.losses, spec["type"])(reduction=None, **arguments)


def gradients_of(variables, total):
    """The value of total() -> (what to differentiate, others...) and the gradients, in NumPy's arrays."""
    if keras.backend.backend() == "tensorflow":
        with tf.GradientTape() as tape:
            found = total()
        gradients = tape.gradient(found[0], [variable.value for variable in variables])
    else:
        for variable in variables:
            variable.value.grad = None
        found = total()
        found[0].backward()
        gradients = [variable.value.grad for variable in variables]
    return found, [np.zeros(variable.shape) if gradient is None else keras.ops.convert_to_numpy(
        tf.convert_to_tensor(gradient) if keras.backend.backend() == "tensorflow" else gradient)
        for variable, gradient in zip(variables, gradients)]


class Run:
    """A fit in `dtype`; with a seed its first weights are moved by half a unit of f32 at most."""

    def __init__(self, spec, dtype, seed=None):
        self.spec, self.dtype = spec, dtype
        keras.backend.clear_session()
        keras.config.set_floatx(dtype)
        keras.config.set_dtype_policy(dtype)
        x_dtype = "int32" if spec["x_whole"] else dtype
        self.x = np.array(spec["x"], x_dtype).reshape([spec["rows"], *spec["x_shape"]])
        self.y = np.array(spec["y"], "int32" if spec["y_whole"] else dtype).reshape([spec["rows"], *spec["y_shape"]])
        self.model = keras.Sequential([keras.Input(spec["x_shape"], dtype=x_dtype), *map(made, spec["layers"])])
        self.variables = [variable for layer in self.model.layers for variable in layer.weights]
        if len(self.variables) != len(spec["weights"]):
            raise ValueError(f"{len(self.variables)} variables, {len(spec['weights'])} given")
        random = np.random.default_rng(seed)
        for variable, value in zip(self.variables, spec["weights"]):
            value = np.array(value, "float64").reshape(variable.shape)
            if seed is not None:
                value = value * (1 + UNIT * random.uniform(-1, 1, value.shape))
            variable.assign(value.astype(dtype))
        self.weight = np.array(spec.get("sample_weight", np.ones(spec["rows"])), "float64")
        self.loss = loss_of(spec["loss"])
        self.optimizer = optimizer_of(spec["optimizer"])

    def class_factors(self):
        classes = self.spec.get("class_weight")
        if classes is None:
            return np.ones(len(self.y))
        labels = self.y if self.spec["y_whole"] or self.spec["y_shape"] == [1] else self.y.argmax(-1)
        return np.array(classes, "float64")[labels.reshape(len(self.y)).astype(int)]

    def total(self, rows, weight, training):
        outputs = self.model(self.x[rows], training=training)
        losses = self.loss(self.y[rows], outputs)
        losses = keras.ops.mean(keras.ops.reshape(losses, [len(rows), -1]), axis=1)
        weight = keras.ops.convert_to_tensor(weight.astype(self.dtype))
        mean = keras.ops.sum(losses * weight) / keras.ops.sum(weight)
        return (sum(self.model.losses, mean),)

    def state(self):
        return [np.array(keras.ops.convert_to_numpy(variable.value), "float64").ravel() for variable in self.variables]

    def go(self):
        spec = self.spec
        trainable = self.model.trainable_variables
        self.optimizer.build(trainable)
        parts = spec["optimizer"].get("gradient_accumulation_steps", 1)
        counted = self.weight * self.class_factors()
        steps, losses, calls, sums, summed = [], [], 0, None, 0.0
        for _ in range(spec["epochs"]):
            of_epoch = []
            for begin in range(0, spec["rows"], spec["batch_size"]):
                rows = np.arange(begin, min(spec["rows"], begin + spec["batch_size"]))
                rows = rows[counted[rows] > 0]
                weight = counted[rows]
                found, gradients = gradients_of(trainable, lambda: self.total(rows, weight, True))
                of_epoch.append((float(found[0]), weight.sum()))
                gradients = [gradient * weight.sum() for gradient in gradients]
                sums = gradients if sums is None else [a + b for a, b in zip(sums, gradients)]
                summed += weight.sum()
                calls += 1
                if calls % parts == 0:
                    self.update([(gradient / summed).astype(self.dtype) for gradient in sums], trainable)
                    sums, summed = None, 0.0
                steps.append(self.state())
            if spec["way"] == "steps":
                losses += [loss for loss, _ in of_epoch]
            else:
                losses.append(sum(loss * weight for loss, weight in of_epoch) / sum(weight for _, weight in of_epoch))
        if spec["optimizer"].get("use_ema"):
            self.optimizer.finalize_variable_values(trainable)
        rows = np.flatnonzero(self.weight > 0)
        evaluated = float(self.total(rows, self.weight[rows], False)[0])
        return {"steps": steps, "losses": np.array(losses), "end": self.state(), "evaluated": np.array([evaluated])}

    def update(self, gradients, trainable):
        factor = self.spec["optimizer"].get("loss_scale_factor")
        gradients = [gradient * factor if factor else gradient for gradient in gradients]
        self.optimizer.apply([keras.ops.convert_to_tensor(gradient) for gradient in gradients], trainable)


def allowed(truth, others):
    """How far f32 may be from an array."""
    off = max((np.abs(truth - other).max(initial=0) for other in others), default=0)
    return max(FACTOR * off, UNITS * 2 * UNIT * np.abs(truth).max(initial=0), 1e-30)


def result(spec):
    truth = Run(spec, "float64").go()
    others = [Run(spec, "float32").go(), Run(spec, "float64", 1).go()]
    most = [0.0] * len(truth["end"])
    tolerances = []
    for step, values in enumerate(truth["steps"]):
        most = [max(before, allowed(value, [other["steps"][step][i] for other in others]))
                for i, (before, value) in enumerate(zip(most, values))]
        tolerances.append(most)
    out = {"number": spec["number"], "steps": [[value.tolist() for value in step] for step in truth["steps"]],
           "step_tolerances": tolerances, "end": [value.tolist() for value in truth["end"]],
           "end_tolerances": [max(most[i], allowed(value, [other["end"][i] for other in others]))
                              for i, value in enumerate(truth["end"])]}
    for name in ("losses", "evaluated"):
        out[name] = truth[name].tolist()
        out[name + "_tolerance"] = allowed(truth[name], [other[name] for other in others])
    return out


def main():
    print(json.dumps({"peer": f"Keras {keras.__version__} on {keras.backend.backend()}"}), flush=True)
    for line in sys.stdin:
        spec = json.loads(line)
        try:
            out = result(spec)
        except Exception as error:  # one fit that Keras refuses is a line, not the end
            out = {"number": spec["number"], "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(out), flush=True)


main()
