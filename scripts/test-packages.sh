#!/bin/sh
# test-packages.sh: installs the Debian packages that only tests need, where they are missing. For CI machines and
# containers; a developer's machine leaves out the tests that need them, and says so.
#
# chromium    shows the report of a comparison (tests/python/validation/test_report.py)

for browser in chromium chromium-browser google-chrome; do
    command -v "$browser" >/dev/null 2>&1 && exit 0
done
missing=chromium

if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
    printf 'missing: %s: install it (Debian: as root, apt-get install %s)\n' "$missing" "$missing" >&2
    exit 1
fi
apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "$missing" >/dev/null
