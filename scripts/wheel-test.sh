#!/usr/bin/env bash
# Installs the wheel in dist/ into an environment of its own, outside of the clone, and runs an experiment from it.
# Usage: wheel-test.sh PYTHON
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
wheels=(dist/*.whl)
[ -e "${wheels[0]}" ] || { echo "dist/ has no wheel: run \`make wheel\` first" >&2; exit 1; }
wheel=$PWD/${wheels[0]}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$1" -m venv bare
bare/bin/python -m pip --disable-pip-version-check --quiet install "$wheel"
bare/bin/tailback --version
bare/bin/tailback list experiment
bare/bin/tailback run demo --set cc=cubic --set qdisc=fq_codel --set tsq=1ms --repeat 1 --out results
bare/bin/tailback plot results
bare/bin/tailback new home-link
bare/bin/tailback check home-link.yaml
echo "installed: $(du -sh bare | cut -f1)"
