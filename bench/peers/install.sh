#!/usr/bin/env bash
# Puts the peers of the benches into .cache/peers: those that can be had, and says which could not.
set -uo pipefail
cd "$(dirname "$0")/../.." && mkdir -p .cache/peers && cd .cache/peers

# Built in a copy of the module, which go keeps read-only.
featureserv() {
  [[ -x pg_featureserv ]] && return
  local folder
  folder="$(go mod download -json github.com/CrunchyData/pg_featureserv@v1.3.1 | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')" &&
    rm -rf featureserv && cp -r "$folder" featureserv && chmod -R u+w featureserv &&
    (cd featureserv && GOFLAGS=-mod=mod go build -o ../pg_featureserv . && rm -rf ../featureserv-assets && cp -r assets ../featureserv-assets)
}

# `go install` asks for lists of versions that the proxy may not have; a module that needs it does not.
centrifugo() {
  [[ -x centrifugo ]] && return
  local module=github.com/centrifugal/centrifugo/v5
  rm -rf centrifugo-module && mkdir centrifugo-module &&
    (cd centrifugo-module &&
      printf 'module peers\ngo 1.22\nrequire %s v5.4.9\n' $module >go.mod &&
      printf '//go:build tools\npackage peers\nimport _ "%s"\n' $module >peers.go &&
      GOFLAGS=-mod=mod go build -o ../centrifugo $module)
}

martin() {
  [[ -x martin/bin/martin ]] && return
  cargo install martin --locked --version 1.14.0 --no-default-features --features postgres,mbtiles,pmtiles,mlt \
    --root "$PWD/martin" --target-dir "$PWD/martin-target"
}

python() {
  local folder=$1
  shift
  [[ -f $folder/.ready ]] && return
  python3 -m venv "$folder" && "$folder/bin/pip" install -q "$@" && touch "$folder/.ready"
}

koop() {
  [[ -d koop/node_modules/@koopjs/koop-core ]] && return
  mkdir -p koop && npm install --silent --no-audit --no-fund --prefix koop @koopjs/koop-core@10.4.19 @koopjs/provider-file-geojson@2.2.0
}

martin >&2 || echo 'Martin could not be installed' >&2
centrifugo >&2 || echo 'Centrifugo could not be installed' >&2
featureserv >&2 || echo 'pg_featureserv could not be installed' >&2
python pygeoapi pygeoapi==0.21.0 gunicorn==27.0.1 psycopg2-binary==2.9.13 SQLAlchemy==2.1.9 GeoAlchemy2==0.20.0 >&2 || echo 'pygeoapi could not be installed' >&2
python tipg tipg==1.6.1 uvicorn==0.54.0 >&2 || echo 'TiPg could not be installed' >&2
python titiler titiler.application==2.4.0 uvicorn==0.54.0 >&2 || echo 'TiTiler could not be installed' >&2
python zonal exactextract==0.3.0 rasterstats==0.21.0 rasterio==1.4.4 geopandas==1.2.0 >&2 || echo 'exactextract and rasterstats could not be installed' >&2
python routing routingkit-cch==0.1.4 >&2 || echo 'RoutingKit could not be installed' >&2
python scenes py3dtiles==12.1.1 >&2 || echo 'py3dtiles could not be installed' >&2
koop >&2 || echo 'Koop could not be installed' >&2
