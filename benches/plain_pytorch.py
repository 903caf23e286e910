#!/usr/bin/env python3
"""The training of `costar train` in plain PyTorch, with samples made in Python: the baseline of the benchmark `speed`
(`cargo bench --bench speed -- --pytorch python3`).

The same networks, batches, labels (cost-to-go and policy), optimizer and precision; walks over a whole batch at a time, in NumPy,
as DeepCubeA makes them. Prints two numbers, in samples per second: the whole training, and the network's step
alone, fed with one batch again and again.
"""

import argparse
import time

import numpy as np
import torch
from torch import nn

MOVES, CELLS, COLOURS, DEEPEST = 12, 54, 6, 26


def turns():
    """For each quarter turn, the cell that each cell's colour comes from: faces of 3 × 3 cells on a cube of side 3."""
    cells = []  # (place, direction of the face), both in half units
    for axis in range(3):
        for side in (1, -1):
            for row in (-1, 0, 1):
                for column in (-1, 0, 1):
                    place = [row, column]
                    place.insert(axis, side)
                    look = [0, 0, 0]
                    look[axis] = side
                    cells.append((tuple(place), tuple(look)))
    number = {cell: k for k, cell in enumerate(cells)}

    def turned(vector, axis, sense):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        out = list(vector)
        out[a], out[b] = -sense * vector[b], sense * vector[a]
        return tuple(out)

    table = np.tile(np.arange(CELLS), (MOVES, 1))
    for move in range(MOVES):
        axis, side, sense = move // 4, 1 - move // 2 % 2 * 2, 1 - move % 2 * 2
        for k, (place, look) in enumerate(cells):
            if place[axis] == side:
                table[move, number[turned(place, axis, sense), turned(look, axis, sense)]] = k
    return table


def batch_of(size, table, generator):
    """Scrambles of 1 to 26 moves, their lengths, and the move that undoes the last of each."""
    depths = generator.integers(1, DEEPEST + 1, size)
    states = np.tile(np.repeat(np.arange(COLOURS, dtype=np.uint8), 9), (size, 1))
    last = np.full(size, -1)
    for step in range(DEEPEST):
        walking = np.flatnonzero(depths > step)
        moves = generator.integers(0, MOVES, len(walking))
        undone = moves == (last[walking] ^ 1)
        moves[undone] = (moves[undone] + 2) % MOVES
        states[walking] = np.take_along_axis(states[walking], table[moves], 1)
        last[walking] = moves
    return states, depths.astype(np.float32), last ^ 1


class Dense(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layer, self.norm = nn.Linear(inputs, outputs, bias=False), nn.BatchNorm1d(outputs)

    def forward(self, x):
        return self.norm(self.layer(x))


class Mlp(nn.Module):
    def __init__(self, width, blocks):
        super().__init__()
        narrow = width // 2
        self.input, self.hidden = Dense((CELLS - 6) * COLOURS, width), Dense(width, narrow)
        self.blocks = nn.ModuleList(nn.ModuleList(Dense(narrow, narrow) for _ in "ab") for _ in range(blocks))
        self.value, self.moves = nn.Linear(narrow, 1), nn.Linear(narrow, MOVES)
        self.register_buffer("turning", torch.tensor([cell for cell in range(CELLS) if cell % 9 != 4]))

    def forward(self, rows):
        x = nn.functional.one_hot(rows[:, self.turning].long(), COLOURS).flatten(1).float()
        x = torch.relu(self.hidden(torch.relu(self.input(x))))
        for first, second in self.blocks:
            x = torch.relu(second(torch.relu(first(x))) + x)
        return self.value(x), self.moves(x)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        first, second = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in "ab")
        norms = [nn.BatchNorm2d(width) for _ in "abc"]
        self.path = nn.Sequential(norms[0], first, norms[1], nn.ReLU(), second, norms[2])

    def forward(self, x):
        return self.path(x) + x


class ResNet(nn.Module):
    def __init__(self, width, blocks):
        super().__init__()
        self.input = nn.Conv2d(6 * COLOURS, width, 1, bias=False)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(blocks)))
        self.value, self.moves = nn.Linear(width, 1), nn.Linear(width, MOVES)

    def forward(self, rows):
        planes = nn.functional.one_hot(rows.long(), COLOURS).view(-1, 6, 9, COLOURS).transpose(2, 3)
        x = self.blocks(self.input(planes.reshape(-1, 36, 3, 3).float())).mean((2, 3))
        return self.value(x), self.moves(x)


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--net", choices=["mlp", "resnet"], default="mlp")
    flags.add_argument("--width", type=int, default=1024)
    flags.add_argument("--blocks", type=int, default=3)
    flags.add_argument("--batch-size", type=int, default=8192)
    flags.add_argument("--device", default="cpu")
    flags.add_argument("--precision", choices=["bf16", "f32"], default="bf16")
    flags.add_argument("--seconds", type=float, default=3.0)
    flags = flags.parse_args()

    table, generator = turns(), np.random.default_rng(1)
    network = {"mlp": Mlp, "resnet": ResNet}[flags.net](flags.width, flags.blocks).to(flags.device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-3, fused=True)

    def step(batch):
        rows, labels, back = (torch.from_numpy(part).to(flags.device) for part in batch)
        with torch.autocast(flags.device.split(":")[0], torch.bfloat16, enabled=flags.precision == "bf16"):
            values, logits = network(rows)
        error = values.float().squeeze(1) * 10 + 13 - labels
        loss = 0.02 * error.square().mean() + nn.functional.cross_entropy(logits.float(), back)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def rate(run):
        run().item()
        started, count = time.perf_counter(), 0
        while time.perf_counter() - started < flags.seconds:
            loss, count = run(), count + 1
            if count % 8 == 0 or flags.device == "cpu":
                loss.item()
        loss.item()
        return count * flags.batch_size / (time.perf_counter() - started)

    fixed = batch_of(flags.batch_size, table, generator)
    print(rate(lambda: step(batch_of(flags.batch_size, table, generator))), rate(lambda: step(fixed)))


if __name__ == "__main__":
    main()
