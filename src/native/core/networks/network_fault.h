// Reason why edges cannot become a network, or why a file is not one.
#pragma once

#include <string>

namespace graticule::networks {

struct NetworkFault {
  std::string message;
};

}  // namespace graticule::networks
