"""NDCG of drawn queries, as scikit-learn and TensorFlow Model Analysis compute it.

usage: ndcg.py sklearn OUT.json     (pip install scikit-learn; figures of 1.9)
       ndcg.py tfma OUT.json        (pip install tensorflow-model-analysis; figures of TFMA 0.47.1; adds to OUT.json)

Queries have from 1 to 12 rows. scikit-learn judges each query by itself, with scores of which some are equal; a query
without a gain above 0 is left out. TensorFlow Model Analysis, which orders equal scores as it likes, judges queries
of a weight each, with scores of which none are equal, all of them and by a column.
"""
import json
import random
import sys

FIRST = [1, 3, 5, 10, 20]
random.seed(11)
ROWS = {"query": [], "gain": [], "score": [], "tied": [], "weight": [], "place": []}
for query in range(60):
    weight, place = random.choice([0.5, 1.0, 3.0]), random.choice(["north", "south"])
    for row in range(random.randint(1, 12)):
        gain = random.choice([0, 0, 0, 1, 2, 3])
        ROWS["query"].append(query)
        ROWS["gain"].append(gain)
        ROWS["score"].append(round(random.random() + 0.2 * gain, 4) + len(ROWS["query"]) * 1e-6)
        ROWS["tied"].append(float(min(3, random.randint(0, 4) + gain)))
        ROWS["weight"].append(weight)
        ROWS["place"].append(place)


def queries():
    for query in sorted(set(ROWS["query"])):
        yield [i for i, of in enumerate(ROWS["query"]) if of == query]


def sklearn():
    from sklearn.metrics import ndcg_score
    out = {}
    for scores in ("score", "tied"):
        of = {str(k): [] for k in [None] + FIRST}
        for rows in queries():
            gains = [ROWS["gain"][i] for i in rows]
            if max(gains) == 0:
                continue
            for k in [None] + FIRST:
                # It refuses a query of one row, whose only order is the best.
                of[str(k)].append(1.0 if len(rows) == 1 else
                                  float(ndcg_score([gains], [[ROWS[scores][i] for i in rows]], k=k)))
        out[scores] = of
    return {"rows": ROWS, "sklearn": out}


def tfma():
    import os
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import numpy as np
    from tensorflow_model_analysis.metrics import ndcg
    from tensorflow_model_analysis.proto import config_pb2
    from tensorflow_model_analysis.metrics import metric_types
    config = config_pb2.EvalConfig(model_specs=[config_pb2.ModelSpec(example_weight_key="weight")])
    out = {}
    for place in ("", "north", "south"):
        computation = ndcg.NDCG(gain_key="gain", top_k_list=FIRST).computations(
            eval_config=config, sub_keys=[], query_key="query", example_weighted=True)[0]
        inputs = []
        for rows in queries():
            if place and ROWS["place"][rows[0]] != place:
                continue
            inputs.append(metric_types.StandardMetricInputs(
                label=np.array([0.0 for _ in rows]), prediction=np.array([ROWS["score"][i] for i in rows]),
                example_weight=np.array([ROWS["weight"][rows[0]]]),
                features={"query": np.array([ROWS["query"][i] for i in rows]),
                          "gain": np.array([ROWS["gain"][i] for i in rows])}))
        accumulator = computation.combiner.create_accumulator()
        for each in inputs:
            accumulator = computation.combiner.add_input(accumulator, each)
        values = computation.combiner.extract_output(accumulator)
        out[place] = {str(key.sub_key.top_k): float(value) for key, value in values.items()}
    return out


if sys.argv[1] == "sklearn":
    golden = sklearn()
else:
    with open(sys.argv[2]) as file:
        golden = json.load(file)
    golden["tfma"] = tfma()
with open(sys.argv[2], "w") as file:
    json.dump(golden, file, separators=(",", ":"))
    file.write("\n")
