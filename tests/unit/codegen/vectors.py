"""Flags for C that says what it does by the instructions that a processor has."""

from __future__ import annotations

import platform

#: this machine's vectors, its shorter ones, and the architecture's least
FLAGS = {"native": ["-march=native"], "plain": []}
if platform.machine() in {"x86_64", "AMD64"}:
    FLAGS["halves"] = ["-march=native", "-mno-avx512f"]
