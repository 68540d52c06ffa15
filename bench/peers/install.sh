#!/usr/bin/env bash
# Puts the peers of `./run bench features-peers` into .cache/peers: those that can be had, and says which could not.
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

python() {
  local folder=$1
  shift
  [[ -f $folder/.ready ]] && return
  python3 -m venv "$folder" && "$folder/bin/pip" install -q "$@" && touch "$folder/.ready"
}

featureserv >&2 || echo 'pg_featureserv could not be installed' >&2
python pygeoapi pygeoapi gunicorn psycopg2-binary SQLAlchemy GeoAlchemy2 >&2 || echo 'pygeoapi could not be installed' >&2
python tipg tipg uvicorn >&2 || echo 'TiPg could not be installed' >&2
