#!/usr/bin/env bash
# Whether dist/ may be published: the metadata of every file, and that the wheel and the source archive each install into
# an environment of their own and run an experiment. Usage: release-check.sh PYTHON
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
wheels=(dist/*.whl) archives=(dist/*.tar.gz)
for file in "${wheels[0]}" "${archives[0]}"; do
    [ -e "$file" ] || { echo "dist/ has no $file: run \`make wheel\` first" >&2; exit 1; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
environment() {
    "$1" -m venv "$folder/$2"
    "$folder/$2/bin/python" -m pip --disable-pip-version-check --quiet install "${@:3}"
}
environment "$1" tools twine cffconvert
"$folder/tools/bin/twine" check --strict dist/*.whl dist/*.tar.gz
"$folder/tools/bin/cffconvert" --validate
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
for place in "CITATION.cff:^version: $version\$" "CHANGELOG.md:^## .*$version"; do
    grep -q "${place#*:}" "${place%%:*}" || { echo "${place%%:*} does not name version $version" >&2; exit 1; }
done
for file in "$PWD/${wheels[0]}" "$PWD/${archives[0]}"; do
    echo "== $(basename "$file")"
    begun=$SECONDS
    environment "$1" "$(basename "$file")" "$file"
    bin=$folder/$(basename "$file")/bin
    echo "installed in $((SECONDS - begun)) s: $(du -sm "$folder/$(basename "$file")" | cut -f1) MB"
    (
        mkdir "$folder/work-$(basename "$file")" && cd "$folder/work-$(basename "$file")"
        "$bin/tailback" run demo
        "$bin/tailback" plot results/demo
        "$bin/tailback" bundle results/demo
        "$bin/tailback" rerun results/demo.zip
    )
    echo "to the first figure: $((SECONDS - begun)) s"
done
