#!/bin/sh
# The browser tests drive Chromium or Chrome; take the one that is there, else ask the system's package manager.
# With the argument "headless", take the package of its headless shell too, where there is one: most tests drive that.
set -eu
shell=chromium-headless-shell
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
install_packages() { as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; }
is_package() { apt-cache show "$1" >/dev/null 2>&1; }
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null 2>&1; then
        # Tests run without it, if slower: that is no reason to ask for a password, or to fail.
        if [ "${1:-}" = headless ] && ! command -v "$shell" >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && is_package "$shell"; then
            install_packages --no-remove "$shell" || echo "The tests do without $shell, which could not be installed." >&2
        fi
        exit 0
    fi
done
if command -v apt-get >/dev/null 2>&1; then
    as_root apt-get update -qq
    if [ "${1:-}" = headless ] && is_package "$shell"; then
        install_packages chromium fonts-dejavu-core "$shell"
    else
        install_packages chromium fonts-dejavu-core
    fi
elif command -v dnf >/dev/null 2>&1; then
    as_root dnf install -y -q chromium
elif command -v brew >/dev/null 2>&1; then
    brew install --cask chromium
else
    echo "No Chromium or Chrome found, and no apt-get, dnf or brew to install one: install Chromium, then run this again." >&2
    exit 1
fi
