#!/usr/bin/env python3
"""Reads a model of costar and evaluates states with it, with NumPy alone. docs/models.md describes the format.

Usage: docs/read_model.py [MODEL [STATE...]]

MODEL is a folder, by default models/cube3. A STATE is the 54 facelets of a cube in the order U R F D L B, or the
symbols of an encoded row: numbers with spaces or commas between, or digits without. Without a STATE, three cubes.

For each state, prints the cost-to-go h, and the most probable move back with its probability.
"""

import json
import pathlib
import struct
import sys

import numpy

# The solved cube, and the cube after the scrambles R U F' and B' D R F R F2 R' D' R' F2 L2 F.
CUBES = [
    "UUUUUUUUURRRRRRRRRFFFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB",
    "UUUUUUURRBBBDRRDRRRDDRFFRFFDLLDDBDDBFFFLLFLLFLLLUBBUBB",
    "ULBLUUDDFDRULRRDUBBBLDFDBBRUUFUDFFRRRFLRLFULLRBFDBFDBL",
]


def read_safetensors(path):
    """Every tensor of a file by name, as float32: 8 bytes for the length of a JSON header, the header, the numbers."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        numbers = data[8 + length + begin : 8 + length + end]
        if entry["dtype"] == "F32":
            values = numpy.frombuffer(numbers, "<f4")
        elif entry["dtype"] == "BF16":  # the upper half of an f32
            values = (numpy.frombuffer(numbers, "<u2").astype("<u4") << 16).view("<f4")
        else:
            raise ValueError(f"{name}: unexpected type {entry['dtype']}")
        tensors[name] = values.reshape(entry["shape"]).astype(numpy.float32)
    return tensors


class Model:
    """A network, ready to evaluate rows of symbols, `states × cells`."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        config = json.loads((folder / "config.json").read_text())
        if config["format"] != 2:
            raise ValueError(f"{folder}: format {config['format']}, expected 2")
        self.puzzle = config["puzzle"]
        self.encoding = config["encoding"]
        self.network = config["network"]
        self.tensors = read_safetensors(folder / "model.safetensors")

    def evaluate(self, rows):
        """The cost-to-go of each row, and the move probabilities (None without a policy head)."""
        x = {"mlp": self.mlp, "resnet": self.resnet}[self.network["kind"]](rows)
        values = x @ self.tensors["value.weight"].T
        if "value.bias" in self.tensors:  # not in a resnet
            values = values + self.tensors["value.bias"]
        h = numpy.maximum(0, self.network["offset"] + self.network["scale"] * values[:, 0])
        if self.network["policy"] is None:
            return h, None
        logits = x @ self.tensors["policy.weight"].T + self.tensors["policy.bias"]
        powers = numpy.exp(logits - logits.max(axis=1, keepdims=True))
        return h, powers / powers.sum(axis=1, keepdims=True)

    def norm(self, name, x):
        """Batch normalization with the running statistics; the features are the last axis."""
        mean, variance, weight, bias = (
            self.tensors[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / numpy.sqrt(variance + 1e-5) * weight + bias

    def dense(self, name, x):
        return self.norm(f"{name}.norm", x @ self.tensors[f"{name}.weight"].T)

    def mlp(self, rows):
        # Input s · (number of moving cells) + c is 1 where the moving cell c holds the symbol s.
        moving = [cell for cell in range(self.encoding["cells"]) if cell not in self.encoding["fixed"]]
        symbols = numpy.arange(self.encoding["symbols"])
        x = (rows[:, None, moving] == symbols[:, None]).reshape(len(rows), -1).astype(numpy.float32)
        x = relu(self.dense("input", x))
        x = relu(self.dense("hidden", x))
        for i in range(self.network["blocks"]):
            inner = relu(self.dense(f"blocks.{i}.0", x))
            x = relu(self.dense(f"blocks.{i}.1", inner) + x)
        return x

    def resnet(self, rows):
        # Plane face · symbols + s is 1 at the row and column where that face holds the symbol s.
        faces, height, width = (self.encoding["grid"][side] for side in ("faces", "rows", "columns"))
        cells = rows.reshape(-1, faces, height, width).transpose(0, 2, 3, 1)
        planes = cells[..., None] == numpy.arange(self.encoding["symbols"])
        x = planes.reshape(len(rows), height, width, -1).astype(numpy.float32)
        x = convolution(x, self.tensors["input.weight"])
        for i in range(self.network["blocks"]):
            block = f"blocks.{i}"
            inner = convolution(self.norm(f"{block}.norm0", x), self.tensors[f"{block}.conv0.weight"])
            inner = relu(self.norm(f"{block}.norm1", inner))
            x = self.norm(f"{block}.norm2", convolution(inner, self.tensors[f"{block}.conv1.weight"])) + x
        return x.mean(axis=(1, 2))


def relu(x):
    return numpy.maximum(0, x)


def convolution(x, weight):
    """Zero padding to the same size, no bias; x is states × rows × columns × channels."""
    _, height, width, _ = x.shape
    size = weight.shape[2]
    border = size // 2
    x = numpy.pad(x, ((0, 0), (border, border), (border, border), (0, 0)))
    taps = [(row, column) for row in range(size) for column in range(size)]
    return sum(x[:, r : r + height, c : c + width] @ weight[:, :, r, c].T for r, c in taps)


def row_of(text, encoding):
    """The encoded row that a text stands for."""
    if any(letter in text for letter in "URFDLB"):
        symbols = ["URFDLB".index(letter) for letter in text]
    elif any(letter in text for letter in " ,"):
        symbols = [int(word) for word in text.replace(",", " ").split()]
    else:
        symbols = [int(digit) for digit in text]
    if len(symbols) != encoding["cells"]:
        raise ValueError(f"{len(symbols)} symbols are given, and a row has {encoding['cells']}")
    return symbols


def main():
    words = sys.argv[1:]
    model = Model(words[0] if words else "models/cube3")
    texts = words[1:] or CUBES
    rows = numpy.array([row_of(text, model.encoding) for text in texts])
    h, policy = model.evaluate(rows)
    for i, text in enumerate(texts):
        best = "" if policy is None else f"  move {policy[i].argmax()}, p = {policy[i].max():.4f}"
        print(f"{text}  h = {h[i]:.4f}{best}")


if __name__ == "__main__":
    main()
