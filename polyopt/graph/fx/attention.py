"""Converter of scaled dot-product attention: products, a mask and a softmax, which fuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.fx.call import converts

if TYPE_CHECKING:
    from polyopt.graph.fx.call import Call


@converts("scaled_dot_product_attention")
def _attention(call: Call) -> None:
    """``softmax(q k' scale + mask) v`` (A. Vaswani et al., 2017)."""
    if call["dropout_p"] or call.arguments.get("enable_gqa", False):
        raise call.unsupported("dropout_p and enable_gqa are not taken")
    q, k = call.value("query"), call.value("key")
    rank, kind = len(k.shape), q.dtype.numpy_name
    turned = call.step("transpose", [call.tensor("key")],
                       perm=(*range(rank - 2), rank - 1, rank - 2))  # fmt: skip
    scale = call.arguments.get("scale")
    factor = call.constant(np.array(q.shape[-1] ** -0.5 if scale is None else scale, kind))
    products = call.step("matmul", [call.step("mul", [call.tensor("query"), factor]), turned])
    scores = _masked(call, products, q.shape[-2], k.shape[-2])
    weights = call.step("softmax", [scores], axis=-1)
    if call.optional("attn_mask"):  # a row of which nothing is seen gives 0
        most = call.step("reduce_max", [scores], axes=(-1,), keepdims=1)
        none = call.step("equal", [most, call.constant(np.array(-np.inf, kind))])
        weights = call.step("where", [none, call.constant(np.array(0.0, kind)), weights])
    call.define("matmul", [weights, call.tensor("value")])


def _masked(call: Call, products: str, rows: int, columns: int) -> str:
    """The products, minus infinity where a key is not to be seen."""
    kind = call.value("query").dtype.numpy_name
    hidden = call.constant(np.array(-np.inf, kind))
    mask = call.optional("attn_mask")
    if call["is_causal"]:
        if mask:
            raise call.unsupported("a mask beside is_causal is not taken")
        seen = call.constant(np.tril(np.ones((rows, columns), bool)))
        return call.step("where", [seen, products, hidden])
    if not mask:
        return products
    if call.importer.values[mask].dtype.name == "bool":
        return call.step("where", [mask, products, hidden])
    return call.step("add", [products, mask])
