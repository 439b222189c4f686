"""A plan is the same in every process: strings hash differently in each, and objects lie elsewhere.

What isl answers depends on more than the values: two that are equal may be written differently.
So it is asked the same in the same order, which shows what the plan alone hides most of the time.
"""

import os
import subprocess
import sys

import pytest

import polyopt as po
from polyopt.isl import Map, PwAff, PwMultiAff, Set, UnionMap, UnionSet
from polyopt.library import load_kernel

VALUES = (Set, Map, UnionSet, UnionMap, PwAff, PwMultiAff)

#: prints the number and a digest of isl's operations, and one of the generated C
RECORDED = """
import hashlib
import polyopt as po
from polyopt.isl import Map, PwAff, PwMultiAff, Set, UnionMap, UnionSet
from polyopt.library import load_kernel

asked, count = hashlib.sha256(), 0

def recorded(cls, name, method):
    def call(*args, **kwargs):
        global count
        count += 1
        asked.update(f"{cls.__name__}.{name};".encode())
        return method(*args, **kwargs)
    setattr(cls, name, call)

for cls in (Set, Map, UnionSet, UnionMap, PwAff, PwMultiAff):
    for name, method in list(vars(cls).items()):
        if not name.startswith("_") and type(method).__name__ == "nb_method":
            recorded(cls, name, method)

kernel = load_kernel("camera_pipe")
code = po.auto(kernel.scop, target="avx2", sizes=kernel.sizes["bench"]).emit().source
print(count, asked.hexdigest(), hashlib.sha256(code.encode()).hexdigest())
"""


def test_other_hashes_ask_isl_the_same_and_give_the_same_code():
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", RECORDED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    one, other = (run.communicate()[0].split() for run in runs)

    assert int(one[0]) > 10_000
    assert one == other


@pytest.mark.parametrize("name", ["harris", "cholesky"])
def test_no_value_of_isl_is_a_key(name, monkeypatch):
    keys = []
    for kind in VALUES:
        monkeypatch.setattr(kind, "__hash__", lambda value: keys.append(str(value)) or 0)
    kernel = load_kernel(name)

    po.auto(kernel.scop, target="avx2", sizes=kernel.sizes["bench"]).emit()

    assert keys == []
