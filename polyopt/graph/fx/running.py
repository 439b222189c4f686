"""Runs a compiled graph as PyTorch would run the module: on tensors, with all that it changes."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polyopt.errors import PolyoptError, UnsupportedError
from polyopt.graph.compiling import compile_model
from polyopt.graph.fx.functional import layouts
from polyopt.graph.fx.pieces import Pieces, table
from polyopt.graph.fx.read import as_array, as_tensor, load_torch, read_program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.graph.fx.functional import Layout, Mutation
    from polyopt.graph.fx.pieces import Piece

_log = logging.getLogger("polyopt")


@dataclass(frozen=True)
class Weight:
    """An input that is a constant of the compiled graph: the tensor, and its state then."""

    position: int
    tensor: Any
    state: tuple[int, int]

    def has_changed(self, given: Sequence[Any]) -> bool:
        """Whether another tensor is given now, or this one was changed since."""
        return given[self.position] is not self.tensor or _state(self.tensor) != self.state


class Runner:
    """A traced module's function, on tensors.

    Raises what reading and compiling raise.
    """

    def __init__(self, module: Any, program: Any, examples: Sequence[Any]) -> None:  # noqa: ANN401
        self._module = module
        self._program = program
        self._names = [str(name) for name in program.graph_signature.user_inputs]
        self._layouts = layouts(program)
        self._weights: tuple[Weight, ...] = ()
        self._compile(_weights(module, examples), examples)
        if any(m.kind != "input" for m in self._mutations):
            raise UnsupportedError(f"{self._mutations[0]} is changed, and is no input of the trace")
        kept = {**program.state_dict, **program.constants}.values()
        self._kept = [(one, _state(one)) for one in kept if isinstance(one, load_torch().Tensor)]

    def _compile(self, frozen: Sequence[int], given: Sequence[Any]) -> None:
        constants = {self._names[k]: given[k] for k in frozen}
        try:
            self._whole(constants, frozen, given)
        except UnsupportedError:
            self._in_pieces(constants, frozen, given)

    def _whole(
        self, constants: Mapping[str, Any], frozen: Sequence[int], given: Sequence[Any]
    ) -> None:
        """One graph for all of the program."""
        reading = read_program(self._program, constants)
        model = compile_model(reading.graph)
        inputs = {value.name: self._names.index(value.name) for value in reading.graph.inputs}

        def run(tensors: Sequence[Any]) -> Sequence[Any]:
            return model.run({name: as_array(tensors[k], name) for name, k in inputs.items()})

        self._run: Callable[[Sequence[Any]], Sequence[Any]] = run
        self._mutations: Sequence[Mutation] = reading.mutations
        self.pieces: tuple[Piece, ...] = ()
        kept = [k for k in frozen if self._names[k] not in inputs]
        self._weights = tuple(Weight(k, given[k], _state(given[k])) for k in kept)

    def _in_pieces(
        self, constants: Mapping[str, Any], frozen: Sequence[int], given: Sequence[Any]
    ) -> None:
        """What is taken compiled, and the rest on PyTorch."""
        pieces = Pieces(self._program, constants)
        self._run, self._mutations, self.pieces = pieces, pieces.mutations, pieces.pieces
        kept = [k for k in frozen if self._names[k] in pieces.stored]
        self._weights = tuple(Weight(k, given[k], _state(given[k])) for k in kept)
        _log.warning("not all is taken:\n%s", table(self.pieces))

    def __call__(self, *given: Any) -> object:  # noqa: ANN401
        """The module's results; its inputs and buffers are changed as it changes them."""
        if self._shares(given) or not self._is_current(given):
            return self._module.forward(*given)
        results = self._run(given)
        count = len(self._mutations)
        for mutation, found in zip(self._mutations, results[:count], strict=True):
            given[self._names.index(mutation.placeholder)].copy_(_tensor(found))
        return self._tensors(given, results[count:])

    def _shares(self, given: Sequence[Any]) -> bool:
        """Whether something that is changed has memory in common with another input."""
        if not self._mutations:
            return False
        starts = [one.untyped_storage().data_ptr() for one in given]
        changed = [starts[self._names.index(m.placeholder)] for m in self._mutations]
        return any(starts.count(start) > 1 for start in changed)

    def _is_current(self, given: Sequence[Any]) -> bool:
        """Whether the weights are those that were compiled; else compiles for any weights.

        Not where that fails: then PyTorch runs the module.
        """
        if any(_state(tensor) != state for tensor, state in self._kept):
            return False
        changed = {w.position for w in self._weights if w.has_changed(given)}
        if not changed:
            return True
        _log.info("weights have changed: compiled anew, with them as inputs")
        kept = [w.position for w in self._weights if w.position not in changed]
        try:
            self._compile(kept, given)
        except PolyoptError as error:
            _log.warning("not taken, runs on PyTorch: %s", error.diagnostic.message)
            return False
        return True

    def _tensors(self, given: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        """Results as tensors that lie in memory, and share it, as PyTorch's do."""
        storages: dict[int, Any] = {}
        keys = [layout.storage for layout in self._layouts]
        made: list[Any] = []
        for layout, array in zip(self._layouts, arrays, strict=True):
            if layout.source is None and keys.count(layout.storage) == 1:
                made.append(_alone(layout, array))
            elif layout.source is None:
                made.append(_part(storages, layout, array))
            else:
                base = given[layout.source]
                start = base.storage_offset() + layout.offset
                made.append(base.as_strided(layout.shape, layout.strides, start))
        return made


def _weights(module: Any, examples: Sequence[Any]) -> list[int]:  # noqa: ANN401
    """The positions of a traced module's inputs that are weights of the network.

    Tracing lifts parameters and buffers to inputs and keeps where each comes from.
    """
    parameter = load_torch().nn.Parameter
    traced = [node for node in module.graph.nodes if node.op == "placeholder"]
    sources = [str(getattr(node.meta.get("grapharg"), "source", "")) for node in traced]
    return [k for k, (source, given) in enumerate(zip(sources, examples, strict=True))
            if isinstance(given, parameter) or "_buffers" in source]  # fmt: skip


def _state(tensor: Any) -> tuple[int, int]:  # noqa: ANN401
    """What differs once a tensor has been changed: where it is, and how often it was written.

    Tensors of inference mode do not count that.
    """
    written = 0 if tensor.is_inference() else tensor._version  # noqa: SLF001  (all there is)
    return int(tensor.data_ptr()), int(written)


def _tensor(found: Any) -> Any:  # noqa: ANN401
    """An array as a tensor; a tensor as it is."""
    return found if isinstance(found, load_torch().Tensor) else as_tensor(found)


def _alone(layout: Layout, array: Any) -> Any:  # noqa: ANN401
    """A result that has its memory for itself."""
    torch = load_torch()
    found = _tensor(array)
    if layout.is_contiguous and found.is_contiguous() and not isinstance(array, torch.Tensor):
        return found
    place = torch.empty_strided(layout.shape, layout.strides, dtype=found.dtype)
    return _filled(place, layout, found)


def _part(storages: dict[int, Any], layout: Layout, array: Any) -> Any:  # noqa: ANN401
    """A result in memory that others have parts of, which is made with the first of them."""
    torch = load_torch()
    found = _tensor(array)
    if layout.storage not in storages:
        raw = torch.empty(layout.storage_bytes, dtype=torch.uint8)
        storages[layout.storage] = raw.untyped_storage()
    place = torch.empty(0, dtype=found.dtype)
    place.set_(storages[layout.storage], layout.offset, layout.shape, layout.strides)
    return _filled(place, layout, found)


def _filled(place: Any, layout: Layout, found: Any) -> Any:  # noqa: ANN401
    """A tensor with these elements; what an expanded one has once is written once."""
    once = tuple(slice(None) if stride else slice(0, 1) for stride in layout.strides)
    place[once].copy_(found[once])
    return place
