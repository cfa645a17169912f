#!/usr/bin/env bash
# Builds the object stores that tests start, once, into the cache folder of barlake. Needs Go; takes some minutes of CPU.
set -euo pipefail
folder="${XDG_CACHE_HOME:-$HOME/.cache}/barlake/bin"
mkdir -p "$folder"

# Builds one program in another folder first: a build that was interrupted leaves nothing that looks complete.
build() {
  [ ! -x "$folder/$1" ] || return 0
  local staging status=0
  staging="$(mktemp -d "$folder/.build-XXXXXX")"
  GOBIN="$staging" GOFLAGS=-p=1 nice go install "$2" && mv "$staging/$1" "$folder/$1" || status=$?
  rm -rf "$staging"
  return "$status"
}
build versitygw github.com/versity/versitygw/cmd/versitygw@v1.8.0
build minio github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c
