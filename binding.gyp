{
  # Three targets: the pure C++ core, the N-API addon and the loadable SQLite extension. Debian packages that they need:
  # g++ make python3 pkg-config libproj-dev libdeflate-dev libpq-dev libsqlite3-dev (for sqlite3ext.h only: SQLite itself is
  # g++ make python3 pkg-config libproj-dev libgeos-dev libdeflate-dev libsqlite3-dev (for sqlite3ext.h only: SQLite
  # itself is the one inside better-sqlite3).
  # the one inside better-sqlite3).
  "target_defaults": {
    "cflags": ["-Wall", "-Wextra", "-fvisibility=hidden", "-O3", "-fno-math-errno", "-fno-trapping-math"],
    "cflags!": ["-O2"],
    "cflags_cc": ["-std=c++17", "-fexceptions", "-fvisibility-inlines-hidden"],
    "cflags_cc!": ["-fno-exceptions", "-std=gnu++17", "-std=gnu++20", "-fno-rtti"],
    "ldflags": ["-Wl,--as-needed", "-Wl,--exclude-libs,ALL"],
  },
  "targets": [
    {
      "target_name": "graticule_core",
      "type": "static_library",
      "cflags": ["-fPIC", "<!@(pkg-config --cflags proj libdeflate)"],
      "sources": [
        "src/native/core/clip.cpp",
        "src/native/core/compressor.cpp",
        "src/native/core/crs.cpp",
        "src/native/core/csv.cpp",
        "src/native/core/geodesic.cpp",
        "src/native/core/geojson.cpp",
        "src/native/core/geojson_reader.cpp",
        "src/native/core/geos.cpp",
        "src/native/core/gml.cpp",
        "src/native/core/intersects_box.cpp",
        "src/native/core/json.cpp",
        "src/native/core/number.cpp",
        "src/native/core/options.cpp",
        "src/native/core/pg_values.cpp",
        "src/native/core/reprojector.cpp",
        "src/native/core/simplify.cpp",
        "src/native/core/spatial_predicate.cpp",
        "src/native/core/text.cpp",
        "src/native/core/tile_geometry.cpp",
        "src/native/core/tile_layer.cpp",
        "src/native/core/tile_values.cpp",
        "src/native/core/wkb.cpp",
        "src/native/core/wkb_writer.cpp",
      ],
    },
    {
      "target_name": "graticule",
      "dependencies": ["graticule_core"],
      "defines": ["NAPI_VERSION=8"],
      "sources": [
        "src/native/addon/functions.cpp",
        "src/native/addon/geometry_functions.cpp",
        "src/native/addon/layer_encoder.cpp",
        "src/native/addon/loop_meter.cpp",
        "src/native/addon/module.cpp",
        "src/native/addon/napi.cpp",
        "src/native/addon/pg_client.cpp",
        "src/native/addon/pg_connection.cpp",
        "src/native/addon/pg_jobs.cpp",
        "src/native/addon/pg_page.cpp",
      ],
      "cflags": ["<!@(pkg-config --cflags libpq)"],
      "libraries": ["<!@(pkg-config --libs proj libdeflate libpq)"],
      "libraries": ["<!@(pkg-config --libs proj libdeflate)", "-lgeos_c"],
    },
    {
      # A shared library by type, because gyp forces the suffix .node on loadable modules.
      "target_name": "graticule_sqlite",
      "type": "shared_library",
      "product_extension": "so",
      "product_prefix": "",
      "dependencies": ["graticule_core"],
      "cflags": ["-fPIC"],
      "sources": [
        "src/native/sqlite/aggregates.cpp",
        "src/native/sqlite/extension.cpp",
        "src/native/sqlite/predicates.cpp",
        "src/native/sqlite/scalars.cpp",
      ],
      "libraries": ["<!@(pkg-config --libs proj)", "-lgeos_c"],
      "ldflags": ["-Wl,--version-script=<(module_root_dir)/src/native/sqlite/exports.map"],
    },
  ],
}
