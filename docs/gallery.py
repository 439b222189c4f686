"""Writes docs/gallery: every image pipeline on a photograph, what its stages keep, its loops.

``python docs/gallery.py [FOLDER] [KERNEL...]``

Plans and costs are those for the kernels' ``bench`` sizes on a machine that is written down below,
so that they are the same everywhere.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import polyopt as po
from polyopt.bench.runner import compute
from polyopt.cli.commands.running import sizes_of
from polyopt.cli.program import Program, load_program
from polyopt.cli.views.photo import colour_photograph
from polyopt.cli.views.pictures import image_of, inputs_from, picture_of, write_picture
from polyopt.codegen.target import target
from polyopt.explain import draw_windows
from polyopt.runtime.measuring.arguments import inputs_for
from polyopt.scheduler.model.cost import cost
from polyopt.scheduler.model.table import human_bytes
from polyopt.transform.schedule.identity import source_program

if TYPE_CHECKING:
    from polyopt.cli.views.pictures import Picture
    from polyopt.runtime.measuring.arguments import Values
    from polyopt.scheduler.model.cost import Cost
    from polyopt.transform.plan import Plan

FOLDER = Path(__file__).resolve().parent / "gallery"
#: the machine that plans and costs are for
MACHINE = replace(target("avx2"), cores=8)
#: pixels across a thumbnail
WIDTH = 240

#: kernel -> what the pictures show, what one sees best first
PIPELINES = {
    "camera_pipe": "The raw mosaic of a camera's sensor, developed. The mosaic is made from the "
    "photograph: the pipeline's colours and tones backwards, one colour kept per pixel.",
    "local_laplacian": "Local Laplacian filters make more of the details at every scale.",
    "pyramid_blend": "The photograph and its mirror image, blended over a pyramid of four levels.",
    "interpolate": "Colours between the one pixel in eight that is known, over a pyramid.",
    "bilateral_grid": "A bilateral grid smooths the image and keeps its edges.",
    "harris": "Harris corner detection; yellow squares are the corners it finds.",
    "unsharp": "Unsharp masking: what a Gaussian blur takes away, added once more.",
    "blur": "Box blur, 3 x 3, in two stages, on 12-bit pixels.",
    "blur_f32": "Box blur, 3 x 3, in two stages, on floats.",
    "stencil_chain": "32 windows of 5 x 5, one after the other, on 16 bits that wrap around. On "
    "the highest bit that is the exclusive or of nine copies, 64 pixels apart.",
}

_HEAD = """# Gallery

Each pipeline on one photograph, the portrait of Grace Hopper that comes with matplotlib: what goes
in, what comes out, what the stages keep while the fused loops run, the loops themselves, and what
they cost beside the unfused program. Plans and costs are for the sizes given, on a machine with
{l1} KiB of L1 and {l2} KiB of L2 cache per core, {cores} cores and vectors of {vector} bytes;
bytes moved are those between that L2 and memory, as the cost model counts them.

Made by `make gallery`. `polyopt run {first} photo.jpg -o out.png` takes any photograph.

::::{{grid}} 2 2 3 3
:gutter: 2

"""
#: a pipeline among the others: what comes out, and what fusing it brought
_CARD = """:::{{grid-item-card}} {name}
:img-top: {name}_out.{ending}
:link: "#{name}"

{share} of the bytes moved, {work} times the work
:::

"""
_SECTION = """
## {name}

{text} Sizes: {sizes}. Stages: {stages}.

![{name}: what goes in]({name}_in.jpg) ![{name}: what comes out]({name}_out.{ending})

![{name}: what each stage keeps]({name}.svg)

{costs}

```text
{plan}
```
"""


def main(folder: Path, names: list[str]) -> None:
    """Write the pictures of some pipelines, and the page of all that are named."""
    folder.mkdir(parents=True, exist_ok=True)
    cards: list[str] = []
    sections: list[str] = []
    for name in names:
        program = load_program(name)
        sizes = program.kernel.sizes["bench"] if program.kernel else {}
        plan = po.auto(program.scop, target=MACHINE, sizes=sizes)
        bill = cost(plan.program, sizes, MACHINE)
        (folder / f"{name}.svg").write_text(draw_windows(plan, sizes).svg, encoding="utf-8")
        ending = _pictures(program, plan, folder)
        unfused = cost(source_program(program.scop), sizes, MACHINE)
        cards.append(_card(name, bill, ending))
        sections.append(
            _SECTION.format(
                name=name, text=PIPELINES.get(name, ""), ending=ending, plan=plan,
                sizes=", ".join(f"{k} = {v}" for k, v in sizes.items()),
                costs=_costs(bill, unfused.intermediate_bytes), stages=_stages(bill, plan),
            )
        )  # fmt: skip
        print(f"{name}: done")
    head = _HEAD.format(
        l1=MACHINE.l1_bytes // 1024, l2=MACHINE.l2_bytes // 1024, cores=MACHINE.cores,
        vector=MACHINE.vector_bytes, first=names[0],
    )  # fmt: skip
    text = head + "".join(cards) + "::::\n" + "".join(sections)
    (folder / "index.md").write_text(text, encoding="utf-8")


def _pictures(program: Program, plan: Plan, folder: Path) -> str:
    """The thumbnails of what goes in and what comes out; the ending of the latter."""
    photo = colour_photograph(WIDTH)
    given = inputs_from(program, [photo])
    sizes = sizes_of(program, given, {})
    kernel = plan.compile()
    inputs = inputs_for(kernel, sizes, 0, program.kernel) | given
    after = picture_of(program, compute(kernel, inputs, sizes), inputs)
    write_picture(_before(program, photo, inputs), folder / f"{program.name}_in.jpg")
    # two tones make a small and exact PNG file
    ending = "png" if len(np.unique(after)) <= 2 else "jpg"
    write_picture(after, folder / f"{program.name}_out.{ending}")
    return ending


def _before(program: Program, photo: Picture, inputs: Values) -> Picture:
    """What goes in, as the kernel's file shows it; else the photograph, in grey or in colour."""
    own = getattr(program.kernel.module, "input_picture", None) if program.kernel else None
    if own is not None:
        return own(inputs)
    array = image_of([a for a in program.scop.arrays if a.is_live_in])
    if array is None or array.rank > 2:
        return photo
    return np.rint(photo @ [0.299, 0.587, 0.114]).astype(np.uint8)


def _card(name: str, bill: Cost, ending: str) -> str:
    share = bill.bytes_moved / bill.source_bytes_moved
    work = f"{bill.work_repeated:.2f}"
    return _CARD.format(name=name, ending=ending, share=f"{share:.0%}", work=work)


def _stages(bill: Cost, plan: Plan) -> str:
    """What becomes of the stages; an accumulator is one stage of several statements."""
    stages = {s.array for s in plan.scop.statements}
    inlined = len(plan.program.inlined)
    stored = sum(plan.scop.array(stage).is_live_out for stage in stages) + len(bill.stored)
    return f"{inlined} inlined, {len(stages) - inlined - stored} fused, {stored} stored in full"


def _costs(bill: Cost, between: int) -> str:
    """The bill as a table; ``between`` are bytes that the unfused program stores between stages."""
    rows = [
        ("bytes moved", bill.source_bytes_moved, bill.bytes_moved, human_bytes),
        ("of them inputs and results", bill.compulsory_bytes, bill.compulsory_bytes, human_bytes),
        ("operations", bill.source_operations, bill.operations, _thousands),
        ("stored in full between stages", between, bill.intermediate_bytes, human_bytes),
        ("buffers of one thread", 0, bill.scratch_bytes, human_bytes),
    ]
    lines = ["| | unfused | fused | ratio |", "|---|---|---|---|"]
    for title, one, other, show in rows:
        ratio = f"{other / one:.3f}" if one else ""
        lines.append(f"| {title} | {show(one)} | {show(other)} | {ratio} |")
    return "\n".join(lines)


def _thousands(number: float) -> str:
    return f"{number:,.0f}"


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0]) if given else FOLDER, given[1:] or list(PIPELINES))
