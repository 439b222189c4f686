"""What people ask of a kernel: what it is, what the C compiler made of it, and why.

Reasons and pictures are made by ``polyopt.explain``; these are the named exceptions to the layers,
because people expect them on the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from polyopt.arguments import checks_methods
from polyopt.runtime.reports.vector_loops import facts
from polyopt.transform.legality.parallel import Obligation
from polyopt.transform.legality.proof import Proof

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.explain.remarks.explanation import Explanation
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.reports.vector_loops import VectorLoops


@checks_methods
class KernelQuestions:
    """The questions that a kernel answers without running."""

    def _asked(self) -> Kernel:
        return cast("Kernel", self)

    @property
    def proof(self) -> Proof:
        """What was shown of the plan, and of the C text that was compiled."""
        plan = self._asked().plan
        shown = plan.prove().obligations if plan else ()
        return Proof((*shown, Obligation("code", self.checked)))

    @property
    def checked(self) -> str:
        """What was shown of the C text; where it is still being checked, this waits.

        Raises ``WrongCodeError`` where the C computes something else than its program.
        """
        built = self._asked().built
        return built.pending.result() if built.pending else built.checked

    @property
    def vector_loops(self) -> VectorLoops:
        """What the C compiler made of each loop that is marked as a vector loop; a table."""
        kernel = self._asked()
        return facts(kernel.program.vector_loops, kernel.built.report)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know about this build, such as a compiler without OpenMP, or a vector loop that
        the compiler made no vectors of, and arrays that calls had to copy."""
        kernel = self._asked()
        missed = map(str, self.vector_loops.missed)
        return (*kernel.built.remarks, *missed, *kernel.views.copies.values())

    def explain(
        self, subject: str | None = None, *, sizes: Mapping[str, int] | None = None
    ) -> Explanation:
        """The reasons of the plan, as ``Plan.explain`` has them, and those of the C compiler for
        vector loops that it made no vectors of. A kernel without a plan has the latter alone.

        Raises ``UnknownNameError`` where nothing is called ``subject``.
        """
        from polyopt.explain.remarks.compiled import explain_kernel

        return explain_kernel(self._asked(), sizes, subject)

    def __repr__(self) -> str:
        """The prototype, and which arguments a call takes."""
        kernel = self._asked()
        takes = ", ".join(kernel.positional)
        return f"<Kernel {kernel.name}({takes}): {kernel.program.prototype}>"

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import kernel_html

        return kernel_html(self._asked())
