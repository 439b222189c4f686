"""Source to source: a C file with the marked regions replaced by their optimised form.

Everything outside the regions stays as it is, byte for byte; a region that is declined stays too,
with a remark that names the construct.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polyopt.codegen.ast.names import names_in
from polyopt.codegen.lower.host_names import HostNames
from polyopt.codegen.splice import Place, emit_in_place
from polyopt.errors import InvalidOptionError, PolyoptError, UserError, unexpected
from polyopt.frontend.c import read_source
from polyopt.frontend.c.regions.files import Declined, lower_regions
from polyopt.isl import budget
from polyopt.scheduler import auto

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from polyopt.frontend.c.regions.extract import RegionScop
    from polyopt.ir.scop import Scop
    from polyopt.source import Source
    from polyopt.transform.legality.proof import Proof
    from polyopt.transform.plan import Plan


_MARK = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+(end)?scop\b", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
#: a name that is not called
_VARIABLE = re.compile(r"\b[A-Za-z_]\w*\b(?!\s*\()")
#: isl operations that the search for a region's plan may take, and those that its code may: ten
#: times what the largest of real regions take. A file has many, and each is searched anew
SEARCH_OPERATIONS, CODE_OPERATIONS = 20_000_000, 20_000_000
#: ways of fusing loops
FUSIONS = ("output", "min", "smart", "max", "hybrid")


@dataclass(frozen=True)
class Rewriting:
    """What is asked of a rewriting.

    ``threads`` is a fixed number; without one OpenMP decides when the program runs. ``prove``
    says that a region whose plan is not proven stays as it is.
    """

    defines: Mapping[str, str | int] = field(default_factory=dict[str, "str | int"])
    includes: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    target: str = "native"
    tile: bool = True
    parallel: bool = True
    fuse: str = "output"
    threads: int | None = None
    prove: bool = False
    #: whether floating sums may be added up in any order
    reassociate: bool = False


@dataclass(frozen=True, eq=False)
class Rewritten:
    """One region: its plan and code, or the reason why it stays."""

    first: int
    last: int
    code: str = ""
    plan: Plan | None = None
    proof: Proof | None = None
    error: PolyoptError | None = None
    #: why some of its code is ordered as one statement, and not looked into
    reasons: tuple[UserError, ...] = ()


@dataclass(frozen=True, eq=False)
class RewrittenFile:
    """A file's new text, and what became of each region."""

    source: Source
    text: str
    regions: tuple[Rewritten, ...]

    @property
    def data(self) -> bytes:
        """The new text in the file's encoding."""
        return self.text.encode("utf-8", "surrogateescape")


def regions_in(
    file: str | Path, options: Rewriting
) -> tuple[Source, tuple[RegionScop | Declined, ...]]:
    """A file and the regions that are marked in it. Raises the errors of the C frontend."""
    source = read_source(file)
    return source, lower_regions(source, options.defines, options.includes)


def rewrite(file: str | Path, options: Rewriting | None = None) -> RewrittenFile:
    """The text of a C file with its marked regions optimised.

    Raises ``ProgramSyntaxError`` for a file that does not parse, or in which nothing is marked.
    """
    options = options or Rewriting()
    _check(options)
    source, regions = regions_in(file, options)
    lines = source.text.split("\n")
    taken = frozenset(names_in(source.text))
    _check_sizes(options.sizes, regions)
    done = tuple(_rewritten(region, lines, taken, options) for region in regions)
    for region in reversed(done):
        if region.error is None:
            lines[region.first - 1 : region.last] = [region.code]
    return RewrittenFile(source, "\n".join(lines), done)


def _check(options: Rewriting) -> None:
    if options.fuse not in FUSIONS:
        msg = f"{options.fuse!r} is no way of fusing loops"
        raise InvalidOptionError(msg, hint="there are: " + ", ".join(FUSIONS))


def _check_sizes(sizes: Mapping[str, int], regions: Sequence[RegionScop | Declined]) -> None:
    taken = [region for region in regions if not isinstance(region, Declined)]
    known = {name for region in taken for name in region.scop.params}
    for name in sizes:
        if taken and name not in known:
            msg = f"no region has a size {name!r}"
            hint = f"there are: {', '.join(sorted(known))}" if known else "they have none"
            raise InvalidOptionError(msg, hint=hint)


def has_marks(file: str | Path) -> bool:
    """Whether a file marks regions. Raises ``ProgramSyntaxError`` where it cannot be read."""
    return _MARK.search(read_source(file).text) is not None


def _rewritten(
    region: RegionScop | Declined, lines: Sequence[str], taken: frozenset[str], options: Rewriting
) -> Rewritten:
    if isinstance(region, Declined):
        return Rewritten(region.first, region.last, error=region.error)
    try:
        plan = plan_of(region.scop, options)
        proof = _proof(plan) if options.prove else None
        with budget(CODE_OPERATIONS, f"the C of {region.scop.name}"):
            code = _code(region, plan, lines, taken, options)
    except PolyoptError as error:
        return Rewritten(region.first, region.last, error=error)
    except Exception as error:  # noqa: BLE001  (a defect in one region leaves the others)
        return Rewritten(region.first, region.last, error=unexpected(error))
    return Rewritten(region.first, region.last, code, plan, proof, reasons=region.reasons)


def plan_of(scop: Scop, options: Rewriting) -> Plan:
    """The plan that the options ask for. Raises ``InvalidOptionError``."""
    from polyopt.scheduler.model.parameters import assumed_sizes

    given = {name: size for name, size in options.sizes.items() if name in scop.params}
    sizes = assumed_sizes(scop, None, given) | given
    return auto(
        scop, target=options.target, sizes=sizes, tile=options.tile, fusion=options.fuse,
        reassociate=options.reassociate, operations=SEARCH_OPERATIONS,
    )  # fmt: skip


def _proof(plan: Plan) -> Proof:
    return plan.prove()


def _code(
    region: RegionScop,
    plan: Plan,
    lines: Sequence[str],
    taken: frozenset[str],
    options: Rewriting,
) -> str:
    original = lines[region.first : region.last - 1]
    pragma = lines[region.first - 1]
    text = _COMMENT.sub(" ", "\n".join(lines))
    place = Place(
        HostNames(
            region.elements, region.sizes, region.types, region.folded, taken | region.reserved
        ),
        "\n".join(line.rstrip("\r") for line in original),
        region.needed,
        region.apart,
        pragma[: len(pragma) - len(pragma.lstrip())],
        region.macros,
        1 if not options.parallel else options.threads,
        frozenset(_VARIABLE.findall(text)),
    )
    code = emit_in_place(plan.program, place, _notes(plan)).rstrip("\n")
    return code.replace("\n", "\r\n") + "\r" if pragma.endswith("\r") else code


def _notes(plan: Plan) -> list[str]:
    moves = [str(move).removeprefix(".") for move in plan.moves]
    return [f"polyopt: {plan.scop.name}", *moves]
