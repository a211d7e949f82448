#!/usr/bin/env bash
# Whether dist/ may be published: the metadata of every file, and that the wheel and the source archive each install into
# an environment of their own and run an experiment. Usage: release-check.sh PYTHON
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
wheels=(dist/*.whl) archives=(dist/*.tar.gz)
for file in "${wheels[0]}" "${archives[0]}"; do
    [ -e "$file" ] || { echo "dist/ has no $file: run \`make wheel\` first" >&2; exit 1; }
done
# What `pip install tailback` may take, Python's own pip included.
MOST_MB=250
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
environment() {
    "$1" -m venv "$folder/$2"
    [ $# -eq 2 ] || "$folder/$2/bin/python" -m pip --disable-pip-version-check --quiet install "${@:3}"
}
environment "$1" tools twine cffconvert
"$folder/tools/bin/twine" check --strict dist/*.whl dist/*.tar.gz
"$folder/tools/bin/cffconvert" --validate
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
for place in "CITATION.cff:^version: $version\$" "CHANGELOG.md:^## .*$version"; do
    grep -q "${place#*:}" "${place%%:*}" || { echo "${place%%:*} does not name version $version" >&2; exit 1; }
done
here() { # whether this machine can run the wheel: those of other targets are built beside it
    "$1" - "$2" <<'END'
import sys
from pip._vendor.packaging.tags import sys_tags
from pip._vendor.packaging.utils import parse_wheel_filename
sys.exit(not parse_wheel_filename(sys.argv[1])[3] & set(sys_tags()))
END
}
for file in "${wheels[@]}" "${archives[0]}"; do
    name=$(basename "$file")
    if [[ $name = *.whl ]] && ! here "$1" "$name"; then
        echo "== $name: of another machine, its metadata alone"
        continue
    fi
    echo "== $name"
    file=$PWD/$file
    if [[ $name = *.tar.gz ]]; then
        # Compiled once, for both environments.
        begun=$SECONDS
        environment "$1" source
        "$folder/source/bin/python" -m pip --disable-pip-version-check --quiet wheel --no-deps -w "$folder/built" "$file"
        file=$(echo "$folder"/built/tailback-*.whl)
        echo "compiled in $((SECONDS - begun)) s"
    fi
    begun=$SECONDS
    environment "$1" "$name" "$file"
    bin=$folder/$name/bin
    size=$(du -sm "$folder/$name" | cut -f1)
    echo "installed in $((SECONDS - begun)) s: $size MB"
    [ "$size" -lt "$MOST_MB" ] || { echo "that is more than $MOST_MB MB" >&2; exit 1; }
    # Tools of ours must not come along, nor what is an extra.
    if "$bin/python" -m pip --disable-pip-version-check list --format freeze |
        grep --extended-regexp --ignore-case '^(pytest|hypothesis|ruff|mypy|maturin|scipy|statsmodels|pyarrow|matplotlib|polars)='; then
        echo "the base installation has packages that it does not need" >&2
        exit 1
    fi
    # A guest has no libraries: no program interpreter may be named in the agent (ELF: segments of type 3).
    "$bin/python" - <<'END'
import struct, sys
from tailback.kernel import checkout
agent = checkout.CARRIED / "tailback-agent"
if agent.is_file():
    elf = agent.read_bytes()
    start, (size, count) = struct.unpack_from("<Q", elf, 32)[0], struct.unpack_from("<HH", elf, 54)
    if 3 in [struct.unpack_from("<I", elf, start + place * size)[0] for place in range(count)]:
        sys.exit(f"{agent} is not a static program")
END
    # A machine that compiles the source archive may lack the target for WebAssembly; our wheels have it.
    if [[ $name = *.whl ]] && ! find "$folder/$name" -path '*/tailback/lab/simulator.wasm' | grep --quiet .; then
        echo "pages of the lab cannot simulate: the wheel has no simulator.wasm" >&2
        exit 1
    fi
    mkdir "$folder/work-$name"
    (
        cd "$folder/work-$name"
        "$bin/tailback" run demo
        "$bin/tailback" compare results/demo cc=cubic cc=bbr >compared
        if "$bin/tailback" plot results/demo 2>said; then echo "a figure without matplotlib" >&2; exit 1; fi
        grep --quiet "pip install 'tailback\[plot\]'" said
        "$bin/tailback" bundle results/demo
        "$bin/tailback" rerun results/demo.zip
        "$bin/tailback" lab demo --save page.html
    )
    begun=$SECONDS
    environment "$1" "$name-plot" "$file[plot]"
    (cd "$folder/work-$name" && rm -r results && "$folder/$name-plot/bin/tailback" run demo &&
        "$folder/$name-plot/bin/tailback" plot results/demo)
    echo "from an empty environment to the first figure: $((SECONDS - begun)) s, $(du -sm "$folder/$name-plot" | cut -f1) MB"
done
