"""Conway's game of life on a torus. Class: time loops."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"T": 10, "H": 1000, "W": 1200},
    "demo": {"T": 10, "H": 300, "W": 400},
    "test": {"T": 4, "H": 9, "W": 13},
    "tiny": {"T": 1, "H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``board`` u8 ``[H][W]``: one where a cell lives."""
    return {"board": rng.integers(0, 2, (sizes["H"], sizes["W"]), dtype=np.uint8)}


def reference(*, board: np.ndarray, T: int, **_sizes: int) -> dict[str, np.ndarray]:
    """``board`` u8 ``[H][W]`` after T generations."""
    board = board.copy()
    for _ in range(T):
        three = np.roll(board, 1, 0) + board + np.roll(board, -1, 0)
        nine = np.roll(three, 1, 1) + three + np.roll(three, -1, 1)
        board = ((nine == 3) | ((nine == 4) & (board == 1))).astype(np.uint8)
    return {"board": board}


def game_of_life(T: int, board: po.u8["H", "W"]) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    H, W = board.shape
    new = np.empty((H, W), np.uint8)
    for _ in range(T):
        for y in range(H):
            for x in range(W):
                up = H - 1 if y == 0 else y - 1
                down = 0 if y == H - 1 else y + 1
                left = W - 1 if x == 0 else x - 1
                right = 0 if x == W - 1 else x + 1
                alive = board[up, left] + board[up, x] + board[up, right]
                alive += board[y, left] + board[y, right]
                alive += board[down, left] + board[down, x] + board[down, right]
                if alive == 3 or (alive == 2 and board[y, x] == 1):
                    new[y, x] = 1
                else:
                    new[y, x] = 0
        for y in range(H):
            for x in range(W):
                board[y, x] = new[y, x]


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(game_of_life)


def numba(
    numba: ModuleType, *, board: np.ndarray, T: int, H: int, W: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads; each call starts from what was given."""

    @numba.njit(parallel=True)
    def run(board: np.ndarray, new: np.ndarray) -> None:
        for _ in range(T):
            for y in numba.prange(H):
                for x in range(W):
                    alive = 0
                    for dy in range(-1, 2):
                        for dx in range(-1, 2):
                            alive += board[(y + dy) % H, (x + dx) % W]
                    alive -= board[y, x]
                    new[y, x] = alive == 3 or (alive == 2 and board[y, x] == 1)
            for y in numba.prange(H):
                for x in range(W):
                    board[y, x] = new[y, x]

    new = np.empty_like(board)

    def call() -> dict[str, np.ndarray]:
        result = board.copy()
        run(result, new)
        return {"board": result}

    return call
