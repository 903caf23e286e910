"""A 3×3 convolution of a 3×3 face with its gradients, in two ways: as one product per cell, as in costar
(`src/tensors/operations.cpp`), and as `conv2d` in channels-last layout. Needs PyTorch.

    python3 benches/convolution.py [--device cuda]
"""

import argparse
import statistics
import time

import torch

SIDE, ROUNDS = 3, 5


def near(at):
    """The cells within a distance of one from `at`: the first, and their number."""
    first = max(at - 1, 0)
    return first, min(at + 2, SIDE) - first


class Cells(torch.autograd.Function):
    """Convolves images, `samples × (9 · inputs)`, with taps, `outputs × 3 × 3 × inputs`."""

    @staticmethod
    def parts(images, taps):
        """For each column, the inputs that its cells see, the taps that meet them, and the offsets of each cell."""
        grid = images.view(len(images), SIDE, SIDE, -1)
        for column in range(SIDE):
            first, width = near(column)
            line = width * taps.size(3)
            cells = []
            for row in range(SIDE):
                top, height = near(row)
                cells.append((row * SIDE + column, top * line, (top + 1 - row) * line, height * line))
            columns = slice(first, first + width), slice(first + 1 - column, first + 1 - column + width)
            yield columns, grid[:, :, columns[0]].flatten(1), taps[:, :, columns[1]].flatten(1), cells

    @staticmethod
    def forward(context, images, taps):
        context.save_for_backward(images, taps)
        outputs = len(taps)
        made = images.new_empty(len(images), SIDE * SIDE * outputs)
        for _, strip, met, cells in Cells.parts(images, taps):
            for cell, start, tap, count in cells:
                out = made.narrow(1, cell * outputs, outputs)
                torch.mm(strip.narrow(1, start, count), met.narrow(1, tap, count).t(), out=out)
        return made

    @staticmethod
    def backward(context, gradient):
        images, taps = context.saved_tensors
        gradient = gradient.contiguous()
        outputs = len(taps)
        of_images = torch.zeros_like(images).view(len(images), SIDE, SIDE, -1)
        of_taps = torch.zeros_like(taps)
        for (columns, tap_columns), strip, met, cells in Cells.parts(images, taps):
            of_strip, of_met = torch.zeros_like(strip), torch.zeros_like(met)
            for cell, start, tap, count in cells:
                of_output = gradient.narrow(1, cell * outputs, outputs)
                of_met.narrow(1, tap, count).addmm_(of_output.t(), strip.narrow(1, start, count))
                of_strip.narrow(1, start, count).addmm_(of_output, met.narrow(1, tap, count))
            of_taps[:, :, tap_columns] += of_met.view_as(of_taps[:, :, tap_columns])
            of_images[:, :, columns] += of_strip.view_as(of_images[:, :, columns])
        return of_images.view_as(images), of_taps


def seconds(step, device):
    """The median of several rounds, after one to warm up."""
    taken = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        step()
        if device == "cuda":
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch-size", type=int, default=256)
    arguments = parser.parse_args()
    kind = torch.bfloat16 if arguments.device == "cuda" else torch.float32
    place = {"device": arguments.device, "dtype": kind}
    for channels in (256, 1024):
        images = torch.randn(arguments.batch_size, SIDE * SIDE * channels, **place, requires_grad=True)
        taps = (0.01 * torch.randn(channels, 3, 3, channels, **place)).requires_grad_()
        weight = taps.detach().permute(0, 3, 1, 2).requires_grad_()  # channels-last
        planes = images.detach().view(-1, SIDE, SIDE, channels).permute(0, 3, 1, 2).requires_grad_()
        by_cells = lambda: Cells.apply(images, taps)
        by_conv2d = lambda: torch.nn.functional.conv2d(planes, weight, padding=1)
        error = (by_cells().view(-1, SIDE, SIDE, channels).permute(0, 3, 1, 2) - by_conv2d()).abs().max().item()
        cells, conv2d = (seconds(lambda: way().sum().backward(), arguments.device) for way in (by_cells, by_conv2d))
        print(f"{channels} channels: cells {1e3 * cells:.1f} ms, conv2d {1e3 * conv2d:.1f} ms, difference {error:.1g}")


if __name__ == "__main__":
    main()
