#!/bin/sh
# Browser tests drive Chromium or Chrome, and the headless shell of Chromium, which needs less of the processor, where
# it does the same. Take what is there, or ask the system's package manager; only in CI, ask for the shell alone, too.
set -eu
have() { command -v "$1" >/dev/null 2>&1; }
have_browser() { have chromium || have chromium-browser || have google-chrome || have google-chrome-stable; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
have_browser && { have chromium-headless-shell || [ "${CI:-}" != true ]; } && exit 0
if have apt-get; then
    packages=
    as_root apt-get update -qq || have_browser
    have_browser || packages="chromium fonts-dejavu-core"
    if apt-cache show chromium-headless-shell >/dev/null 2>&1; then packages="$packages chromium-headless-shell"; fi
    # shellcheck disable=SC2086  # several packages
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages || have_browser
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
