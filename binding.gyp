{
  # Three targets: the pure C++ core, the N-API addon and the loadable SQLite extension.
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
      "cflags": ["-fPIC", "<!@(pkg-config --cflags proj)"],
      "sources": [
        "src/native/core/clip.cpp",
        "src/native/core/geojson.cpp",
        "src/native/core/json.cpp",
        "src/native/core/number.cpp",
        "src/native/core/options.cpp",
        "src/native/core/reprojector.cpp",
        "src/native/core/simplify.cpp",
        "src/native/core/text.cpp",
        "src/native/core/tile_geometry.cpp",
        "src/native/core/tile_layer.cpp",
        "src/native/core/tile_values.cpp",
        "src/native/core/wkb.cpp",
      ],
    },
    {
      "target_name": "graticule_sqlite",
      "type": "shared_library",
      "product_extension": "so",
      "product_prefix": "",
      "dependencies": ["graticule_core"],
      "cflags": ["-fPIC"],
      "sources": [
        "src/native/sqlite/aggregates.cpp",
        "src/native/sqlite/extension.cpp",
        "src/native/sqlite/scalars.cpp",
      ],
      "libraries": ["<!@(pkg-config --libs proj)"],
      "ldflags": ["-Wl,--version-script=<(module_root_dir)/src/native/sqlite/exports.map"],
    },
  ],
}
