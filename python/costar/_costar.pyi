from collections.abc import Callable

__version__: str

class Puzzle:
    name: str
    moves: list[str]
    notation: str
    cells: int
    symbols: int
    def __init__(self, name: str, goal: str | None = None) -> None: ...
    @staticmethod
    def described(text: str) -> Puzzle: ...
    def encode(self, instances: list[str]) -> bytes: ...
    def play(self, instance: str, moves: str) -> tuple[str, bool]: ...
    def samples(self, count: int, max_depth: int | None, seed: int, batch: int) -> tuple[bytes, bytes, bytes]: ...

class Solver:
    def __init__(
        self,
        puzzle: Puzzle,
        search: str,
        settings: str,
        heuristic: str | None,
        function: Callable[[bytes, int, int], bytes] | None,
        chunk: int,
        model: str | None,
        device: str,
        precision: str | None,
        max_seconds: float | None,
        max_nodes: int | None,
        max_memory: int | None,
    ) -> None: ...
    def solve(self, instance: str) -> str: ...
    def config(self) -> str: ...

class Model:
    puzzle: Puzzle
    @staticmethod
    def load(name: str, device: str, precision: str | None, puzzle: Puzzle | None) -> Model: ...
    def evaluate(self, rows: bytes, count: int, cells: int) -> tuple[bytes, tuple[bytes, int] | None]: ...
