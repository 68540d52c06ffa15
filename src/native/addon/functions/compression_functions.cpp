// Compression on another thread: gzip by libdeflate, Zstandard for complete data and in parts.
#include "../../core/deflate/zstd.h"
#include "../job.h"

namespace graticule::addon {
namespace {

constexpr int kLeastLevel = -7;
constexpr int kMostLevel = 19;
/** Levels above take tens of megabytes, which no thread keeps. */
constexpr int kMostKeptLevel = 9;

class BytesJob : public Job {
 public:
  napi_value result(napi_env env) override { return toBuffer(env, out_.data(), out_.size()); }

 protected:
  ByteBuffer out_;
};

class GzipJob : public BytesJob {
 public:
  GzipJob(const uint8_t* data, size_t size, int level) : data_(data), size_(size), level_(level) {}
  void run() override {
    static thread_local CompressorCache compressors;
    compressors.gzip(data_, size_, level_, out_);
  }

 private:
  const uint8_t* data_;
  size_t size_;
  int level_;
};

class ZstdJob : public BytesJob {
 public:
  ZstdJob(const uint8_t* data, size_t size, int level, int windowLog)
      : data_(data), size_(size), level_(level), windowLog_(windowLog) {}
  void run() override {
    if (level_ > kMostKeptLevel || windowLog_ != 0) return ZstdEncoder(level_, windowLog_).frame(data_, size_, out_);
    static thread_local std::unique_ptr<ZstdEncoder> encoder;
    static thread_local int level = 0;
    if (encoder == nullptr || level != level_) encoder = std::make_unique<ZstdEncoder>(level = level_, 0);
    encoder->frame(data_, size_, out_);
  }

 private:
  const uint8_t* data_;
  size_t size_;
  int level_;
  int windowLog_;
};

/** Approximate memory of an encoder, half of which is a window of 256 KiB. */
constexpr int64_t kStreamBytes = 1 << 20;

/** Frame that is written in parts, one part at a time. Its encoder exists until the frame ends. */
struct ZstdStream : Accounted {
  std::unique_ptr<ZstdEncoder> encoder;
  bool isBusy = false;

  void account(napi_env env, int64_t more) {
    int64_t all;
    if (napi_adjust_external_memory(env, more, &all) == napi_ok) bytes += more;
  }
};

class PartJob : public BytesJob {
 public:
  PartJob(ZstdStream& stream, const uint8_t* data, size_t size, ZSTD_EndDirective directive)
      : stream_(stream), data_(data), size_(size), directive_(directive) {
    stream_.isBusy = true;
  }
  void run() override { stream_.encoder->write(data_, size_, directive_, out_); }
  napi_value result(napi_env env) override {
    stream_.isBusy = false;
    if (directive_ == ZSTD_e_end) {
      stream_.encoder.reset();
      stream_.account(env, -stream_.bytes);
    }
    return BytesJob::result(env);
  }

 private:
  ZstdStream& stream_;
  const uint8_t* data_;
  size_t size_;
  ZSTD_EndDirective directive_;
};

void inflate(const uint8_t* data, size_t size, size_t maxBytes, ByteBuffer& out) {
  switch (graticule::unzstd(data, size, maxBytes, out)) {
    case Inflation::done: return;
    case Inflation::damaged: throw Failure{"damaged zstd data", false};
    case Inflation::tooLarge: throw Failure{"too much zstd data", false, {}, kTooLarge};
  }
}

class UnzstdJob : public BytesJob {
 public:
  UnzstdJob(const uint8_t* data, size_t size, size_t maxBytes) : data_(data), size_(size), maxBytes_(maxBytes) {}
  void run() override { inflate(data_, size_, maxBytes_, out_); }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t maxBytes_;
};

struct Bytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

Bytes requireBytes(napi_env env, napi_value value) {
  Bytes bytes;
  if (!bytesOf(env, value, bytes.data, bytes.size)) throw Failure{"the data must be a Uint8Array", true};
  return bytes;
}

int requireLevel(napi_env env, napi_value value, int least, int most) {
  const double level = requireNumber(env, value, "level");
  if (!(level >= least && level <= most) || level != static_cast<int>(level)) throw Failure{"level is out of range", true};
  return static_cast<int>(level);
}

/** 0: as the level has it. */
int requireWindow(napi_env env, napi_value value) {
  const auto log = static_cast<int>(requireWhole(env, value, "windowLog", 0, kZstdWindowLog));
  if (log != 0 && log < 10) throw Failure{"windowLog is out of range", true};
  return log;
}

size_t requireMost(napi_env env, napi_value value) {
  return requireWhole(env, value, "maxBytes", 0, ByteBuffer::kMaxSize - 1);
}

}  // namespace

/**
 * (bytes: Uint8Array, coding: gzip or zstd, level, windowLog) -> Promise. The bytes must not change until it settles.
 */
napi_value compressBytes(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  const auto [data, size] = requireBytes(env, arguments[0]);
  const std::string coding = requireText(env, arguments[1], "coding");
  if (coding == "gzip") {
    const int level = requireLevel(env, arguments[2], 0, 12);
    return start(env, std::make_unique<GzipJob>(data, size, level), arguments[0]);
  }
  if (coding != "zstd") throw Failure{"coding must be gzip or zstd", true};
  const int level = requireLevel(env, arguments[2], kLeastLevel, kMostLevel);
  return start(env, std::make_unique<ZstdJob>(data, size, level, requireWindow(env, arguments[3])), arguments[0]);
}

/** (level, windowLog) -> a frame that is written in parts. */
napi_value createZstdStream(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const int level = requireLevel(env, arguments[0], kLeastLevel, kMostLevel);
  auto stream = std::make_unique<ZstdStream>();
  stream->encoder = std::make_unique<ZstdEncoder>(level, requireWindow(env, arguments[1]));
  stream->account(env, kStreamBytes);
  return toExternal(env, std::move(stream));
}

/**
 * (stream, bytes, directive: 0 continue, 1 flush, 2 end) -> Promise of the available output. Only one call at a time.
 */
napi_value writeZstdStream(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  auto& stream = requireExternal<ZstdStream>(env, arguments[0], "stream");
  const auto [data, size] = requireBytes(env, arguments[1]);
  const auto directive = static_cast<ZSTD_EndDirective>(requireWhole(env, arguments[2], "directive", 0, 2));
  if (stream.isBusy) throw Failure{"the stream is busy", false};
  if (stream.encoder == nullptr) throw Failure{"the stream has ended", false};
  napi_value held;
  check(napi_create_array_with_length(env, 2, &held));
  check(napi_set_element(env, held, 0, arguments[0]));
  check(napi_set_element(env, held, 1, arguments[1]));
  return start(env, std::make_unique<PartJob>(stream, data, size, directive), held);
}

/** (bytes: zstd frames, maxBytes) -> their contents. Fails for damaged bytes, and for more than maxBytes. */
napi_value unzstd(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const auto [data, size] = requireBytes(env, arguments[0]);
  ByteBuffer out;
  inflate(data, size, requireMost(env, arguments[1]), out);
  return toBuffer(env, out.data(), out.size());
}

/** Same as unzstd on another thread: Promise. */
napi_value unzstdLater(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const auto [data, size] = requireBytes(env, arguments[0]);
  return start(env, std::make_unique<UnzstdJob>(data, size, requireMost(env, arguments[1])), arguments[0]);
}

}  // namespace graticule::addon
