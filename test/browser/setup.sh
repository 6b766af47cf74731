#!/usr/bin/env bash
# Installs what the browser tests need and what is missing: Chromium, tmux, and
# the programs that are run in terminals. Debian's packages, so it needs root
# there; elsewhere it says what to install.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

die() {
	echo "browser: $*" >&2
	exit 1
}

missing=()
for need in tmux vim less htop; do
	command -v "$need" >/dev/null || missing+=("$need")
done
if [[ -z ${OUTRUNNER_CHROMIUM:-} ]] && ! { command -v chromium || command -v chromium-browser || command -v google-chrome ||
	command -v google-chrome-stable; } >/dev/null; then
	missing+=(chromium fonts-dejavu-core) # a terminal without a fixed-width font is no terminal
fi
((${#missing[@]})) || exit 0
[[ $EUID == 0 ]] && command -v apt-get >/dev/null ||
	die "the tests need ${missing[*]}, and only root on Debian can install that from here: install it (a Chromium may be named in OUTRUNNER_CHROMIUM)"
apt-get update -q >&2 || die "apt-get update failed, and ${missing[*]} are missing"
for package in "${missing[@]}"; do
	apt-get install -y -q --no-install-recommends "$package" >&2 || die "this machine cannot have $package: apt-get install $package failed"
done
