// Keys and values of a vector tile layer, each stored once (Vector Tile Specification 2.1, 4.4).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../values/bytes.h"
#include "../values/value.h"

namespace graticule {

/** Columns of a layer, and their values so far. */
class TileValues {
 public:
  struct Column {
    std::string name;
    FieldType type = FieldType::Any;
  };

  /** Starts a layer. Columns of one name share a key. */
  void begin(const std::vector<Column>& columns);

  /**
   * Appends the key and value index of one attribute to the packed tags of a feature. Null, blobs, numbers that are
   * not finite, and columns beyond the declared ones are ignored.
   */
  void tag(size_t column, const Value& value, ByteBuffer& tags);

  /** Bytes that the values will take in the layer, about. */
  size_t size() const { return values_.size() + kHead * extents_.size(); }
  /** Number of different values so far. */
  size_t count() const { return extents_.size(); }

  /**
   * Removes the values whose flag is not set, one flag per value. The remaining values are renumbered: `indexes` gets
   * the new index of each old one.
   */
  void keepOnly(const std::vector<uint8_t>& used, std::vector<uint32_t>& indexes);

  /** Appends the layer's `keys` and `values` fields. */
  void finish(ByteBuffer& layer) const;

 private:
  struct Slot {
    uint32_t hash;
    /** Index of the value plus one; 0: free. */
    uint32_t index;
  };
  struct Extent {
    uint32_t offset;
    uint32_t size;
  };
  struct ColumnState {
    const Column* column;
    uint32_t key;
    /** Latest value of the column: rows of a sorted table repeat it. */
    uint32_t lastIndex;
    Value::Kind lastKind;
    int64_t lastInteger;
    double lastReal;
  };

  /** Key and length before each value. */
  static constexpr size_t kHead = 3;
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t keyOf(ColumnState& state);
  bool repeats(const ColumnState& state, const Value& value) const;
  /**
   * Returns the index of a value, which is encoded at the end of `values_` and removed again if it already exists.
   */
  uint32_t intern(const Value& value);
  /** The following functions refer to the Value message from `offset` to the end of `values_`. */
  uint32_t hashOf(size_t offset) const;
  uint32_t find(size_t offset, uint32_t hash) const;
  uint32_t insert(size_t offset, uint32_t hash);
  uint32_t enter(const Extent& extent, uint32_t hash);
  void rehash(size_t size);
  const uint8_t* text(uint32_t index, size_t& size) const;

  std::vector<Column> columns_;
  std::vector<ColumnState> states_;
  std::vector<uint32_t> usedColumns_;
  /** Encoded Value messages, end to end. */
  ByteBuffer values_;
  std::vector<Extent> extents_;
  std::vector<Slot> slots_;
};

}  // namespace graticule
