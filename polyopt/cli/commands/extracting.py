"""``scop``: what the frontend takes a C file to mean, in isl's notation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import click

from polyopt.cli.commands.rewriting import is_marked_file
from polyopt.cli.options import json_option, reading_options
from polyopt.cli.output import print_json, text
from polyopt.ir.scop import tagged
from polyopt.ir.show import expr_text
from polyopt.isl import union_all

if TYPE_CHECKING:
    from polyopt.errors import PolyoptError
    from polyopt.ir.scop import Array, Scop, Statement
    from polyopt.library import Reading


@click.command(short_help="Print what FILE means, as sets and relations.")
@click.argument("program", metavar="FILE")
@reading_options
@json_option
def scop(program: str, reading: Reading, *, as_json: bool) -> None:
    """Print context, domains, tagged accesses and schedule of FILE in isl's notation, as YAML.

    One document for each marked region of a C file; of other programs the whole is one.
    """
    found = _documents(program, reading)
    document = {"file": program, "scops": found}
    if as_json:
        print_json(document)
    else:
        text("\n".join(_yaml(document)))


def _documents(program: str, reading: Reading) -> list[dict[str, object]]:
    """One per region. Raises the error of a region where none of them can be taken."""
    from polyopt.cli.program import load_program
    from polyopt.frontend.c.regions.files import Declined
    from polyopt.rewrite import Rewriting, regions_in

    is_one = reading.function is not None or reading.region is not None
    if is_one or not is_marked_file(program):
        return [as_document(load_program(program, reading).scop)]
    _, regions = regions_in(program, Rewriting(reading.defines, reading.includes))
    declined = [region.error for region in regions if isinstance(region, Declined)]
    if len(declined) == len(regions):
        raise declined[0]
    return [
        {"lines": [region.first, region.last], **_declined(region.error)}
        if isinstance(region, Declined)
        else {"lines": [region.first, region.last], **as_document(region.scop)}
        for region in regions
    ]


def _declined(error: PolyoptError) -> dict[str, object]:
    return {"declined": _message(error)}


def _message(error: PolyoptError) -> str:
    place = f"{error.diagnostic.span}: " if error.diagnostic.span else ""
    return f"{place}{error.code}: {error.diagnostic.message}"


def as_document(scop: Scop) -> dict[str, object]:
    """A program as sets and relations, in isl's notation.

    ``reads`` and the writes are tagged: ``{ [S[i] -> ref[]] -> A[x] }``. A write that may leave
    its element as it was is a may-write.
    """
    writes = [(statement, tagged(statement.write)) for statement in scop.statements]
    must = union_all(relation for s, relation in writes if s.write.exact)
    may = union_all(relation for s, relation in writes if not s.write.exact)
    return {
        "function": scop.name,
        "context": str(scop.context.coalesce()),
        "domain": str(scop.domain.coalesce()),
        "schedule": str(scop.schedule.coalesce()),
        "reads": str(scop.reads.coalesce()),
        "must_writes": str(must.intersect_params(scop.context).coalesce()),
        "may_writes": str(may.intersect_params(scop.context).coalesce()),
        "arrays": [_array(array, scop) for array in scop.arrays],
        "statements": [_statement(statement, scop) for statement in scop.statements],
    }


def _array(array: Array, scop: Scop) -> dict[str, object]:
    return {
        "extent": str(array.elements(scop.params)),
        "element_type": array.type.c_name,
        "element_size": array.type.bytes,
        "live_in": array.is_live_in,
        "live_out": array.is_live_out,
    }


def _statement(statement: Statement, scop: Scop) -> dict[str, object]:
    return {
        "line": statement.span.line if statement.span else 0,
        "domain": str(statement.domain.intersect_params(scop.context).coalesce()),
        "writes": str(tagged(statement.write).intersect_params(scop.context)),
        "reads": [str(tagged(a).intersect_params(scop.context)) for a in statement.reads],
        "body": expr_text(statement.value, statement.iterators),
    }


def _yaml(value: dict[str, Any], indent: str = "") -> list[str]:
    """Mappings and lists as YAML's blocks; texts as JSON's, which YAML reads alike."""
    lines: list[str] = []
    for key, part in value.items():
        if isinstance(part, list) and part and isinstance(part[0], (dict, str)):
            lines.append(f"{indent}{key}:")
            for item in cast("list[Any]", part):
                lines += _item(item, indent + "  ")
        else:
            lines.append(f"{indent}{key}: {json.dumps(part, ensure_ascii=False)}")
    return lines


def _item(item: dict[str, Any] | str, indent: str) -> list[str]:
    if isinstance(item, str):
        return [f"{indent}- {json.dumps(item, ensure_ascii=False)}"]
    first, *rest = _yaml(item, indent + "  ")
    return [f"{indent}- {first.strip()}", *rest]
