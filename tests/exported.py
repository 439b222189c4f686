"""What tests of exported files share: commands, and Python without polyopt."""

from __future__ import annotations

import subprocess
import sys


def run(command, **options):
    """A command, whatever it ends with, and what it printed."""
    return subprocess.run([str(w) for w in command], capture_output=True, check=False, **options)


def in_python(wheel, target, code):
    """What a process prints that has a wheel and NumPy, and no polyopt."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
    done = run([*pip, "--disable-pip-version-check", "--target", target, wheel], text=True)
    assert done.returncode == 0, done.stderr
    blocked = f"import sys; sys.modules['polyopt'] = None; sys.path.insert(0, {str(target)!r})\n"
    done = run([sys.executable, "-W", "error", "-c", blocked + code], text=True, cwd=target)
    assert done.returncode == 0, done.stderr
    return done.stdout


#: stands in for C++23's <mdspan>, with the standard's rules of which arrays become which
MDSPAN = """
#pragma once
#include <array>
#include <cstddef>
#include <limits>
namespace std {
template <class Index, size_t Rank> struct dextents { array<Index, Rank> values; };
template <class T, class Extents> class mdspan;
template <class T, class Index, size_t Rank> class mdspan<T, dextents<Index, Rank>> {
public:
    template <class... Sizes> explicit mdspan(T *data, Sizes... sizes) : data_(data), extents_{static_cast<Index>(sizes)...} { static_assert(sizeof...(Sizes) == Rank); }
    template <class U, class Other>
    explicit(numeric_limits<Index>::max() < numeric_limits<Other>::max())
    mdspan(const mdspan<U, dextents<Other, Rank>> &from) : data_(from.data_handle()) {
        for (size_t k = 0; k < Rank; k++) extents_[k] = static_cast<Index>(from.extent(k));
    }
    static constexpr size_t rank() noexcept { return Rank; }
    Index extent(size_t k) const { return extents_[k]; }
    T *data_handle() const { return data_; }
    size_t size() const { size_t n = 1; for (Index e : extents_) n *= static_cast<size_t>(e); return n; }
private:
    T *data_;
    array<Index, Rank> extents_;
};
}
"""
