// Features as GML 3.2 (OGC 07-036), within the Simple Features profile (OGC 10-100r3).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../values/bytes.h"
#include "feature_options.h"
#include "feature_page.h"

namespace graticule {

/** Writes geometries as GML elements; M is not written, rings keep their direction. */
class GmlGeometryWriter {
 public:
  void begin(const FeatureOptions& options, const Reprojector* reprojector);
  /**
   * Writes a geometry. `id` is a feature's id as part of a gml:id. Returns false, and writes no output, if no part of
   * the geometry remains.
   */
  bool write(const Geometry& geometry, const std::string& id, ByteBuffer& out);

 private:
  bool writeNode(const Geometry& geometry, size_t& node, ByteBuffer& out);
  bool writeMembers(const Geometry& geometry, size_t& node, ByteBuffer& out);
  bool writeSimple(const Geometry& geometry, const Node& node, ByteBuffer& out);
  bool writePolygon(const Geometry& geometry, const Node& node, ByteBuffer& out);
  bool writePositions(const Sequence& sequence, size_t least, const char* element, ByteBuffer& out);
  void open(const char* element, ByteBuffer& out);

  OutputPositions positions_;
  /** ` srsName="..."`, escaped; on the outermost geometry only. */
  std::string srsName_;
  const std::string* id_ = nullptr;
  uint32_t written_ = 0;
  bool z_ = false;
};

/**
 * Writes `sf:featureMember` elements, each with one `app:` feature element. It contains the geometry, followed by the
 * properties that are not NULL, in the order of the fields. The gml:id is the id if that is an XML name, otherwise
 * `f.` and the id. For geometries it is `g`, a number, `.` and the id; see appendXmlId(). Characters that XML 1.0
 * does not allow are removed from text.
 */
class GmlFeatureWriter : public FeaturePage {
 public:
  void begin(const FeatureOptions& options, std::shared_ptr<const Reprojector> reprojector);
  /** Starts a feature. An invalid blob becomes a feature without geometry. */
  void beginFeature(const Value& id, const uint8_t* blob, size_t size);
  /** The next property, in the order of the fields. */
  void property(size_t field, const Value& value);
  void endFeature();

  /** Releases the reprojector, and memory beyond the needs of an average page. */
  void release();

 private:
  struct Field {
    std::string begin;
    std::string end;
    FieldType type;
  };
  void value(FieldType type, const Value& value);

  std::vector<Field> fields_;
  std::string type_;
  std::string geometryElement_;
  GmlGeometryWriter geometryWriter_;
  std::string id_;
  uint64_t features_ = 0;
};

/** Returns false, and a sentence in `error`, if a name is not an XML name or the feature type is missing. */
bool checkGmlOptions(const FeatureOptions& options, std::string& error);

}  // namespace graticule
