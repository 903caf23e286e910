"""The Python module, with NumPy alone. Run by ``scripts/check-python``."""

import dataclasses
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import costar

ROOT = Path(__file__).resolve().parents[2]
PYRAMINX = str(ROOT / "test-data" / "puzzles" / "pyraminx.json")


def misplaced(puzzle):
    """The number of tiles that are not where the goal has them, but for the blank."""
    goal = puzzle.encode(["1 2 3 4 5 6 7 8 0"])[0]
    return lambda rows: ((rows != goal) & (rows != 0)).sum(axis=1)


def test_an_instance_says_how_it_was_read():
    facelets = "LBDBUDDRRFLRRLRLBRFDBFFUFURULLLRFBDLBRDLBUBFFUBDDDFUUU"
    solution = costar.Solver("cube3", search="bfs", perimeter=5, max_nodes=10).solve(facelets)
    assert solution.read_as == "the faces in the order U L F R B D"
    assert costar.Solver("cube2", search="bfs").solve("D R").moves in (["R'", "D'"], ["R'", "U'"])


def test_a_cube_is_solved_with_the_shipped_network():
    solution = costar.Solver("cube3", search="bwas", n=100, device="cpu").solve("R U F'")
    assert solution.moves == ["F", "U'", "R'"]
    assert (solution.length, solution.model, solution.lambda_ is None, solution.n) == (3, "cube3", False, 100)
    assert str(solution) == "F U' R'"
    assert costar.Puzzle("cube3").play("R U F'", solution.moves)[1]


def test_solutions_are_plain_data():
    solutions = costar.Solver("puzzle8").solve_many(["8 6 7 2 5 4 3 0 1", "1 2 3 4 5 6 7 0 8"])
    table = [dataclasses.asdict(solution) for solution in solutions]
    assert [row["length"] for row in table] == [31, 1]
    assert all(row["proven_optimal"] for row in table)
    json.dumps(table)


def test_progress_is_told_after_each_instance():
    told = []
    solver = costar.Solver("cube2")
    solver.solve_many(["R", "R U", "R U F"], lambda *now: told.append((now[0], now[1], now[2].length)))
    assert told == [(1, 3, 1), (2, 3, 2), (3, 3, 3)]


def test_a_function_is_a_heuristic():
    puzzle = costar.Puzzle("puzzle8")
    asked = []

    def heuristic(rows):
        assert rows.dtype == np.uint8 and rows.shape[1] == 9
        asked.append(len(rows))
        return misplaced(puzzle)(rows).astype(np.float32)

    solution = costar.Solver(puzzle, search="astar", heuristic=heuristic).solve("8 6 7 2 5 4 3 0 1")
    assert (solution.length, solution.heuristic) == (31, "python")
    # Nothing says that it never exceeds the distance.
    assert not solution.proven_optimal
    assert sum(asked) >= solution.nodes_evaluated > 0
    batches = costar.Solver(puzzle, search="bwas", heuristic=heuristic, n=100, lambda_=1.0)
    assert batches.solve("8 6 7 2 5 4 3 0 1").length == 31
    assert max(asked) > 100, "states come in batches"


def test_what_a_heuristic_raises_is_raised():
    class Mine(Exception):
        pass

    def fails(rows):
        raise Mine("of my own")

    def solve(heuristic):
        return costar.Solver("puzzle8", search="astar", heuristic=heuristic).solve("8 6 7 2 5 4 3 0 1")

    with pytest.raises(Mine, match="of my own"):
        solve(fails)
    with pytest.raises(ValueError, match="shape"):
        solve(lambda rows: np.zeros((len(rows), 2)))
    with pytest.raises(ValueError, match="finite"):
        solve(lambda rows: np.full(len(rows), np.nan))
    with pytest.raises(TypeError, match="heuristic"):
        solve(3)


def test_own_puzzles_are_made_from_permutations():
    moves = {"L": [1, 2, 3, 4, 5, 0], "X": [1, 0, 2, 3, 4, 5]}
    puzzle = costar.Puzzle.permutations(range(6), moves, name="lx6", symmetric=True)
    assert (puzzle.name, puzzle.moves, puzzle.cells, puzzle.symbols) == ("lx6", ["L", "L'", "X"], 6, 6)
    solution = costar.Solver(puzzle).solve("L X L X L' X")
    assert solution.solved and solution.proven_optimal
    assert solution.rules_crc32 is not None
    assert puzzle.play("L X L X L' X", solution.moves) == ("012345", True)
    assert costar.Solver(PYRAMINX).solve("U L' R b").length == 4
    with pytest.raises(ValueError, match="twice"):
        costar.Puzzle.permutations("ab", {"M": [0, 0]})


def test_own_puzzles_are_refused_by_name():
    with pytest.raises(ValueError, match="rename"):
        costar.Puzzle.permutations("ABCD", {"t": [1, 2, 3, 0], "t'": [1, 0, 2, 3]}, symmetric=True)
    with pytest.raises(ValueError, match="cube3"):
        costar.Puzzle.permutations("AB", {"t": [1, 0]}, name="cube3")
    with pytest.raises(TypeError, match="the move 't'"):
        costar.Puzzle.permutations("ABCD", {"t": [1.9, 2.9, 3.2, 0.5]})
    turned = costar.Puzzle.permutations("ABCD", {"t": np.array([1, 2, 3, 0])}, symmetric=np.bool_(True))
    assert turned.moves == ["t", "t'"]


def test_a_solver_is_not_used_by_its_own_heuristic():
    def heuristic(rows):
        assert solver.config["search"] == "bwas"
        solver.solve("1 2 3 4 5 6 7 0 8")

    solver = costar.Solver("puzzle8", search="bwas", n=10, heuristic=heuristic)
    with pytest.raises(RuntimeError, match="waits"):
        solver.solve("8 6 7 2 5 4 3 0 1")


def test_what_an_interrupted_search_raised_is_not_raised_later():
    interrupted = threading.Event()

    def heuristic(rows):
        if not interrupted.is_set():
            interrupted.set()
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.3)
            raise RuntimeError("too late")
        return np.zeros(len(rows))

    solver = costar.Solver("puzzle8", search="bwas", n=100, heuristic=heuristic)
    with pytest.raises((KeyboardInterrupt, RuntimeError)):
        solver.solve("8 6 7 2 5 4 3 0 1")
    with pytest.raises(ValueError, match="nonsense"):
        solver.solve("nonsense")


def test_numbers_of_numpy_and_paths_are_taken():
    solver = costar.Solver("puzzle8", search="bwas", n=np.int64(7), lambda_=np.float32(0.5), max_seconds=float("inf"))
    assert (solver.config["n"], solver.config["lambda"]) == (7, 0.5)
    assert costar.Puzzle(Path(PYRAMINX)).name == costar.Solver(Path(PYRAMINX)).puzzle.name
    rows = costar.Puzzle("cube2").encode(["R"])
    rows[0, 0] = 1  # an array of one's own


def test_samples_have_their_labels():
    puzzle = costar.Puzzle("cube3")
    samples = puzzle.samples(60, max_depth=6, seed=3)
    assert samples.rows.shape == (60, 54) and samples.moves_back.shape == (60, 12)
    assert sorted(set(samples.labels)) == [1, 2, 3, 4, 5, 6]
    assert (samples.moves_back.sum(axis=1) >= 1).all()
    again, other = puzzle.samples(60, max_depth=6, seed=3), puzzle.samples(60, max_depth=6, seed=3, batch=1)
    assert (again.rows == samples.rows).all() and (other.rows != samples.rows).any()
    with pytest.raises(ValueError, match="max_depth"):
        puzzle.samples(3, max_depth=0)


def test_a_model_evaluates_rows():
    model = costar.Model.load("cube3", device="cpu")
    assert model.puzzle.name == "cube3"
    rows = model.puzzle.encode(["", "R", "R U F' L2 D B R' U F L"])
    estimates = model.evaluate(rows)
    assert estimates.h.shape == (3,) and estimates.h.dtype == np.float32
    assert estimates.h[0] < estimates.h[1] + 1 < estimates.h[2]
    assert estimates.moves.shape == (3, 12)
    assert np.allclose(estimates.moves.sum(axis=1), 1, atol=1e-3)
    assert model.puzzle.moves[int(estimates.moves[1].argmax())] == "R'"
    assert model.evaluate(rows.astype(np.int64)).h.tolist() == estimates.h.tolist()
    none = model.evaluate(rows[:0])
    assert none.h.shape == (0,) and none.moves.shape == (0, 12)
    for wrong in (rows[:, :5], rows + 6, rows.astype(float), rows[0]):
        with pytest.raises(ValueError):
            model.evaluate(wrong)
    with pytest.raises(ValueError, match="no model"):
        costar.Model.load("nothing-of-this-name")


def test_a_model_is_loaded_for_a_puzzle_that_is_given():
    rows = costar.Puzzle("cube3").encode(["R"])
    of_name, of_puzzle = (costar.Model.load("cube3", puzzle=puzzle, device="cpu") for puzzle in ("cube3", costar.Puzzle("cube3")))
    assert of_name.puzzle.name == of_puzzle.puzzle.name == "cube3"
    assert of_name.evaluate(rows).h == of_puzzle.evaluate(rows).h
    with pytest.raises(ValueError, match="is for cube3, not for cube2"):
        costar.Model.load("cube3", puzzle="cube2")
    other_goal = costar.Puzzle("puzzle15", goal="15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0")
    with pytest.raises(ValueError, match="goal"):
        costar.Model.load("puzzle15", puzzle=other_goal)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: costar.Puzzle("cube99"), "unknown puzzle"),
        (lambda: costar.Solver("cube3", search="quick"), "unknown search"),
        (lambda: costar.Solver("cube3", search="bfs", n=5), "`n`"),
        (lambda: costar.Solver("cube3", device="tpu"), "`device`.*tpu"),
        (lambda: costar.Solver("cube3", precision="f8"), "`precision`.*f8"),
        (lambda: costar.Solver("cube3", lambda_=float("nan")), "`lambda`"),
        (lambda: costar.Solver("cube3", max_nodes=-1), "`max_nodes`"),
        (lambda: costar.Solver("puzzle8", heuristic=lambda rows: rows[:, 0], model="puzzle8"), "`model`"),
        (lambda: costar.Solver("puzzle8", heuristic=lambda rows: rows[:, 0], chunk=1 << 50), "`chunk`"),
        (lambda: costar.Puzzle("puzzle8").samples(10**15), "`count`"),
        (lambda: costar.Solver("cube3", max_seconds=-1), "max_seconds"),
        (lambda: costar.Solver("puzzle8", heuristic="network", model="nothing-of-this-name"), "nothing-of-this-name"),
        (lambda: costar.Solver("cube2").solve("R X"), "'X'"),
        (lambda: costar.Solver("puzzle8").solve("1 2 3 4 5 6 8 7 0"), "parity"),
    ],
)
def test_what_is_refused_is_named(make, named):
    with pytest.raises(ValueError, match=named):
        make()


def test_limits_end_a_search():
    solution = costar.Solver("puzzle8", search="bfs", max_nodes=1000).solve("8 6 7 2 5 4 3 0 1")
    assert (solution.solved, solution.moves, solution.ended_by) == (False, None, "nodes")
    assert str(solution) == "not solved: nodes"


def test_other_threads_run_during_a_search():
    count = 0
    done = threading.Event()

    def tick():
        nonlocal count
        while not done.is_set():
            count += 1
            time.sleep(0.005)

    ticking = threading.Thread(target=tick)
    solver = costar.Solver("cube3", search="bfs", perimeter=1, max_seconds=1)
    ticking.start()
    solver.solve("R U F' L D B' R' U F L' D B R U' F L")
    done.set()
    ticking.join()
    assert count > 50


def test_ctrl_c_ends_a_search():
    program = (
        "import costar; solver = costar.Solver('cube3', search='bfs', perimeter=1); print('ready', flush=True); "
        "solver.solve('R U F L D B R U F L D B R U F L')"
    )
    # A shell may have started the tests with the signal ignored, and Python leaves it so.
    heeds = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], **heeds, **pipes) as child:
        try:
            assert child.stdout.readline() == b"ready\n"
            time.sleep(0.5)
            begun = time.monotonic()
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=20)
        finally:
            child.kill()
    assert b"KeyboardInterrupt" in said and time.monotonic() - begun < 5
