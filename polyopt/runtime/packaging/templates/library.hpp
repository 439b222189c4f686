/* $title, for C++20: arrays are spans, or std::mdspan where that is there, and what $name.h returns
   a status for is thrown. */
#ifndef ${guard}_HPP
#define ${guard}_HPP

#if __cplusplus < 202002L
#error "$name.hpp needs C++20: -std=c++20, or set(CMAKE_CXX_STANDARD 20). $name.h needs no standard of C++"
#else

#include <cstdint>
#include <span>
#include <stdexcept>
#include <version>
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

#include "$name.h"

namespace $space {

/* What went wrong, with its status. */
class error : public std::runtime_error {
public:
    explicit error(int found) : std::runtime_error(${name}_message(found)), number(found) {}
    int status() const noexcept { return number; }

private:
    int number;
};

inline void check(int status) {
    if (status) {
        throw error(status);
    }
}

#ifdef __cpp_lib_mdspan
template <class Array> void check_shape(int array, const std::int64_t *sizes, const Array &given) {
    std::int64_t extents[Array::rank()];
    check(${name}_shape(array, sizes, extents));
    for (std::size_t axis = 0; axis < Array::rank(); axis++) {
        if (given.extent(axis) != static_cast<std::size_t>(extents[axis])) {
            throw error(${guard}_BAD_COUNT);
        }
    }
}
#endif
$body
}

#endif
#endif
