#include "isa.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels.hpp"
#include "rows.hpp"

namespace tastemix {
namespace {

struct Isa {
    const char* name;
    Kernels (*kernels)(int rank);
};

std::vector<Isa> detect() {
    std::vector<Isa> found{{"plain", kernels_plain}};
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2) found.push_back({"avx2", kernels_avx2});
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        found.push_back({"avx512", kernels_avx512});
#endif
    return found;
}

const std::vector<Isa>& isas() {
    static const std::vector<Isa> found = detect();
    return found;
}

const Isa* in_use = nullptr;

}  // namespace

std::vector<std::string> available_isas() {
    std::vector<std::string> names;
    for (const Isa& isa : isas()) names.push_back(isa.name);
    return names;
}

std::string current_isa() { return (in_use ? *in_use : isas().back()).name; }

void use_isa(const std::string& name) {
    const auto found = std::find_if(isas().begin(), isas().end(), [&](const Isa& isa) { return isa.name == name; });
    if (found == isas().end()) throw std::invalid_argument(name);
    in_use = &*found;
}

Kernels kernels_for(int rank) { return (in_use ? *in_use : isas().back()).kernels(rank); }

}  // namespace tastemix
