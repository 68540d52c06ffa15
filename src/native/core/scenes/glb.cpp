#include "glb.h"

#include "../values/number.h"

namespace graticule {
namespace {

constexpr uint32_t kMagic = 0x46546C67;
constexpr uint32_t kVersion = 2;
constexpr uint32_t kJsonChunk = 0x4E4F534A;
constexpr uint32_t kBinaryChunk = 0x004E4942;
constexpr size_t kAlignment = 8;

void pad(ByteBuffer& buffer, char with, size_t from, size_t alignment) {
  while ((buffer.size() - from) % alignment != 0) buffer.push(static_cast<uint8_t>(with));
}

}  // namespace

void appendText(ByteBuffer& out, std::string_view text) { out.append(text.data(), text.size()); }

void appendInteger(ByteBuffer& out, int64_t value) { out.commit(putInteger(out.reserve(kMaxNumberSize), value)); }

void appendNumber(ByteBuffer& out, double value) { out.commit(putShortest(out.reserve(kMaxNumberSize), value)); }

void GlbWriter::clear() {
  bytes_.clear();
  views_.clear();
  count_ = 0;
}

void GlbWriter::beginView() {
  pad(bytes_, 0, 0, kAlignment);
  start_ = bytes_.size();
}

uint32_t GlbWriter::endView(Target target, uint32_t stride) {
  if (count_ != 0) views_.push(',');
  appendText(views_, "{\"buffer\":0,\"byteOffset\":");
  appendInteger(views_, static_cast<int64_t>(start_));
  appendText(views_, ",\"byteLength\":");
  appendInteger(views_, static_cast<int64_t>(bytes_.size() - start_));
  if (stride != 0) {
    appendText(views_, ",\"byteStride\":");
    appendInteger(views_, stride);
  }
  if (target != Target::None) {
    appendText(views_, ",\"target\":");
    appendInteger(views_, static_cast<int64_t>(target));
  }
  views_.push('}');
  return count_++;
}

void GlbWriter::finish(std::string_view json, ByteBuffer& out) {
  out.clear();
  pad(bytes_, 0, 0, kAlignment);
  const auto word = [&](uint32_t value) { out.append(&value, sizeof value); };
  const auto setWord = [&](size_t at, size_t value) {
    const auto size = static_cast<uint32_t>(value);
    std::memcpy(out.data() + at, &size, sizeof size);
  };
  word(kMagic);
  word(kVersion);
  word(0);
  word(0);
  word(kJsonChunk);
  const size_t start = out.size();
  out.push('{');
  appendText(out, json);
  if (!bytes_.empty()) {
    appendText(out, ",\"buffers\":[{\"byteLength\":");
    appendInteger(out, static_cast<int64_t>(bytes_.size()));
    appendText(out, "}],\"bufferViews\":[");
    out.append(views_.data(), views_.size());
    out.push(']');
  }
  out.push('}');
  // The binary chunk starts at a multiple of 8 in the file: its header has 8 bytes.
  pad(out, ' ', 0, kAlignment);
  setWord(start - 8, out.size() - start);
  if (!bytes_.empty()) {
    word(static_cast<uint32_t>(bytes_.size()));
    word(kBinaryChunk);
    out.append(bytes_.data(), bytes_.size());
  }
  setWord(8, out.size());
}

}  // namespace graticule
