"""What is found of a value is kept in it, told apart by identity, and does not travel."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from dataclasses import dataclass

import pytest

from polyopt.memo import Same, memo, memory

CALLS: list[str] = []


@dataclass(frozen=True)
class Owner:
    name: str


@memo
def told(owner: Owner, what: object, times: int = 1) -> str:
    CALLS.append(owner.name)
    if times < 0:
        raise ValueError(times)
    return f"{owner.name}:{what}" * times


@pytest.fixture(autouse=True)
def _no_calls():
    CALLS.clear()


def test_a_question_is_answered_once_for_each_value_and_argument():
    owner, other = Owner("a"), Owner("a")
    assert told(owner, "x") == told(owner, "x") == "a:x"
    assert told(owner, "y") == "a:y"
    assert told(owner, "x", times=2) == "a:xa:x"
    assert len(CALLS) == 3
    told(other, "x")  # equal, and not the same
    assert len(CALLS) == 4


def test_arguments_are_told_apart_by_identity():
    one, other = [1], [1]
    owner = Owner("a")
    told(owner, one)
    told(owner, one)
    told(owner, other)
    assert len(CALLS) == 2
    assert Same(one) == Same(one) != Same(other)


def test_what_is_raised_is_not_remembered():
    owner = Owner("a")
    for _ in range(2):
        with pytest.raises(ValueError, match="-1"):
            told(owner, "x", -1)
    assert len(CALLS) == 2


def test_the_memory_goes_with_its_owner():
    class Answer:
        pass

    owner = Owner("a")
    answer = memory(owner, "question")["key"] = Answer()
    seen = weakref.ref(answer)
    del answer, owner
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("again", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_the_memory_neither_travels_nor_is_copied(again):
    owner = Owner("a")
    memory(owner, "question")["key"] = lambda: None  # cannot be pickled
    assert memory(again(owner), "question") == {}
    assert owner == again(owner)


def test_a_memory_that_is_full_is_forgotten():
    owner = Owner("a")
    memory(owner, "question").update(dict.fromkeys(range(20_001)))
    assert memory(owner, "question") == {}
