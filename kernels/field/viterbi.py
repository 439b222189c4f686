"""The most likely path through a hidden Markov model, by Viterbi. Class: dynamic programming."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"T": 500, "S": 192},
    "demo": {"T": 200, "S": 32},
    "test": {"T": 17, "S": 5},
    "tiny": {"T": 1, "S": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Logarithms of probabilities: ``emission`` f32 ``[T][S]``, ``transition`` f32 ``[S][S]``.

    ``transition[p, s]`` is from state ``p`` to state ``s``.
    """
    steps, states = sizes["T"], sizes["S"]
    return {
        "emission": np.log(rng.dirichlet(np.ones(states), steps)).astype(np.float32),
        "transition": np.log(rng.dirichlet(np.ones(states), states)).astype(np.float32),
    }


def reference(
    *, emission: np.ndarray, transition: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``path`` i32 ``[T]`` and ``score`` f32 ``[T][S]``; of equal scores the first state."""
    score, steps = emission.copy(), len(emission)
    back = np.zeros(emission.shape, np.int32)
    for t in range(1, steps):
        candidates = score[t - 1][:, None] + transition
        back[t] = candidates.argmax(axis=0)
        score[t] += candidates.max(axis=0)
    path = np.empty(steps, np.int32)
    path[-1] = score[-1].argmax()
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return {"path": path, "score": score}


def viterbi(
    emission: po.f32["T", "S"],
    transition: po.f32["S", "S"],
    path: po.i32["T"],
    score: po.f32["T", "S"],
) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    T, S = emission.shape
    back = np.empty((T, S), np.int32)
    for s in range(S):
        score[0, s] = emission[0, s]
    for t in range(1, T):
        for s in range(S):
            best = score[t - 1, 0] + transition[0, s]
            state = np.int32(0)
            for p in range(1, S):
                candidate = score[t - 1, p] + transition[p, s]
                if candidate > best:
                    best = candidate
                    state = np.int32(p)
            score[t, s] = best + emission[t, s]
            back[t, s] = state
    last = np.int32(0)
    most = score[T - 1, 0]
    for s in range(1, S):
        if score[T - 1, s] > most:
            most = score[T - 1, s]
            last = np.int32(s)
    path[T - 1] = last
    for t in range(T - 1, 0, -1):
        path[t - 1] = back[t, min(max(path[t], 0), S - 1)]


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(viterbi)


def numba(
    numba: ModuleType, *, emission: np.ndarray, transition: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, states shared by threads."""

    @numba.njit(parallel=True)
    def run(score: np.ndarray, back: np.ndarray, path: np.ndarray) -> None:
        steps, states = score.shape
        score[0] = emission[0]
        for t in range(1, steps):
            for s in numba.prange(states):
                state = 0
                for p in range(1, states):
                    one = score[t - 1, p] + transition[p, s]
                    if one > score[t - 1, state] + transition[state, s]:
                        state = p
                score[t, s] = score[t - 1, state] + transition[state, s] + emission[t, s]
                back[t, s] = state
        path[steps - 1] = np.argmax(score[steps - 1])
        for t in range(steps - 1, 0, -1):
            path[t - 1] = back[t, path[t]]

    score, back = np.empty_like(emission), np.zeros(emission.shape, np.int32)
    path = np.empty(len(emission), np.int32)

    def call() -> dict[str, np.ndarray]:
        run(score, back, path)
        return {"path": path, "score": score}

    return call
