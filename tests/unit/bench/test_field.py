"""The suite of the field: peers from kernels' own modules, and its page."""

import json
from math import sqrt
from types import SimpleNamespace

import numpy as np
import pytest

import polyopt as po
from polyopt.bench import peers
from polyopt.bench.pages.compose import page
from polyopt.bench.pages.field import kernel_class
from polyopt.bench.pages.markdown import Making
from polyopt.bench.pages.reading import read
from polyopt.bench.peers import modules, offers
from polyopt.bench.peers.call import Request
from polyopt.bench.suites import FIELD, members
from polyopt.errors import MissingExtraError
from tests.unit.bench.test_affine import tables
from tests.unit.bench.test_pages import row as image_row
from tests.unit.bench.test_pages import times as document

MAKING = Making("f.json", "f.svg", "polyopt report f.json -o f.md")
PEERS = ("gcc", "clang", "opencv")


# -- peers that a kernel's module has ---------------------------------------------------------


def request_for(name, module):
    kernel = po.load_kernel(name)
    sizes = kernel.sizes["test"]
    inputs = kernel.inputs(sizes, np.random.default_rng(1))
    expected = kernel.reference(**inputs, **sizes)
    return Request(name, sizes, inputs, expected, (1, 2), None, module)


class Cv2(SimpleNamespace):
    """As much of OpenCV as dilation needs, and the threads that it was told."""

    def __init__(self):
        super().__init__(told=[])

    def dilate(self, img, square):
        return img.copy() if square.size else None

    def setNumThreads(self, threads):
        self.told.append(threads)


def test_a_library_is_called_as_the_kernels_module_says(monkeypatch):
    library = Cv2()
    monkeypatch.setattr(modules, "needed", lambda _module, _peer: library)
    asked = request_for("dilate", po.load_kernel("dilate").module)
    (call,) = offers(["opencv"], asked).calls
    assert call.variant == "opencv"
    np.testing.assert_array_equal(call.outputs["out"], asked.inputs["img"])
    call.outputs["out"][:] = 0
    call.set_threads(2)
    call.run()
    np.testing.assert_array_equal(call.outputs["out"], asked.inputs["img"])
    assert library.told == [2]


def test_a_call_of_a_library_cannot_change_what_others_are_given(monkeypatch):
    def scipy(_library, *, img, **_sizes):
        img[:] = 0
        return lambda: {"out": img}

    monkeypatch.setattr(modules, "needed", lambda _module, _peer: None)
    asked = request_for("dilate", SimpleNamespace(scipy=scipy))
    before = asked.inputs["img"].copy()
    assert offers(["scipy"], asked).calls
    np.testing.assert_array_equal(asked.inputs["img"], before)


def test_a_module_without_such_a_function_offers_nothing():
    asked = request_for("dilate", SimpleNamespace())
    offer = offers(["opencv", "torch"], asked)
    assert offer.calls == []
    assert offer.notes == [
        "opencv has no form of dilate",
        "torch has no form of dilate, it runs networks (--suite nn)",
    ]


def test_a_library_that_is_not_installed_is_missing(monkeypatch):
    monkeypatch.setitem(modules.MODULES, "opencv", "no_such_module")
    asked = request_for("dilate", po.load_kernel("dilate").module)
    with pytest.raises(MissingExtraError, match="opencv is not installed"):
        modules.module_calls(asked, "opencv")


def test_functions_of_modules_are_called_like_peers():
    assert set(modules.MODULES) <= set(peers.KNOWN)


# -- the page ---------------------------------------------------------------------------------


def row(*args, **others):
    return {**image_row(*args, **others), "suite": FIELD}


DILATE = [
    row("dilate", "polyopt", 2.0), row("dilate", "polyopt-unfused", 5.0),
    row("dilate", "gcc", 8.0), row("dilate", "clang", 3.0), row("dilate", "opencv", 1.0),
]  # fmt: skip
SAXPY = [
    row("saxpy", "polyopt", 1.0), row("saxpy", "polyopt-unfused", 1.0),
    row("saxpy", "gcc", 0.9), row("saxpy", "clang", 0.5, agrees=False),
]  # fmt: skip


def shown():
    return page(read(json.dumps(document(DILATE + SAXPY, PEERS)), "f.json"), MAKING)


def test_goals_name_the_programs_that_are_short_of_them():
    goals, _ = tables(shown().markdown)
    told = [(g["against"], g["goal"], g["measured"], g["short of it"]) for g in goals]
    assert told == [
        ("fastest peer", ">= 1.3", f"{sqrt(0.5 * 0.9):.2f}", "-"),
        ("fastest peer", ">= 0.8", "0.50", "dilate 0.50"),
        ("plain C", ">= 0.95", "0.90", "saxpy 0.90"),
    ]


def test_a_program_stands_beside_the_fastest_peer_that_agrees():
    _, programs = tables(shown().markdown)
    dilate, saxpy, mean = programs
    assert dilate["class"] == "windows of reductions"
    assert (dilate["fastest"], dilate["fastest / ours"]) == ("OpenCV", "0.50 (0.50-0.50)")
    assert (dilate["plain C / ours"], dilate["unfused / ours"]) == ("1.50", "2.50")
    assert (saxpy["fastest"], saxpy["clang ms"], saxpy["agree"]) == ("gcc", "-", "**NO**: clang")
    assert mean["plain C / ours"] == f"**{sqrt(1.5 * 0.9):.2f}**"


def test_losses_are_told_with_their_causes(monkeypatch):
    text = shown().markdown
    assert "- dilate, 0.50 of OpenCV: its cause is not known yet" in text
    module = po.load_kernel("dilate").module
    said = f"{module.__doc__}\n\nBehind others: two\n    lines.\n"
    monkeypatch.setattr(module, "__doc__", said)
    monkeypatch.setattr(
        "polyopt.bench.pages.field.load_kernel", lambda _name: SimpleNamespace(module=module)
    )
    assert "- dilate, 0.50 of OpenCV: two lines." in shown().markdown
    assert "saxpy, 0.90" not in shown().markdown


def test_the_picture_has_a_bar_for_each_class():
    svg = shown().svg
    assert all(text in svg for text in ("windows of reductions", "single loops", ">all<"))
    assert "1 thread: 0.67 (0.50-0.90)" in svg


def test_every_program_of_the_field_has_a_class():
    assert all(kernel_class(name) != "-" for name in members(FIELD))
