#!/usr/bin/env bash
# Fetches Trino once, with Maven: 821 MB, of which 300 MB stay in the cache folder. The tests of Trino
# (test/interop/trino*.long.test.ts) run where this script has run, and are skipped elsewhere.
set -euo pipefail

version=476
home="${XDG_CACHE_HOME:-$HOME/.cache}/barlake/trino-$version"
if [ -e "$home/complete" ]; then
  echo "$home"
  exit 0
fi
command -v mvn >/dev/null || { echo "mvn is needed to fetch Trino" >&2; exit 1; }

rm -rf "$home"
draft="$home.$$"
mkdir -p "$draft"
trap 'rm -rf "$draft"' EXIT
# A local repository of its own: what Maven fetches goes with the draft.
mvn --batch-mode --no-transfer-progress "-Dmaven.repo.local=$draft/m2" \
  org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
  "-Dartifact=io.trino:trino-server:$version:tar.gz" "-DoutputDirectory=$draft" >&2
tar -xzf "$draft/trino-server-$version.tar.gz" -C "$draft" --strip-components=1
rm -rf "$draft/m2" "$draft/trino-server-$version.tar.gz"
# Only the connector of Delta tables is used.
find "$draft/plugin" -mindepth 1 -maxdepth 1 ! -name delta-lake -exec rm -rf {} +
touch "$draft/complete"
mv "$draft" "$home"
echo "$home"
