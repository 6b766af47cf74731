#!/usr/bin/env bash
# Installs the programs that the interop suite plays against, pinned, into a
# cache folder, and prints how to start them. The second time it does nothing.
#
#   OUTRUNNER_INTEROP_CACHE          where; default: outrunner/interop in the user's cache
#   OUTRUNNER_INTEROP_FORCE_CHROOT=1 do as if no Python here were new enough
#
# The server, runner and client library need Python 3.12. Where none is found, a
# small Debian or Ubuntu is unpacked into the cache, from the mirror that this
# machine itself uses, and Python runs inside it. Both look alike from outside:
# one launcher that ends up as the program itself, with the same process id, and
# sees the same /tmp.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${OUTRUNNER_INTEROP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/outrunner/interop}
forced=${OUTRUNNER_INTEROP_FORCE_CHROOT:-}
export DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1
suites='debian:trixie ubuntu:noble' # their Python is new enough

die() {
	echo "interop: $*" >&2
	exit 1
}

mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
exec 9>"$cache/lock"
flock 9 # one at a time

stamp=$(cat "$here/setup.sh" "$here/requirements.txt" "$here/npm/package-lock.json" <(echo "$cache $forced") | sha256sum | cut -d' ' -f1)
if [[ -f $cache/stamp && $(<"$cache/stamp") == "$stamp" ]]; then
	cat "$cache/env"
	exit
fi
rm -f "$cache/stamp"

apt_updated=
need() { # need PROGRAM PACKAGE...: install the packages unless the program is there
	command -v "$1" >/dev/null && return
	[[ $EUID == 0 ]] && command -v apt-get >/dev/null ||
		die "$1 is missing, and only root on Debian or Ubuntu can install it from here: install ${*:2}"
	if [[ -z $apt_updated ]]; then
		apt-get update -q >&2 || die "apt-get update failed, and $1 is missing"
		apt_updated=1
	fi
	apt-get install -y -q --no-install-recommends "${@:2}" >&2 || die "installing ${*:2} failed, and $1 is missing"
}

# find_python prints a Python of 3.12 or later that can make a venv.
find_python() {
	local candidate path
	for candidate in python3.13 python3.12 python3.14 python3 "$HOME"/.pyenv/versions/*/bin/python3; do
		path=$(command -v "$candidate") || continue
		if "$path" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
			echo "$path"
			return
		fi
	done
	return 1
}

# mirror prints the archive that apt uses here, which is not the security one.
mirror() {
	{
		# One line per stanza of the newer form: "URI suite suite...".
		cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk '
			BEGIN { RS = ""; FS = "\n" }
			{
				type = uri = suites = ""
				for (i = 1; i <= NF; i++) {
					split($i, word, /[ \t]+/); key = tolower(word[1]); rest = $i; sub(/^[^:]*:[ \t]*/, "", rest)
					if (key == "types:") type = rest
					if (key == "uris:") uri = word[2]
					if (key == "suites:") suites = rest
					if (key == "enabled:" && tolower(rest) == "no") type = ""
				}
				if (type ~ /(^| )deb( |$)/) print uri, suites
			}' || true
		# The older form: deb [options] URI suite component...
		cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
			sed -nE 's/^[ \t]*deb[ \t]+(\[[^]]*\][ \t]*)?([^ \t]+)[ \t]+([^ \t]+).*/\2 \3/p' || true
	} | awk -v codename="$1" '
		$0 !~ /security/ { for (i = 2; i <= NF; i++) if ($i == codename) { print $1; exit } }'
}

make_chroot() {
	local id codename suite=
	[[ $EUID == 0 ]] || die "no Python 3.12 here, and only root can unpack one: install python3.12 or later with its venv module"
	# shellcheck disable=SC1091
	id=$(. /etc/os-release && echo "$ID") codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	for pair in $suites; do
		[[ ${pair%%:*} == "$id" ]] && suite=${pair#*:}
	done
	[[ -n $suite ]] || die "no Python 3.12 here, and only Debian and Ubuntu can unpack one: install python3.12 or later with its venv module"
	root=$cache/$suite
	local from script=
	from=$(mirror "$codename")
	[[ -n $from ]] || die "no Python 3.12 here, and apt's configuration names no archive for $codename to unpack one from"
	need debootstrap debootstrap
	[[ -e /usr/share/debootstrap/scripts/$suite ]] || script=/usr/share/debootstrap/scripts/sid
	if [[ ! -e $root/.complete ]]; then
		rm -rf --one-file-system "$root"
		debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv,tmux,git,procps \
			"$suite" "$root" "$from" $script >&2 || die "debootstrap could not unpack $suite: see above"
		touch "$root/.complete"
	fi
	# What this machine needs to reach a package index, that one needs too.
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
	local file
	for file in /etc/ssl/certs/ca-certificates.crt ${PIP_CERT:-} ${SSL_CERT_FILE:-} ${REQUESTS_CA_BUNDLE:-} /etc/pip.conf; do
		[[ -f $file ]] || continue
		mkdir -p "$root$(dirname "$file")"
		cp -L "$file" "$root$file"
	done
	for file in "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"; do
		[[ -f $file ]] && cp -L "$file" "$root/etc/pip.conf"
	done
	return 0
}

mkdir -p "$cache/bin"
launcher=$cache/bin/python
venv=$cache/venv inner=$cache/venv # the same folder, seen from outside and from inside
if [[ -z $forced ]] && python=$(find_python); then
	base=("$python")
	write_launcher() {
		printf '#!/bin/sh\nexec "%s/bin/python" "$@"\n' "$venv" >"$launcher"
	}
else
	make_chroot
	venv=$root/venv inner=/venv
	# The mounts belong to a namespace of the process, so they go when it does;
	# each step is an exec, so the process id is the caller's.
	enter=$cache/bin/enter
	cat >"$enter" <<-ENTER
		#!/bin/sh
		# enter PROGRAM ARGUMENT...: runs it in $root, where it sees this /tmp.
		exec unshare --mount -- /bin/sh -c '
			root=\$0
			mount -t proc proc "\$root/proc" && mount --rbind /sys "\$root/sys" && mount --rbind /dev "\$root/dev" &&
				mount --rbind /tmp "\$root/tmp" || exit 126
			case "\${TMPDIR:-/tmp}" in
			/tmp | /tmp/*) ;;
			*) mkdir -p "\$root\$TMPDIR" && mount --rbind "\$TMPDIR" "\$root\$TMPDIR" || exit 126 ;;
			esac
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
			export PATH
			exec chroot "\$root" /bin/sh -c "cd \"\\\$0\" 2>/dev/null; exec \"\\\$@\"" "\$PWD" "\$@"
		' "$root" "\$@"
	ENTER
	chmod +x "$enter"
	base=("$enter" python3)
	[[ -e $root${PIP_FIND_LINKS:-/} ]] || unset PIP_FIND_LINKS # a folder of this machine alone
	write_launcher() {
		printf '#!/bin/sh\nexec "%s" /venv/bin/python "$@"\n' "$enter" >"$launcher"
	}
fi

echo "interop: installing the published server, runner and client library into $venv" >&2
rm -rf "$venv"
"${base[@]}" -m venv "$inner" || die "making a venv failed: see above"
write_launcher
chmod +x "$launcher"
requirements=$(mktemp /tmp/outrunner-requirements.XXXXXX)
trap 'rm -f "$requirements"' EXIT
cp "$here/requirements.txt" "$requirements"
"$launcher" -m pip install -q --no-deps -r "$requirements" >&2 || die "installing requirements.txt failed: see above"
"$launcher" -m compileall -q "$inner/lib" >/dev/null 2>&1 || true # a quicker first start; some files are templates

need npm nodejs npm
echo "interop: installing the coding agent into $cache/npm" >&2
rm -rf "$cache/npm"
mkdir -p "$cache/npm"
cp "$here/npm/package.json" "$here/npm/package-lock.json" "$cache/npm/"
(cd "$cache/npm" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2) || die "npm ci failed: see above"
# The package's own script would choose one of these programs.
opencode=
for dir in "$cache"/npm/node_modules/opencode-[!a]*; do
	if "$dir/bin/opencode" --version >/dev/null 2>&1 </dev/null; then
		opencode=$dir/bin/opencode
		break
	fi
done
[[ -n $opencode ]] || die "no program of opencode-ai starts on this machine: look into $cache/npm/node_modules"

cat >"$cache/env" <<-ENV
	OUTRUNNER_INTEROP_PYTHON=$launcher
	OUTRUNNER_INTEROP_OPENCODE=$opencode
ENV
echo "$stamp" >"$cache/stamp"
cat "$cache/env"
