"""costar: networks that estimate how far a puzzle is from solved, and searches that use them to find short solutions.

>>> import costar
>>> solver = costar.Solver("cube3", search="bidirectional")
>>> solver.solve("R U F'").moves
['F', "U'", "R'"]
"""

from __future__ import annotations

import copy
import json
import math
import operator
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _libtorch

_libtorch.load()

try:
    from . import _costar
except ImportError as error:
    if "libtorch" not in str(error) and "libc10" not in str(error):
        raise
    raise ImportError(
        f"libtorch was not found ({error}): install torch {_libtorch.VERSION}, or run scripts/setup in the checkout that "
        "costar was installed from"
    ) from error

__all__ = ["Estimates", "Model", "Puzzle", "Samples", "Solution", "Solver", "__version__"]

__version__: str = _costar.__version__

#: Rows of states: ``states × cells`` of small integers.
Rows: TypeAlias = npt.NDArray[np.uint8]
#: A function from rows to one estimate of the cost-to-go per row, in moves.
Heuristic: TypeAlias = Callable[[Rows], npt.ArrayLike]

#: The most states per call of a heuristic.
_MOST_STATES = 1 << 20


@dataclass
class Solution:
    """The result of an instance, with the fields of ``costar solve --json``; ``None`` if a field does not apply."""

    puzzle: str
    instance: str
    #: Whether a solution was found.
    solved: bool
    #: The names of the moves.
    moves: list[str] | None
    #: Number of moves.
    length: int | None
    cost: int | None
    optimal_length: int | None
    #: Whether it is proven that no cheaper solution exists.
    proven_optimal: bool
    proof: dict[str, Any] | None
    nodes_generated: int
    nodes_stored: int
    nodes_expanded: int
    nodes_evaluated: int
    iterations: int
    nodes_pruned: int
    #: Wall-clock time of the search.
    seconds: float
    device: str | None
    precision: str | None
    model: str | None
    search: str
    n: int | None
    #: The weight of the path cost, λ.
    lambda_: float | None
    #: The search with all its settings, as it ran.
    config: dict[str, Any]
    heuristic: str | None
    #: Why there is no solution, or no better one.
    ended_by: str | None
    weights_crc32: int | None
    max_seconds: float | None
    max_nodes: int | None
    max_memory: int | None
    version: str | None
    date: str | None
    processor: str | None
    #: Checksum of the symbols, goal and moves of a puzzle from a file.
    rules_crc32: int | None = None
    #: How the instance was read, if there are several ways.
    read_as: str | None = None
    #: Length of the search's own solution, if the inverse scramble was returned instead.
    search_length: int | None = None

    def __str__(self) -> str:
        return " ".join(self.moves) if self.moves is not None else f"not solved: {self.ended_by}"


@dataclass(frozen=True, eq=False)
class Samples:
    """Training samples."""

    #: ``samples × cells``.
    rows: Rows
    #: The length of the walk that led to each state: an upper bound of its distance.
    labels: npt.NDArray[np.float32]
    #: ``samples × moves``: whether the move goes back along the walk.
    moves_back: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of a network."""

    #: The cost-to-go of each state, in moves.
    h: npt.NDArray[np.float32]
    #: ``states × moves``: the probability that the move leads back towards the goal; ``None`` without a policy head.
    moves: npt.NDArray[np.float32] | None


class Puzzle:
    """The rules of a puzzle: a name that ``costar puzzles`` lists, or the file of a permutation puzzle (``….json``).

    Raises:
        ValueError: there is no such puzzle, or it has no such goal.
    """

    def __init__(self, name: str | os.PathLike[str], *, goal: str | None = None) -> None:
        self._inner = _costar.Puzzle(os.fspath(name), goal)

    @classmethod
    def _of(cls, inner: _costar.Puzzle) -> Puzzle:
        puzzle = cls.__new__(cls)
        puzzle._inner = inner
        return puzzle

    @classmethod
    def permutations(
        cls,
        goal: str | Sequence[int],
        moves: Mapping[str, Sequence[int]],
        *,
        name: str = "permutations",
        symmetric: bool = False,
    ) -> Puzzle:
        """A permutation puzzle.

        Args:
            goal: The symbols of the solved state: a text, or integers from 0 to 255.
            moves: A permutation for each name: the symbol at place ``i`` comes from place ``permutation[i]``.
            name: The puzzle's name.
            symmetric: Whether to add the inverse of each move that has none, named with a ``'``.

        Raises:
            ValueError: a move is not a permutation of the places, an inverse would have the name of another move, or the
                name belongs to a puzzle included in costar.
            TypeError: a place or a symbol is not an integer.

        >>> Puzzle.permutations([0, 1, 2, 3], {"turn": [1, 2, 3, 0], "swap": [1, 0, 2, 3]}, symmetric=True).moves
        ['turn', "turn'", 'swap']
        """
        described = {
            "name": name,
            "goal": goal if isinstance(goal, str) else _integers("goal", goal),
            "symmetric": bool(symmetric),
            "moves": {move: _integers(f"the move '{move}'", places) for move, places in moves.items()},
        }
        return cls._of(_costar.Puzzle.described(json.dumps(described)))

    @property
    def name(self) -> str:
        """The puzzle's name."""
        return self._inner.name

    @property
    def moves(self) -> list[str]:
        """The names of the moves."""
        return self._inner.moves

    @property
    def notation(self) -> str:
        """How instances and moves are written."""
        return self._inner.notation

    @property
    def cells(self) -> int:
        """The length of a row."""
        return self._inner.cells

    @property
    def symbols(self) -> int:
        """The number of values that a cell of a row can take."""
        return self._inner.symbols

    def encode(self, instances: Iterable[str]) -> Rows:
        """The rows of instances, which a network reads.

        Raises:
            ValueError: an instance is refused.
        """
        if isinstance(instances, str):
            raise TypeError("expected several instances: give a list")
        instances = list(instances)
        return np.frombuffer(bytearray(self._inner.encode(instances)), np.uint8).reshape(len(instances), self.cells)

    def play(self, instance: str, moves: str | Iterable[str]) -> tuple[str, bool]:
        """The state that moves lead to from an instance, as text, and whether it is solved.

        Raises:
            ValueError: the instance or a move is refused.
        """
        return self._inner.play(instance, moves if isinstance(moves, str) else " ".join(moves))

    def samples(self, count: int, *, max_depth: int | None = None, seed: int = 1, batch: int = 0) -> Samples:
        """Training samples: random walks back from the goals, every length up to ``max_depth`` equally often.

        Args:
            count: The number of samples.
            max_depth: The longest walk; by default, the puzzle's.
            seed: The seed of the generator.
            batch: The number of the batch; each has other samples.

        Raises:
            ValueError: the puzzle's moves cannot be undone.
        """
        count = _count("count", count)
        if count * (self.cells + len(self.moves) + 4) > 1 << 32:
            raise ValueError(f"`count`: {count} samples take more than 4 GiB: make several batches")
        max_depth = None if max_depth is None else _count("max_depth", max_depth, bits=32)
        seed, batch = _count("seed", seed, 0), _count("batch", batch, 0)
        rows, labels, back = self._inner.samples(count, max_depth, seed, batch)
        return Samples(
            rows=np.frombuffer(bytearray(rows), np.uint8).reshape(count, self.cells),
            labels=np.frombuffer(bytearray(labels), "<f4"),
            moves_back=np.frombuffer(back, np.uint8).reshape(count, len(self.moves)).astype(bool),
        )

    def __repr__(self) -> str:
        return f"<costar.Puzzle {self.name}: {len(self.moves)} moves, rows of {self.cells} cells>"


class Solver:
    """A puzzle, a heuristic and a search, ready for instances. It runs one search at a time; other threads wait.

    Args:
        puzzle: A :class:`Puzzle`, or its name.
        search: A search that ``costar puzzles`` lists; by default, the one that measured best.
        heuristic: The estimate of the cost-to-go: ``"network"``, a heuristic that ``costar puzzles`` lists, or a function
            from rows (``uint8``, ``states × cells``) to one estimate per row, as an array or a tensor on any device. It
            is called on another thread: thread-local settings such as ``torch.no_grad()`` go inside it.
        model: The folder of a model or of a run, or its name; by default, the puzzle's own.
        device: The device of the network: ``auto``, ``cpu``, ``cuda`` or ``cuda:I``.
        precision: The precision of its products: ``f32``, ``bf16`` or ``int8``; by default, the fastest.
        goal: The goal, if not the puzzle's own.
        chunk: About the most states per call of a function.
        max_seconds: The time limit of a search.
        max_nodes: The limit of generated nodes of a search.
        max_memory: The memory limit of a search, in bytes.
        settings: The settings of the search, with the names of ``costar solve --help`` and ``_`` for ``-``: ``n=1000``,
            ``prove=True``; ``lambda_`` for ``lambda``.

    Raises:
        ValueError: a setting is refused; the text names it and says what is expected.
    """

    def __init__(
        self,
        puzzle: Puzzle | str | os.PathLike[str],
        *,
        search: str = "auto",
        heuristic: str | Heuristic | None = None,
        model: str | os.PathLike[str] | None = None,
        device: str = "auto",
        precision: str | None = None,
        goal: str | None = None,
        chunk: int = 4096,
        max_seconds: float | None = None,
        max_nodes: int | None = None,
        max_memory: int | None = None,
        **settings: Any,
    ) -> None:
        if not isinstance(puzzle, Puzzle):
            puzzle = Puzzle(puzzle, goal=goal)
        elif goal is not None:
            raise ValueError("`goal`: the puzzle has one already; give it to Puzzle")
        chunk = _count("chunk", chunk)
        if chunk > _MOST_STATES:
            raise ValueError(f"`chunk`: {chunk}: expected at most {_MOST_STATES}")
        named = heuristic is None or isinstance(heuristic, str)
        if not named and model is not None:
            raise ValueError("`model`: a function as the heuristic needs none; leave out one of the two")
        self.puzzle = puzzle
        self._asking: int | None = None
        self._inner = _costar.Solver(
            puzzle._inner,
            search,
            json.dumps(dict(_setting(*setting) for setting in settings.items())),
            heuristic if named else None,
            None if named else self._estimator(heuristic),
            chunk,
            None if model is None else os.fspath(model),
            device,
            precision,
            _seconds(max_seconds),
            None if max_nodes is None else _count("max_nodes", max_nodes),
            None if max_memory is None else _count("max_memory", max_memory),
        )
        self._config: dict[str, Any] = json.loads(self._inner.config())

    @property
    def config(self) -> dict[str, Any]:
        """The search and all its settings."""
        return copy.deepcopy(self._config)

    def solve(self, instance: str) -> Solution:
        """Searches an instance. An unsolved instance is not an error: see :attr:`Solution.ended_by`.

        Other threads run meanwhile, and Ctrl-C ends the search.

        Raises:
            ValueError: the instance is refused.
        """
        if self._asking == threading.get_ident():
            raise RuntimeError("a heuristic cannot use the solver that asks it: it waits for the heuristic")
        record = json.loads(self._inner.solve(instance))
        record["lambda_"] = record.pop("lambda")
        return Solution(**record)

    def solve_many(
        self,
        instances: Iterable[str],
        progress: Callable[[int, int, Solution], object] | None = None,
    ) -> list[Solution]:
        """Searches instances, one after the other.

        Args:
            instances: The instances.
            progress: Called after each instance with the number done, the total number, and the last solution.

        Raises:
            ValueError: an instance is refused; the callback has received the solutions before it.
        """
        if isinstance(instances, str):
            raise TypeError("expected several instances: give a list")
        instances = list(instances)
        solutions = []
        for instance in instances:
            solutions.append(self.solve(instance))
            if progress is not None:
                progress(len(solutions), len(instances), solutions[-1])
        return solutions

    def _estimator(self, heuristic: Heuristic) -> Callable[[bytes, int, int], bytes]:
        """The heuristic for the extension module: from the bytes of rows to the bytes of estimates."""
        if not callable(heuristic):
            raise TypeError(f"`heuristic`: expected a name or a function, got {type(heuristic).__name__}")

        def estimate(rows: bytes, states: int, cells: int) -> bytes:
            self._asking = threading.get_ident()
            try:
                estimates = heuristic(np.frombuffer(bytearray(rows), np.uint8).reshape(states, cells))
            finally:
                self._asking = None
            if hasattr(estimates, "detach"):  # a tensor
                estimates = estimates.detach().float().cpu()
            estimates = np.asarray(estimates, dtype=np.float64)
            if estimates.shape not in ((states,), (states, 1)):
                raise ValueError(f"the heuristic gave an array of shape {estimates.shape}: expected ({states},)")
            if not np.isfinite(estimates).all():
                raise ValueError("the heuristic gave an estimate that is not finite")
            return np.clip(estimates, 0, 1e30).astype("<f4").tobytes()

        return estimate

    def __repr__(self) -> str:
        return f"<costar.Solver of {self.puzzle.name}: {self.config}>"


class Model:
    """A trained network."""

    def __init__(self, inner: _costar.Model) -> None:
        self._inner = inner
        #: The puzzle that the network was trained for.
        self.puzzle = Puzzle._of(inner.puzzle)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        puzzle: Puzzle | str | os.PathLike[str] | None = None,
        device: str = "auto",
        precision: str | None = None,
    ) -> Model:
        """Reads a model: a folder, the folder of a run, or a name on the search path.

        ``puzzle`` is the puzzle that it was trained for; by default, the one that the model names, or the file beside it.

        Raises:
            ValueError: there is no model, it is damaged, or it belongs to another puzzle.
        """
        if puzzle is not None and not isinstance(puzzle, Puzzle):
            puzzle = Puzzle(puzzle)
        inner = None if puzzle is None else puzzle._inner
        return cls(_costar.Model.load(os.fspath(path), device, precision, inner))

    def evaluate(self, rows: npt.ArrayLike) -> Estimates:
        """The estimates of rows, ``states × cells``, as :meth:`Puzzle.encode` returns them.

        Raises:
            ValueError: the rows have another shape, or hold symbols that the puzzle does not have.
        """
        array = np.asarray(rows)
        if array.ndim != 2 or array.dtype.kind not in "iu":
            raise ValueError(f"expected integers, states × {self.puzzle.cells}: got {array.dtype} of shape {array.shape}")
        if array.size and (array.min() < 0 or array.max() > 255):
            raise ValueError(f"the rows hold numbers from {array.min()} to {array.max()}: expected 0 to 255")
        h, moves = self._inner.evaluate(array.astype(np.uint8).tobytes(), *array.shape)
        probabilities = None if moves is None else np.frombuffer(bytearray(moves[0]), "<f4").reshape(len(array), moves[1])
        return Estimates(h=np.frombuffer(bytearray(h), "<f4"), moves=probabilities)


def _integers(what: str, numbers: Iterable[int]) -> list[int]:
    """Integers of any kind, as Python's own."""
    try:
        return [operator.index(number) for number in numbers]
    except TypeError as error:
        raise TypeError(f"{what}: expected integers: {error}") from error


def _count(name: str, number: int, least: int = 1, bits: int = 63) -> int:
    """A count of at least ``least``."""
    try:
        count = operator.index(number)
    except TypeError as error:
        raise ValueError(f"`{name}`: {number!r}: expected an integer") from error
    if not least <= count < 1 << bits:
        raise ValueError(f"`{name}`: {count}: expected {least} to {(1 << bits) - 1}")
    return count


def _seconds(number: float | None) -> float | None:
    """A time limit; ``None`` for no limit."""
    if number is None or number == math.inf:
        return None
    if not isinstance(number, (int, float)) or not 0 <= number <= 1e9:
        raise ValueError(f"`max_seconds`: {number!r}: expected a number from 0 to 1e9")
    return float(number)


def _setting(name: str, value: Any) -> tuple[str, Any]:
    """A setting of a search, with a value for JSON."""
    name = name.removesuffix("_")
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"`{name}`: {value}: expected a finite number")
    if not isinstance(value, (bool, int, float, str, type(None))):
        raise TypeError(f"`{name}`: expected a number, a text, True or False, got {type(value).__name__}")
    return name, value
