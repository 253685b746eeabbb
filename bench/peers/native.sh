#!/bin/sh
# Cargo's rustc wrapper for this workspace (.cargo/config.toml).
#
# Peers, their dependencies and the crates that instantiate their generic code are compiled for this CPU. Ours is built as it
# ships, for any x86-64, and picks its path at run time: with target-cpu=native the rows `portable` and `avx2` would hold
# AVX-512 code.
case $CARGO_PKG_NAME in
ciphermill-bench-integers | ciphermill-bench-peers) native=yes ;;
ciphermill-*) native=no ;;
*) native=yes ;;
esac

if [ $native = yes ] && [ -n "$CARGO_PKG_NAME" ]; then
    exec "$@" -C target-cpu=native
fi
exec "$@"
