#!/usr/bin/env bash
# python-bare.sh WHEEL [tests]: installs the wheel into a bare environment of every supported Python on this machine, with NumPy
# alone, and computes a product there; with `tests`, adds the tools of scripts/python-tools.txt and runs python/tests, which use
# the command that CIPHERMILL_COMMAND names.
# A Python that is not found is listed; CIPHERMILL_REQUIRE=all makes it a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

install() { # install OPTION…: into the environment of $version
    "$work/$version/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$@"
}

product() { # with the names of all packages
    local installed
    installed=$("$work/$version/bin/pip" list --format freeze --disable-pip-version-check | grep -v '^\(pip\|setuptools\)=' | tr '\n' ' ')
    (cd "$work" && "$work/$version/bin/python" - "$installed" <<'PYTHON'
import sys

import numpy as np

import ciphermill as cm

plan = cm.MatVecPlan(1024, 256)
client = plan.keygen()
matrix = np.arange(1024 * 256).reshape(1024, 256) % 256 - 128
x = np.arange(256) - 128
u = client.decrypt(plan.server(client.evaluation).prepare(matrix) @ client.encrypt(x))
assert np.array_equal(u, matrix @ x)
print(f"Python {sys.version.split()[0]}: a product is exact, with {sys.argv[1]}")
PYTHON
    )
}

tests() { # the closing line of pytest, with its counts
    local log=$work/$version.log result=0
    install -r scripts/python-tools.txt
    "$work/$version/bin/python" -m pytest -q -p no:cacheprovider python/tests >"$log" 2>&1 || result=1
    [ $result = 0 ] || cat "$log" >&2
    echo "Python $("$work/$version/bin/python" -c 'import platform; print(platform.python_version())'), tests: $(tail -n 1 "$log")"
    return $result
}

for version in 3.11 3.12 3.13; do
    if ! interpreter=$(scripts/find-python.sh "$version"); then
        echo "not run: Python $version is not on this machine"
        [ "${CIPHERMILL_REQUIRE:-}" != all ] || status=1
        continue
    fi
    "$interpreter" -m venv "$work/$version"
    install "$wheel"
    product
    [ "${2:-}" != tests ] || tests || status=1
done
exit $status
