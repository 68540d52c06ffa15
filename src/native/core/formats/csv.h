// Features as CSV records (RFC 4180).
#pragma once

#include <memory>
#include <vector>

#include "../values/bytes.h"
#include "feature_options.h"
#include "feature_page.h"

namespace graticule {

/** Writes geometries as well-known text (OGC 06-103r4, 7), with Z where there is one; M is not written. */
class WktWriter {
 public:
  void begin(const CoordinateFormat& format, const Reprojector* reprojector) { positions_.begin(format, reprojector); }
  /** Returns false, and writes no output, if no part of the geometry remains. */
  bool write(const Geometry& geometry, ByteBuffer& out);

 private:
  bool writeNode(const Geometry& geometry, size_t& node, ByteBuffer& out);
  bool writeMembers(const Geometry& geometry, size_t& node, bool collection, ByteBuffer& out);
  bool writeBody(const Geometry& geometry, const Node& node, ByteBuffer& out);
  bool writeSequence(const Sequence& sequence, size_t least, ByteBuffer& out);

  OutputPositions positions_;
  bool z_ = false;
};

/**
 * Writes records of id, geometry and fields, each ended by CRLF. Text is quoted if necessary and otherwise unchanged.
 * With the guard option, text that a spreadsheet would interpret as a formula gets an apostrophe in front. NULL is an
 * empty field, empty text is "". Booleans are true and false, bytes are base64.
 */
class CsvFeatureWriter : public FeaturePage {
 public:
  void begin(const FeatureOptions& options, std::shared_ptr<const Reprojector> reprojector);
  /** Starts a record. An invalid blob becomes an empty geometry field. */
  void beginFeature(const Value& id, const uint8_t* blob, size_t size);
  /** The next field, in the order of the options. */
  void property(size_t field, const Value& value);
  void endFeature() { out_.appendLiteral("\r\n"); }

  /** Releases the reprojector, and memory beyond the needs of an average page. */
  void release();

 private:
  void field(FieldType type, const Value& value);

  WktWriter wkt_;
  bool guardsFormulas_ = false;
};

}  // namespace graticule
