// A page of features from the rows of a statement.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../core/values/bytes.h"
#include "../../core/values/pg_values.h"
#include "../../core/geometry/reprojector.h"
#include "pg_connection.h"

namespace graticule::addon {

/** Writes features of one format one after the other. */
class FeatureWriter {
 public:
  virtual ~FeatureWriter() = default;
  /** Starts over. False, and a sentence in `error`, for options that cannot be used. */
  virtual bool begin(std::string_view options, ReprojectorCache& reprojectors, std::string& error) = 0;
  virtual void beginFeature(const Value& id, const uint8_t* blob, size_t size) = 0;
  virtual void property(size_t field, const Value& value) = 0;
  virtual void endFeature() = 0;
  virtual const ByteBuffer& text() const = 0;
  /** Separator of two features. */
  virtual std::string_view separator() const = 0;
};

/** Null for a format that is not known. */
std::unique_ptr<FeatureWriter> writerOf(std::string_view format);

/** One text that the rows are written into. */
struct PageOutput {
  std::string format;
  /** Options of the format's writer, JSON. */
  std::string options;
  /** Column of each property. */
  std::vector<size_t> columns;
  bool geometry = true;
};

/** Columns of a row: id, geometry, values, and at the end the page keys, which are text. */
struct PageOptions {
  std::vector<PageOutput> outputs;
  std::vector<size_t> keys;
  size_t limit = 0;
  /** Output size after which writing stops with the current feature. 0: no limit. */
  size_t maxBytes = 0;
  /** The rows come last one first. */
  bool reverse = false;
};

bool parsePageOptions(std::string_view json, PageOptions& options, std::string& error);

struct PageKey {
  std::vector<std::optional<std::string>> values;
  std::string id;
};

struct Page {
  std::vector<std::string> outputs;
  size_t returned = 0;
  /** Another row followed. */
  bool more = false;
  PageKey first;
  PageKey last;
};

/** Reads the statement that was sent and finishes it. Throws PgError. */
Page readPage(PgConnection& connection, const PageOptions& options, ReprojectorCache& reprojectors);

}  // namespace graticule::addon
