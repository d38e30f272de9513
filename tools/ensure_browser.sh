#!/bin/sh
# Browser tests drive the headless shell of Chromium if it is there, for it needs the least time, else Chromium or Chrome.
# Take what is there, or ask the system's package manager; in CI, ask for the shell even if there is another browser.
set -eu
have() { command -v "$1" >/dev/null 2>&1; }
have_browser() { have chromium || have chromium-browser || have google-chrome || have google-chrome-stable; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
apt_install() { as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; }

if have chromium-headless-shell || { have_browser && [ "${CI:-}" != true ]; }; then
    exit 0
elif have apt-get; then
    as_root apt-get update -qq || have_browser
    if apt-cache show chromium-headless-shell >/dev/null 2>&1; then
        apt_install chromium-headless-shell fonts-dejavu-core || have_browser
    else
        have_browser || apt_install chromium fonts-dejavu-core
    fi
elif have_browser; then
    exit 0
elif have dnf; then
    as_root dnf install -y -q chromium
elif have brew; then
    brew install --cask chromium
else
    echo "No Chromium or Chrome found, and no apt-get, dnf or brew to install one: install Chromium, then run this again." >&2
    exit 1
fi
