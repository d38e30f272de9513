#!/bin/sh
# The browser tests drive Chromium or Chrome; take the one that is there, else ask the system's package manager.
set -eu
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
if command -v apt-get >/dev/null 2>&1; then
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
elif command -v dnf >/dev/null 2>&1; then
    as_root dnf install -y -q chromium
elif command -v brew >/dev/null 2>&1; then
    brew install --cask chromium
else
    echo "No Chromium or Chrome found, and no apt-get, dnf or brew to install one: install Chromium, then run this again." >&2
    exit 1
fi
