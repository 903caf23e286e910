"""Trains a small PyTorch network for the pyraminx, and lets costar search with it.

    pip install torch==2.11.0 .
    python examples/pyraminx.py

The puzzle is given as permutations, so that any other one can take its place.
"""

import json
import sys
import time
from pathlib import Path

import costar
import torch
from torch import nn

STEPS, BATCH, MAX_DEPTH = 1500, 1024, 12


def pyraminx() -> costar.Puzzle:
    """The puzzle of test-data, as any program could describe it."""
    file = Path(__file__).parent.parent / "test-data" / "puzzles" / "pyraminx.json"
    described = json.loads(file.read_text())
    symmetric = described.get("symmetric", False)
    return costar.Puzzle.permutations(described["goal"], described["moves"], name="pyraminx", symmetric=symmetric)


class Network(nn.Module):
    """From rows of symbols to the cost-to-go."""

    def __init__(self, puzzle: costar.Puzzle) -> None:
        super().__init__()
        self.symbols = puzzle.symbols
        inputs = puzzle.cells * puzzle.symbols
        self.layers = nn.Sequential(
            nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1)
        )

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        one_hot = nn.functional.one_hot(rows.long(), self.symbols).float()
        return self.layers(one_hot.flatten(1)).squeeze(1)


def train(network: Network, puzzle: costar.Puzzle) -> None:
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    begun = time.monotonic()
    for step in range(STEPS):
        samples = puzzle.samples(BATCH, max_depth=MAX_DEPTH, batch=step)
        loss = nn.functional.mse_loss(network(torch.tensor(samples.rows)), torch.tensor(samples.labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if (step + 1) % 300 == 0:
            print(f"{step + 1} steps, squared error {loss.item():.2f}, {time.monotonic() - begun:.0f} s", file=sys.stderr)


def main() -> None:
    torch.manual_seed(1)
    puzzle = pyraminx()
    network = Network(puzzle)
    train(network, puzzle)

    @torch.inference_mode()
    def heuristic(rows):
        return network(torch.tensor(rows)).numpy()

    instances = ["U L' R b U' l B R' u L", "R B' U L r' U' B L' U R'", "L R' U B' L' U R b' U' B R"]
    learned = costar.Solver(puzzle, search="bwas", n=100, lambda_=0.8, heuristic=heuristic)
    optimal = costar.Solver(puzzle, search="bidirectional")
    for instance in instances:
        found, shortest = learned.solve(instance), optimal.solve(instance)
        print(f"{instance}: {found} ({found.length} moves, shortest {shortest.length})")
        print(f"  {found.nodes_evaluated} states evaluated in {found.seconds:.2f} s; from both ends, without a network: ", end="")
        print(f"{shortest.nodes_generated} nodes generated in {shortest.seconds:.2f} s")


if __name__ == "__main__":
    main()
