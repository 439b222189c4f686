/* $title, for C++20: arrays are spans, and what $name.h returns a status for is thrown. */
#ifndef ${guard}_HPP
#define ${guard}_HPP

#include <cstdint>
#include <span>
#include <stdexcept>

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
$body
}

#endif
