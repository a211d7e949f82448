#!/bin/sh
# lock.sh UV: writes requirements.lock, the versions that a clone installs: of what Tailback stands on, of the tools of its
# tests, and of what builds it, for every Python and system that it runs on.
cd "$(dirname "$0")/.." || exit 1
{
    echo "# The versions that a clone installs, chosen by \`make lock\`. A wheel has the ranges of pyproject.toml."
    printf 'maturin>=1.13,<2\nziglang>=0.13\nuv>=0.9\n' |
        "$1" pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header --all-extras --upgrade \
            pyproject.toml -
} >requirements.lock.new || exit 1
mv requirements.lock.new requirements.lock
