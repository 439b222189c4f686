"""The text of an explanation: remarks that say the same stand together, within 80 columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from polyopt.scheduler.model.table import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polyopt.transform.schedule.remark import Remark

WIDTH = 80
#: what a remark says beside its subject: kind, move, general reason, hint
Topic = tuple[str, str, str, str]
_UPDATES = " updates"
_AUXILIARIES = frozenset({"can", "cannot", "could", "would"})
#: how the names of numbers end that say what there is, beside what there could be
NOW = " now"
#: in a pair's text these stand apart, once for each stage
_INSTANCES = {f"{side} {what}" for side in ("producer", "consumer")
              for what in ("instances", "updates")}  # fmt: skip


def summary(
    title: str, pairs: Sequence[Remark], nests: Sequence[Remark], loops: Sequence[Remark]
) -> str:
    """What was done with producers, what else could have been, how nests and loops run."""
    lines = textwrap.wrap(title, WIDTH)
    done = [r for r in pairs if _is_done(r)]
    others = [r for r in pairs if not _is_done(r)]
    if done:
        counts = _counts(done)
        lines += ["", *textwrap.wrap(f"producers and consumers: {counts}", WIDTH)]
        lines += _groups(done)
        lines += _flow("  instances: ", _instances(done))
    if others:
        refused = any(r.kind != "applied" for r in others)
        lines += ["", "what was not done" if refused else "what is done"]
        lines += _groups(others)
    for name, remarks in (("nests", nests), ("loops", loops)):
        if remarks:
            lines += ["", name]
            lines += _groups(remarks)
    return "\n".join(lines)


def is_of_loop(remark: Remark) -> bool:
    """Whether a remark is about a loop of the plan: it then says how often that runs."""
    return "iterations" in remark.numbers


def _is_done(remark: Remark) -> bool:
    """Whether a remark on a pair says what the plan does: it then counts both sides."""
    return "producer instances" in remark.numbers


def _counts(done: Iterable[Remark]) -> str:
    """``5 inlined, 6 fused``: stages that others read, each by what the plan does with it."""
    moves: dict[str, str] = {}
    for remark in done:
        # a stage that some consumer reads from the array itself is stored in full
        known = moves.get(remark.subject)
        moves[remark.subject] = "root" if "root" in (known, remark.move) else remark.move
    named = {"inline": "inlined", "fuse": "fused", "root": "stored in full"}
    found = {name: sum(m == move for m in moves.values()) for move, name in named.items()}
    return ", ".join(f"{count} {name}" for name, count in found.items() if count)


def _instances(done: Iterable[Remark]) -> list[str]:
    """``gray 3,923,972``: how often each stage runs in the source."""
    found: dict[str, str] = {}
    for remark in done:
        for side, name in (("producer", remark.subject), ("consumer", remark.consumer)):
            text = f"{name} {remark.numbers[f'{side} instances']:,.0f}"
            more = remark.numbers.get(f"{side}{_UPDATES}")
            found[name] = text + (f" + {more:,.0f}{_UPDATES}" if more else "")
    return list(found.values())


def _groups(remarks: Iterable[Remark]) -> Iterator[str]:
    groups: dict[Topic, list[Remark]] = {}
    for remark in remarks:
        groups.setdefault(_topic(remark), []).append(remark)
    for (kind, move, reason, hint), members in groups.items():
        particulars = {_parts(r)[1] for r in members}
        shared = particulars.pop() if len(particulars) == 1 and len(members) > 1 else ""
        head = f"  {kind}, {move}: {reason}" + (f": {shared}" if shared else "")
        yield from textwrap.wrap(head, WIDTH, subsequent_indent="      ")
        yield from _members(members, shared)
        if hint:
            yield from _wrapped(f"hint: {hint}", "    ")


def _topic(remark: Remark) -> Topic:
    reason, _ = _parts(remark)
    return remark.kind, remark.move, reason, remark.hint


def _parts(remark: Remark) -> tuple[str, str]:
    """The general part of a reason, and what it says of this subject alone."""
    general, _, particular = remark.reason.partition(": ")
    for name, word in ((remark.subject, "it"), (remark.consumer, "its consumer")):
        if name and _is_of(name, general):
            general = word + general[len(name) :]
    return general, particular


def _is_of(name: str, sentence: str) -> bool:
    """Whether it begins with that name and a verb: ``a is live-out``, and not ``a nest``."""
    rest = sentence.removeprefix(f"{name} ")
    verb = rest.partition(" ")[0]
    return rest != sentence and (verb.endswith("s") or verb in _AUXILIARIES)


def _members(members: Sequence[Remark], shared: str) -> Iterator[str]:
    """The remarks of a group: a line for each that has much to say, the others in one list."""
    texts: dict[tuple[str, str], list[str]] = {}
    witnesses: dict[tuple[str, str], tuple[str, ...]] = {}
    listed = not any(r.witnesses or _has_much(r, shared) for r in members)
    for remark in members:
        particular = _parts(remark)[1]
        own = [particular] if particular and particular != shared else []
        key = remark.subject, _brief(remark) if listed else "; ".join(own + _numbers(remark))
        texts.setdefault(key, []).append(remark.consumer)
        witnesses[key] = tuple(map(str, remark.witnesses))
    if listed:
        # what is said of a producer's reads is the same for all that read it
        yield from _flow("    ", [f"{name} {said}".strip() for name, said in texts])
        return
    for key, consumers in texts.items():
        subject, said = key
        names = f" -> {', '.join(filter(None, consumers))}" if any(consumers) else ""
        yield from _wrapped(f"{subject}{names}" + (f": {said}" if said else ""), "    ")
        for witness in witnesses[key]:
            yield from _wrapped(f"witness: {witness}", "      ")


def _has_much(remark: Remark, shared: str) -> bool:
    """Whether a remark needs a line of its own: its consumers count, or what it says is long."""
    if not remark.consumer:
        return not is_of_loop(remark)
    if any(name.endswith(NOW) for name in remark.numbers):
        return True
    return _is_done(remark) or remark.move == "fuse" or _parts(remark)[1] not in {"", shared}


def _brief(remark: Remark) -> str:
    """The one number that counts in a list: iterations, times computed, bytes more.

    Which loop around it threads share, the plan says.
    """
    if is_of_loop(remark):
        width = f" by {remark.numbers['width']:.0f}" if "width" in remark.numbers else ""
        return f"{_number(remark.numbers.get('iterations', 0))}{width}"
    if remark.move == "inline" and "computed" in remark.numbers:
        times = remark.numbers["computed"]
        return "once" if times == 1 else f"{times:.3g} times"
    return "; ".join(_numbers(remark))


def _numbers(remark: Remark) -> list[str]:
    """The numbers of a remark that say something, with their units."""
    if is_of_loop(remark):
        return [f"{_number(v)} {k}" for k, v in remark.numbers.items()]
    if not remark.consumer:
        return [short_text(k, v) for k, v in remark.numbers.items()]
    if any(name.endswith(NOW) for name in remark.numbers):
        return list(beside(remark))
    return [
        short_text(name, value)
        for name, value in remark.numbers.items()
        if name not in _INSTANCES
        and (value or name == "computed")
        and not (name == "computed" and remark.move == "root")
    ]


def beside(remark: Remark) -> Iterator[str]:
    """``work 2 (now 1.01)``: the numbers of what could be, each with that of the plan; nothing
    where a remark says what is."""
    for name, value in remark.numbers.items():
        if name + NOW in remark.numbers:
            now = _amount(name, remark.numbers[name + NOW])
            yield f"{name.removesuffix(' bytes')} {_amount(name, value)} (now {now})"


def _amount(name: str, value: float) -> str:
    if "bytes" in name:
        return human_bytes(value)
    return f"{value:.4g}" if value < 1000 else _number(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3g}"


def short_text(name: str, value: float) -> str:
    """``12.8 MB saved``, ``computed 1.03 times``, ``18.4 KB scratch``, ``47 MB more``."""
    match name:
        case "computed":
            return "computed once" if value == 1 else f"computed {value:.3g} times"
        case "bytes saved" if value < 0:
            return f"{human_bytes(-value)} more"
        case "bytes saved":
            return f"{human_bytes(value)} saved"
        case "more bytes moved":
            return f"{human_bytes(value)} more"
        case "scratch bytes":
            return f"{human_bytes(value)} scratch"
        case _ if "bytes" in name:
            return f"{name} {human_bytes(value)}"
        case _:
            return f"{name} {_number(value)}"


def _flow(head: str, texts: Sequence[str]) -> list[str]:
    """Short texts in one paragraph; none is broken where it has room in a line."""
    lines: list[str] = []
    line = head
    for number, text in enumerate(texts):
        piece = text + ("," if number < len(texts) - 1 else "")
        if len(line) + len(piece) > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = "    "
        line += piece + " "
    return [*lines, line.rstrip()] if texts else []


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "    ")
