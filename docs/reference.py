"""The API reference as a page: every public name, from its own docstring."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import polyopt
from polyopt import bench, explain, graph
from polyopt.analysis.dependences import Dependences
from polyopt.runtime.kernel import Kernel
from polyopt.scale import Cut, Update
from polyopt.scheduler.model.cost import Cost
from polyopt.transform.legality.proof import Proof

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """# API reference

Every public name with its signature, from the docstrings; `python docs/build.py update` makes
this page. `po.errors` are in the [error index](errors.md),
what `po.graph` is for in [networks](networks.md), words are in the [glossary](glossary.md).
"""
#: classes whose methods are listed, by the name that they are shown under
CLASSES = {
    "Scop": polyopt.Scop, "Plan": polyopt.Plan, "Dependences": Dependences, "Cost": Cost,
    "Proof": Proof, "Kernel": Kernel, "Cut": Cut, "Update": Update,
    "Explanation": explain.Explanation,
    "Alternatives": explain.Alternatives, "Tradeoff": explain.Tradeoff,
    "Provenance": explain.Provenance, "Difference": explain.Difference,
    "Picture": explain.Picture, "Animation": explain.Animation, "Model": graph.Model,
    "Graph": graph.Graph, "NetworkExplanation": graph.NetworkExplanation, "Results": bench.Results,
}  # fmt: skip


def page() -> str:
    """The page as Markdown."""
    parts = [HEAD, "## polyopt\n", *_names(), "## Classes\n", *_classes()]
    for module in (explain, graph, bench):
        parts.append(f"## {module.__name__}\n")
        parts += [
            _entry(name, getattr(module, name), f"{module.__name__.rpartition('.')[2]}.")
            for name in module.__all__
            if name not in CLASSES and callable(getattr(module, name))
        ]
    return "\n".join(parts)


def _names() -> Iterator[str]:
    for name in sorted(polyopt.__all__, key=str.lower):
        value = getattr(polyopt, name)
        if name == "errors" or name in CLASSES:
            continue
        if inspect.isfunction(value) or inspect.isclass(value):
            yield _entry(name, value, "po.")
    types = [n for n in polyopt.__all__ if re.fullmatch(r"b?[fiu]\d+|boolean", n)]
    yield "**element types**: " + ", ".join(f"`po.{n}`" for n in types) + "\n"


def _classes() -> Iterator[str]:
    for name, cls in CLASSES.items():
        yield f"### {name}\n\n{_text(cls)}\n"
        for attribute in dir(cls):
            value = inspect.getattr_static(cls, attribute)
            if attribute.startswith("_") or _is_field(cls, attribute):
                continue
            function = getattr(value, "__func__", getattr(value, "func", value))
            if isinstance(value, property):
                yield f"**`.{attribute}`**: {_text(value.fget)}\n"
            elif inspect.isfunction(function):
                is_property = hasattr(value, "func")
                signature = "" if is_property else _signature(function)
                yield f"**`.{attribute}{signature}`**: {_text(function)}\n"


def _is_field(cls: type, name: str) -> bool:
    return name in getattr(cls, "__dataclass_fields__", {})


def _entry(name: str, value: object, before: str) -> str:
    signature = _signature(value) if inspect.isfunction(value) else ""
    return f"**`{before}{name}{signature}`**: {_text(value)}\n"


def _signature(function: object) -> str:
    """The parameters with defaults; what is annotated is said by the docstring."""
    try:
        found = inspect.signature(function)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
    kept = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in found.parameters.values()
        if p.name not in {"self", "cls"}
    ]
    plain = found.replace(parameters=kept, return_annotation=inspect.Signature.empty)
    return re.sub(r"<object object at [^>]*>", "...", str(plain))


def _text(value: object) -> str:
    """A docstring as one paragraph of Markdown, its literals in Markdown's way."""
    text = inspect.getdoc(value) or ""
    text = re.sub(r"::\n\n((?:    .*\n?|\n)+)", _code, text)
    return re.sub(r"(?<!`)``([^`]+)``(?!`)", r"`\1`", text).strip()


def _code(found: re.Match[str]) -> str:
    return f":\n\n```python no-run\n{inspect.cleandoc(found[1])}\n```\n\n"
