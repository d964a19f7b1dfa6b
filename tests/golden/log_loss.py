"""Log losses of probabilities that are 0, 1, or nearly so, as scikit-learn has them.

usage: log_loss.py OUT.json     (pip install scikit-learn; figures of scikit-learn 1.9.1)

The probabilities are those of float32, as models give them, taken as doubles.
"""
import json
import sys

import numpy as np
import sklearn.metrics as sk

score = np.float32([0, 1, 1, 0, 1e-30, 1e-12, 1 - 1e-7, 0.5, 0.999, 0.001]).astype(float)
label = np.array([1, 0, 1, 0, 1, 1, 0, 1, 0, 1])
probability = np.float32([[0, 0, 1], [1, 0, 0], [0.25, 0.5, 0.25], [1e-20, 0, 1], [0, 1, 0]]).astype(float)
said = np.array([0, 0, 1, 0, 1])
golden = {"scores": score.tolist(), "labels": label.tolist(), "log_loss": sk.log_loss(label, score),
          "probabilities": probability.flatten().tolist(), "classes": said.tolist(),
          "log_loss_of_classes": sk.log_loss(said, probability, labels=range(3))}
with open(sys.argv[1], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
