// Which instruction sets this processor has, and which one is in use.
#pragma once
#include <string>
#include <vector>

namespace tastemix {

std::vector<std::string> available_isas();     // the widest last
std::string current_isa();
void use_isa(const std::string& name);         // throws std::invalid_argument for one not available

}  // namespace tastemix
