#!/usr/bin/env bash
# `make bench`: builds the workspace bench/ with all peers (minutes, once) and runs ours and theirs side by side; CASES picks
# families of cases. It prints a table and writes bench/results.json with the rows of this run, and no others;
# for modexp and paillier alone it is bench/paillier.json, for hmvp or table alone bench/hmvp.json or bench/table.json;
# BENCH_OUTPUT names another file, with its whole path. BENCH_ARGS is passed on:
# --quick, --only TEXT, --params NAME, --cpu-time; the program's --help tells more.
#
# CASES=python measures the Python package, as an installed wheel, in one Python process with its peers
# (bench/python/ciphermill_bench), and writes bench/python.json. CASES=federated measures federated logistic regression
# likewise, writes bench/federated.json and draws docs/federated/iteration.png from it. Each goes with no other family.
#
# CASES=ray measures products by threads and by workers of Ray on several nodes, all on this machine, with a wheel in .venv. It
# writes bench/ray.json and draws docs/howto/ray/curve.png from it. It goes with no other family.
#
# Exits with 1 if any result of ours differs from a peer's. The times mean something on an idle machine only.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${CASES:-} =~ ^(python|federated)$ ]]; then
    scripts/setup.sh package
    wheel=$(scripts/python.sh build)
    # The command of the same sources.
    cargo build --release --locked -p ciphermill
    python=bench/.package/bin/python
    "$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
    # NumPy chooses its kernels by the CPU alone; nothing but the environment, the benchmark and, for certificates and a proxy,
    # the shared parts of the tests is on the path of modules.
    # shellcheck disable=SC2086 # several arguments
    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE PYTHONPATH="$PWD/bench/python:$PWD/python/tests" "$python" -m ciphermill_bench \
        --family "$CASES" --command "${CARGO_TARGET_DIR:-target}/release/ciphermill" \
        --output "${BENCH_OUTPUT:-$PWD/bench/$CASES.json}" ${BENCH_ARGS:-}
    # The picture is of the committed record.
    if [ "$CASES" = federated ] && [ -z "${BENCH_OUTPUT:-}" ]; then scripts/federated-picture.sh; fi
    exit
elif [ "${CASES:-}" = ray ]; then
    scripts/python.sh install
    cargo build --release --locked -p ciphermill
    # shellcheck disable=SC2086 # several arguments
    PYTHONPATH=$PWD/bench/python .venv/bin/python -m ciphermill_bench.ray \
        --command "${CARGO_TARGET_DIR:-target}/release/ciphermill" \
        --output "${BENCH_OUTPUT:-$PWD/bench/ray.json}" ${BENCH_ARGS:-}
    if [ -z "${BENCH_OUTPUT:-}" ]; then scripts/ray-picture.sh; fi
    exit
elif [[ ,${CASES:-}, =~ ,(python|federated|ray), ]]; then
    echo "bench.sh: the families python, federated and ray run alone; use CASES=python, for example" >&2
    exit 2
fi

# The big integers' peers want libraries of Debian's and packages of PyPI's: only where their families are asked for.
features=()
integers='(^|,)(modexp|paillier)(,|$)'
if [ -z "${CASES:-}" ] || [[ $CASES =~ $integers ]]; then
    scripts/setup.sh bench
    CIPHERMILL_BENCH_PYTHON=$PWD/bench/.venv/bin/python3
    CIPHERMILL_BENCH_CRYPTO_MB=$PWD/bench/.venv/lib/libcrypto_mb.so
    export CIPHERMILL_BENCH_PYTHON CIPHERMILL_BENCH_CRYPTO_MB
else
    scripts/setup.sh build
    features=(--no-default-features)
fi
if [ -z "${CASES:-}" ] || [[ $CASES =~ (^|,)table(,|$) ]]; then
    scripts/setup.sh concrete
    CIPHERMILL_BENCH_CONCRETE=$PWD/bench/.concrete/bin/python3
    export CIPHERMILL_BENCH_CONCRETE
fi
output=results.json
[[ ${CASES:-} =~ ^(modexp|paillier)(,(modexp|paillier))*$ ]] && output=paillier.json
[[ ${CASES:-} =~ ^(hmvp|table)$ ]] && output=$CASES.json
output=${BENCH_OUTPUT:-$output}
# Run from bench/, whose .cargo/config.toml compiles the peers for this CPU.
cd bench
# Lattigo is a Go module; its version and its checksums are in bench/peers/lattigo. Without Go its rows are left out.
lattigo=${CARGO_TARGET_DIR:-target}/lattigo
if command -v go >/dev/null; then
    mkdir -p "$(dirname "$lattigo")"
    lattigo=$(cd "$(dirname "$lattigo")" && pwd)/lattigo
    (cd peers/lattigo && go build -o "$lattigo" .)
    export CIPHERMILL_BENCH_LATTIGO=$lattigo
fi
cargo build --release --locked "${features[@]}"
# crypto_mb finds there what it names.
[ ${#features[@]} = 0 ] && export LD_LIBRARY_PATH=$PWD/.venv/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# shellcheck disable=SC2086 # several arguments
exec "${CARGO_TARGET_DIR:-target}/release/ciphermill-bench" ${CASES:+--cases "$CASES"} --output "$output" ${BENCH_ARGS:-}
