#!/usr/bin/env bash
# Puts the peers of the benches into .cache/peers: those that can be had, and says which could not.
set -uo pipefail
cd "$(dirname "$0")/../.." && mkdir -p .cache/peers && cd .cache/peers

featureserv() {
  [[ -x pg_featureserv ]] && return
  local module=github.com/!crunchy!data/pg_featureserv version=v1.3.1
  rm -rf featureserv && mkdir featureserv &&
    curl -fsS -o featureserv.zip "https://proxy.golang.org/$module/@v/$version.zip" &&
    unzip -q featureserv.zip -d featureserv &&
    (cd featureserv/github.com/*/pg_featureserv@$version && GOFLAGS=-mod=mod go build -o ../../../../pg_featureserv . &&
      cp -r assets ../../../../featureserv-assets)
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
  cargo install martin --locked --version 1.14.0 --no-default-features --features postgres,mbtiles,pmtiles \
    --root "$PWD/martin" --target-dir "$PWD/martin-target"
}

python() {
  local folder=$1
  shift
  [[ -f $folder/.ready ]] && return
  python3 -m venv "$folder" && "$folder/bin/pip" install -q "$@" && touch "$folder/.ready"
}

martin >&2 || echo 'Martin could not be installed' >&2
centrifugo >&2 || echo 'Centrifugo could not be installed' >&2
featureserv >&2 || echo 'pg_featureserv could not be installed' >&2
python pygeoapi pygeoapi gunicorn psycopg2-binary SQLAlchemy GeoAlchemy2 >&2 || echo 'pygeoapi could not be installed' >&2
python tipg tipg uvicorn >&2 || echo 'TiPg could not be installed' >&2
python titiler titiler.application uvicorn >&2 || echo 'TiTiler could not be installed' >&2
