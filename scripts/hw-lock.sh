# shellcheck shell=bash
# Sourced by what writes into target/hw: one at a time, the others wait for it to end.
hw_build=${CARGO_TARGET_DIR:-target}/hw
mkdir -p "$hw_build"
exec {hw_lock}>"$hw_build/lock"
if ! flock --nonblock "$hw_lock"; then
    echo "Waiting: something else is at work in $hw_build"
    flock "$hw_lock"
fi
