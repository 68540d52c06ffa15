#include "pg_page.h"

#include <utility>

#include "../../core/formats/csv.h"
#include "../../core/formats/esri_json.h"
#include "../../core/formats/esri_pbf.h"
#include "../../core/formats/geojson.h"
#include "../../core/formats/gml.h"
#include "../../core/formats/json.h"
#include "../../core/formats/options.h"
#include "pg_row.h"

namespace graticule::addon {
namespace {

/** SQLSTATE for errors of the caller. */
constexpr const char* kBadOptions = "22023";

/** A writer of the core behind the interface of pages. */
template <typename Writer>
class PageWriter final : public FeatureWriter {
 public:
  explicit PageWriter(std::string_view separator) : separator_(separator) {}

  bool begin(std::string_view json, ReprojectorCache& reprojectors, std::string& error) override {
    FeatureOptions options;
    if (!parseFeatureOptions(json, options, error)) return false;
    if constexpr (std::is_same_v<Writer, GmlFeatureWriter>) {
      if (!checkGmlOptions(options, error)) return false;
    }
    auto reprojector = reprojectors.find(options.from, options.to, error);
    if (reprojector == nullptr) return false;
    writer_.begin(options, std::move(reprojector));
    return true;
  }
  void beginFeature(const Value& id, const uint8_t* blob, size_t size) override {
    writer_.beginFeature(id, blob, size);
  }
  void property(size_t field, const Value& value) override { writer_.property(field, value); }
  void endFeature() override { writer_.endFeature(); }
  const ByteBuffer& text() const override { return writer_.text(); }
  std::string_view separator() const override { return separator_; }

 private:
  Writer writer_;
  std::string_view separator_;
};

/** One output on its way: its writer, and where each feature ends. */
struct Writing {
  const PageOutput* output;
  std::unique_ptr<FeatureWriter> writer;
  std::vector<size_t> ends;

  std::string text(bool reverse) const;
};

/** The text; features in the opposite order when they came last one first. */
std::string Writing::text(bool reverse) const {
  const auto* data = reinterpret_cast<const char*>(writer->text().data());
  const size_t size = writer->text().size();
  if (!reverse || ends.size() < 2) return std::string(data == nullptr ? "" : data, size);
  const std::string_view separator = writer->separator();
  std::string turned;
  turned.reserve(size);
  for (size_t i = ends.size(); i-- > 0;) {
    const size_t begin = i == 0 ? 0 : ends[i - 1] + separator.size();
    if (!turned.empty()) turned += separator;
    turned.append(data + begin, ends[i] - begin);
  }
  return turned;
}

std::vector<Writing> beginAll(const PageOptions& options, ReprojectorCache& reprojectors) {
  std::vector<Writing> all;
  for (const PageOutput& output : options.outputs) {
    Writing writing{&output, writerOf(output.format), {}};
    std::string error = "the format '" + output.format + "' is not known";
    if (writing.writer == nullptr || !writing.writer->begin(output.options, reprojectors, error)) {
      throw PgError{kBadOptions, error};
    }
    all.push_back(std::move(writing));
  }
  return all;
}

void writeFeature(Writing& writing, PgRow& row) {
  size_t size = 0;
  const uint8_t* blob = writing.output->geometry ? row.bytes(kGeometryColumn, size) : nullptr;
  writing.writer->beginFeature(row.id(), blob, size);
  const std::vector<size_t>& columns = writing.output->columns;
  for (size_t i = 0; i < columns.size(); ++i) writing.writer->property(i, row.value(columns[i]));
  writing.writer->endFeature();
  writing.ends.push_back(writing.writer->text().size());
}

void readKey(const PageOptions& options, PgRow& row, PageKey& key) {
  key.id = row.idText();
  key.values.resize(options.keys.size());
  for (size_t i = 0; i < options.keys.size(); ++i) {
    const Value value = row.value(options.keys[i]);
    if (value.kind == Value::Kind::Text) {
      key.values[i] = std::string(value.bytes, value.size);
    } else {
      key.values[i] = std::nullopt;
    }
  }
}

bool readCount(JsonReader& reader, size_t& value) {
  double number = 0;
  if (!reader.readNumber(number) || !(number >= 0 && number <= 9e15)) return false;
  value = static_cast<size_t>(number);
  return true;
}

bool readCounts(JsonReader& reader, std::vector<size_t>& values) {
  return reader.readArray([&] {
    values.emplace_back();
    return readCount(reader, values.back());
  });
}

bool readOutputs(JsonReader& reader, PageOptions& options) {
  return reader.readArray([&] {
    options.outputs.emplace_back();
    PageOutput& output = options.outputs.back();
    return reader.readObject([&](const std::string& key) {
      if (key == "format") return reader.readString(output.format);
      if (key == "options") return reader.readString(output.options);
      if (key == "columns") return readCounts(reader, output.columns);
      if (key == "geometry") return reader.readBoolean(output.geometry);
      return reader.skip();
    });
  });
}

}  // namespace

std::unique_ptr<FeatureWriter> writerOf(std::string_view format) {
  if (format == "geojson") return std::make_unique<PageWriter<GeoJsonFeatureWriter>>(",");
  if (format == "csv") return std::make_unique<PageWriter<CsvFeatureWriter>>("");
  if (format == "esri-json") return std::make_unique<PageWriter<EsriJsonFeatureWriter>>(",");
  if (format == "esri-pbf") return std::make_unique<PageWriter<EsriPbfFeatureWriter>>("");
  if (format == "gml") return std::make_unique<PageWriter<GmlFeatureWriter>>("");
  return nullptr;
}

bool parsePageOptions(std::string_view json, PageOptions& options, std::string& error) {
  JsonReader reader(json.data(), json.size());
  const bool read = reader.readObject([&](const std::string& key) {
    if (key == "outputs") return readOutputs(reader, options);
    if (key == "keys") return readCounts(reader, options.keys);
    if (key == "limit") return readCount(reader, options.limit);
    if (key == "maxBytes") return readCount(reader, options.maxBytes);
    if (key == "reverse") return reader.readBoolean(options.reverse);
    return reader.skip();
  });
  if (read && reader.atEnd() && !options.outputs.empty()) return true;
  error = "the options of the page are wrong";
  return false;
}

Page readPage(PgConnection& connection, const PageOptions& options, ReprojectorCache& reprojectors) {
  std::vector<Writing> all = beginAll(options, reprojectors);
  Page page;
  bool full = options.limit == 0;
  PgRow row;
  while (const PGresult* result = connection.next()) {
    if (full) {
      page.more = true;
      break;
    }
    row.read(result);
    for (Writing& writing : all) writeFeature(writing, row);
    readKey(options, row, page.returned == 0 ? page.first : page.last);
    ++page.returned;
    const bool heavy = options.maxBytes != 0 && all.front().writer->text().size() >= options.maxBytes;
    full = heavy || page.returned >= options.limit;
  }
  connection.finish();
  if (page.returned == 1) page.last = page.first;
  if (options.reverse) std::swap(page.first, page.last);
  for (const Writing& writing : all) page.outputs.push_back(writing.text(options.reverse));
  return page;
}

}  // namespace graticule::addon
