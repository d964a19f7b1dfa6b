"""Writes ONNX files as PyTorch exports them, with the values that PyTorch computes.

usage: torch_onnx.py FOLDER      (pip install torch onnxscript; the files beside it are of torch 2.15)
FOLDER/<name>.onnx with FOLDER/<name>.in.npy and FOLDER/<name>.out.npy, for a dense network and a convolutional
one, with a batch size that is chosen at run time.
"""
import pathlib
import sys

import numpy as np
import onnx
import torch
from torch import nn


def strip(path):
    """Drops what PyTorch notes about itself: stack traces and the like."""
    model = onnx.load(path)
    parts = [model, model.graph, *model.graph.node, *model.graph.input, *model.graph.output, *model.graph.initializer]
    for part in parts:
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    del model.graph.value_info[:]
    onnx.save(model, path)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3), nn.Softmax(dim=-1))

    def forward(self, x):
        return self.layers(x)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 4, 3, stride=2, groups=2, bias=False)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.first(x))), 2)
        x = nn.functional.avg_pool2d(nn.functional.leaky_relu(self.second(x)), 1)
        return self.out(x.view(x.size(0), -1))


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, module, shape in (("torch_mlp", Mlp(), (5, 6)), ("torch_cnn", Cnn(), (5, 2, 6, 6))):
        torch.manual_seed(0)
        with torch.no_grad():
            for value in [*module.parameters(), *module.buffers()]:
                if value.dtype.is_floating_point:
                    value.copy_(torch.rand(value.shape) + 0.1)
        module.eval()
        x = torch.randn(shape)
        torch.onnx.export(module, (x,), folder / f"{name}.onnx", input_names=["x"], output_names=["y"],
                          dynamic_shapes={"x": {0: torch.export.Dim("batch")}}, external_data=False)
        strip(folder / f"{name}.onnx")
        np.save(folder / f"{name}.in.npy", x.numpy())
        np.save(folder / f"{name}.out.npy", module(x).detach().numpy())


if __name__ == "__main__":
    main()
