// Read-only arrays that another object owns, for example a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graticule::networks {

template <typename T>
struct Span {
  const T* data = nullptr;
  size_t size = 0;

  Span() = default;
  Span(const T* first, size_t count) : data(first), size(count) {}
  Span(const std::vector<T>& values) : data(values.data()), size(values.size()) {}
  const T& operator[](size_t i) const { return data[i]; }
  const T* begin() const { return data; }
  const T* end() const { return data + size; }
};

constexpr uint32_t kNone = UINT32_MAX;

}  // namespace graticule::networks
