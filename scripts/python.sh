#!/usr/bin/env bash
# The Python package: builds the extension module crates/pyext and puts python/ciphermill around it.
#   python.sh stage    the package in target/python, with the module of the profile `test`, which has debug assertions
#   python.sh test     stages it; stubs, types and tests
#   python.sh install  `make python`: a wheel of the profile `release`, installed into .venv
#   python.sh build    the same wheel in target/wheels; prints its path
#   python.sh wheel    `make wheel`: a wheel in target/wheels, installed into a bare environment of every supported Python
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
python=.venv/bin/python

stage() {
    # All tests are selected, so that nothing is built again after `make test` has built them; the module is beside them.
    cargo test --quiet --locked --workspace --features ciphermill/rtl --tests --no-run
    rm -rf "$target/python"
    mkdir -p "$target/python"
    cp -r python/ciphermill "$target/python/ciphermill"
    cp "$target/debug/deps/lib_native.so" "$target/python/ciphermill/_native.abi3.so"
}

wheel() {
    rm -rf "$target/wheels"
    .venv/bin/maturin build --quiet --locked --out "$target/wheels"
    ls "$target"/wheels/ciphermill-*.whl
}

case "${1:-}" in
    stage)
        stage
        ;;
    test)
        stage
        export PYTHONPATH="$target/python" CIPHERMILL_COMMAND="$target/debug/ciphermill"
        "$python" -m mypy.stubtest --mypy-config-file pyproject.toml --concise ciphermill._native
        "$python" -m mypy --strict --package ciphermill
        "$python" -m mypy --strict python/tests/user_code.py
        # The tests of a file share costly objects. Ray has 30 seconds to start a node, so its tests run alone.
        "$python" -m pytest -q -p no:cacheprovider -n "$(nproc)" --dist loadfile --ignore-glob '*/test_ray*' python/tests
        "$python" -m pytest -q -p no:cacheprovider python/tests/test_ray*.py
        ;;
    install)
        scripts/setup.sh python
        file=$(wheel)
        "$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$file"
        echo "Installed into .venv: $(cd / && "$OLDPWD/$python" -c 'import ciphermill; print(ciphermill.__version__, ciphermill.__file__)')"
        ;;
    build)
        scripts/setup.sh python >&2
        wheel
        ;;
    wheel)
        scripts/setup.sh python
        file=$(wheel)
        echo "$file: $(stat -c %s "$file") bytes"
        scripts/python-bare.sh "$file"
        ;;
    *)
        echo "usage: python.sh stage|test|install|build|wheel" >&2
        exit 2
        ;;
esac
