"""Networks: graphs of operators, rewritten by passes, fused by policy, compiled to kernels."""

from polyopt.graph.compiling import compile_graph, compile_model
from polyopt.graph.execution.model import Model
from polyopt.graph.fusion.in_place import in_place
from polyopt.graph.fusion.policy import Fusion, choose_groups
from polyopt.graph.fx import from_torch
from polyopt.graph.ir.graph import Graph, Node, Value, attributes, same_graph
from polyopt.graph.ir.verify import verify
from polyopt.graph.onnx import load_onnx, onnx_operators
from polyopt.graph.operators import (
    Maker,
    Result,
    Tensor,
    forget,
    operator,
    result_of,
    supported,
)
from polyopt.graph.passes import DEFAULT_PASSES, default_passes, run_passes
from polyopt.graph.quantize import Quantized, quantize
from polyopt.graph.reasons import NetworkExplanation, explain_network
from polyopt.graph.save import save_onnx

__all__ = [
    "DEFAULT_PASSES",
    "Fusion",
    "Graph",
    "Maker",
    "Model",
    "NetworkExplanation",
    "Node",
    "Quantized",
    "Result",
    "Tensor",
    "Value",
    "attributes",
    "choose_groups",
    "compile_graph",
    "compile_model",
    "default_passes",
    "explain_network",
    "forget",
    "from_torch",
    "in_place",
    "load_onnx",
    "onnx_operators",
    "operator",
    "quantize",
    "result_of",
    "run_passes",
    "same_graph",
    "save_onnx",
    "supported",
    "verify",
]  # fmt: skip
