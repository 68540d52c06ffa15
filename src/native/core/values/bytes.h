// Raw bytes: unaligned loads and the one growing buffer that every encoder writes into.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace graticule {

template <typename T>
inline T loadNative(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

/**
 * A growing byte buffer that never zero-fills. Writers reserve the most they may need, write through the bare
 * pointer and commit the end, so that hot loops carry no capacity checks. Throws std::bad_alloc.
 */
class ByteBuffer {
 public:
  /** Maximum size: SQLite's maximum for one value, and far below the needs of any client. */
  static constexpr size_t kMaxSize = 1'000'000'000;

  ByteBuffer() = default;
  ByteBuffer(const ByteBuffer&) = delete;
  ByteBuffer& operator=(const ByteBuffer&) = delete;
  ~ByteBuffer() { std::free(data_); }

  const uint8_t* data() const { return data_; }
  uint8_t* data() { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  void truncate(size_t size) { size_ = size; }

  /** Room for `extra` more bytes; returns where to write them. */
  uint8_t* reserve(size_t extra) {
    if (extra > capacity_ - size_) grow(extra);
    return data_ + size_;
  }
  /** Ends a write that started with reserve(). `end` is one past the last written byte. */
  void commit(const uint8_t* end) { size_ = static_cast<size_t>(end - data_); }

  void append(const void* bytes, size_t n) {
    uint8_t* p = reserve(n);
    if (n != 0) std::memcpy(p, bytes, n);
    size_ += n;
  }
  template <size_t N>
  void appendLiteral(const char (&text)[N]) {
    append(text, N - 1);
  }
  void push(uint8_t byte) {
    *reserve(1) = byte;
    ++size_;
  }

  /** Appends a number as in Protocol Buffers: seven bits per byte, the lowest first. */
  void pushVarint(uint64_t v) {
    uint8_t* p = reserve(10);
    for (; v >= 0x80; v >>= 7) *p++ = static_cast<uint8_t>(v | 0x80);
    *p++ = static_cast<uint8_t>(v);
    commit(p);
  }

  /** Frees memory if one huge result has left a capacity of more than `keep` bytes. */
  void shrink(size_t keep) {
    if (capacity_ <= keep) return;
    std::free(data_);
    data_ = nullptr;
    size_ = capacity_ = 0;
  }

 private:
  void grow(size_t extra) {
    if (extra > kMaxSize || size_ > kMaxSize - extra) throw std::bad_alloc();
    size_t capacity = capacity_ < 512 ? 1024 : capacity_ * 2;
    if (capacity < size_ + extra) capacity = size_ + extra;
    auto* data = static_cast<uint8_t*>(std::realloc(data_, capacity));
    if (data == nullptr) throw std::bad_alloc();
    data_ = data;
    capacity_ = capacity;
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace graticule
