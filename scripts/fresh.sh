#!/usr/bin/env bash
# `make fresh`: proves the README. In a bare Debian 12 root that holds make, python3, CA certificates and this machine's Rust
# toolchain, it runs FRESH_COMMANDS (separated by semicolons) on an export of HEAD: first as root, then as a
# plain user on an export of its own. FRESH_USERS="root builder" takes one of the two only. A C compiler is left out on purpose: installing it is the commands' own work as root, and
# the plain user finds it afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

commands=${FRESH_COMMANDS:-make demo; make test}
users=${FRESH_USERS:-root builder}
# What one user's build and tests need, and the root itself.
NEEDED_GIB=16
[ "$(id -u)" -eq 0 ] || { echo "make fresh needs root: it makes a Debian root and enters it." >&2; exit 2; }
if ! command -v mmdebstrap >/dev/null; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null
fi

exported=$(git rev-parse --short HEAD)
root=$(mktemp -d "${TMPDIR:-/tmp}/ciphermill-fresh.XXXXXX")
# Mounts live in the namespace of `inside` alone, so that nothing but plain files is left to remove.
running=
cleanup() {
    # unshare itself ignores the polite signals.
    if [ -n "$running" ]; then
        kill -KILL "$running" 2>/dev/null || true
        wait "$running" 2>/dev/null || true
    fi
    rm -rf --one-file-system "$root"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
free=$(($(df --output=avail -k "$root" | tail -1) / 1048576))
[ "$free" -ge "$NEEDED_GIB" ] || { echo "make fresh needs $NEEDED_GIB GiB in $root, $free are free; free some, or set TMPDIR." >&2; exit 2; }
echo "== a bare Debian 12 in $root"
mmdebstrap --quiet --variant=minbase --include=make,python3,ca-certificates bookworm "$root"

# What this machine needs to reach the registries is needed inside too: its certificates and the configuration of cargo
# and pip.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
if [ -f /etc/pip.conf ]; then cp /etc/pip.conf "$root/etc/"; fi
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mkdir "$root/opt/rust"
chroot "$root" useradd --create-home builder
for home in root home/builder; do
    mkdir -p "$root/$home/.cargo" "$root/$home/ciphermill"
    for config in "${CARGO_HOME:-$HOME/.cargo}"/config*; do
        if [ -f "$config" ]; then cp "$config" "$root/$home/.cargo/"; fi
    done
    git archive "$exported" | tar -x -C "$root/$home/ciphermill"
done
chroot "$root" chown -R builder:builder /home/builder

mapfile -t passed < <(env | grep -E '^(https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY|(CARGO_(HTTP|INCREMENTAL|NET|REGISTR)|PIP_)[A-Z_]*)=' || true)

inside() { # inside USER HOME COMMAND
    local toolchain
    toolchain=$(rustc --print sysroot)
    # shellcheck disable=SC2016 # the inner shell expands these
    unshare --mount --pid --fork --kill-child bash -euc '
        root=$1 toolchain=$2 user=$3; shift 3
        mount --rbind /dev "$root/dev"
        mount -t proc proc "$root/proc"
        mount --bind -o ro "$toolchain" "$root/opt/rust"
        exec chroot --userspec="$user:$user" "$root" env -i "$@"
    ' inside "$root" "$toolchain" "$1" "HOME=$2" "USER=$1" LANG=C.UTF-8 \
        PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${passed[@]}" \
        bash -c "cd ~/ciphermill && $3" </dev/null &
    running=$!
    local status=0
    wait "$running" || status=$?
    running=
    return "$status"
}

summary=()
run_all() { # run_all USER HOME
    local command start list
    IFS=';' read -ra list <<<"$commands"
    for command in "${list[@]}"; do
        command=${command#"${command%%[![:space:]]*}"}
        printf '\n== %s: %s\n' "$1" "$command"
        start=$SECONDS
        inside "$1" "$2" "$command" || { echo "FAILED as $1: $command" >&2; exit 1; }
        summary+=("$(printf '%4d s  %-8s %s' $((SECONDS - start)) "$1" "$command")")
    done
}
# The plain user finds the packages of Debian that root's commands have installed.
[[ " $users " == *" root "* ]] || inside root /root "scripts/setup.sh test"
for user in $users; do
    home=$(chroot "$root" getent passwd "$user" | cut -d: -f6)
    run_all "$user" "$home"
    # The next user builds everything again: this disk space is needed once, not twice.
    rm -rf --one-file-system "${root:?}$home/ciphermill"
done

printf '\n== fresh: all passed on an export of %s\n' "$exported"
printf '%s\n' "${summary[@]}"
