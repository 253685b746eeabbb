#!/usr/bin/env bash
# python-bare.sh WHEEL: installs the wheel into a bare environment of every supported Python on this machine, with NumPy alone,
# and computes a product there. A Python that is not found is listed; CIPHERMILL_REQUIRE=all makes it a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
for version in 3.11 3.12 3.13; do
    # Of Debian, or of pyenv, whose commands fail for a version that is not selected.
    interpreter=
    for candidate in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python; do
        if [ -z "$interpreter" ] && "$candidate" -c 'import ensurepip' 2>/dev/null; then interpreter=$candidate; fi
    done
    if [ -z "$interpreter" ]; then
        echo "not run: Python $version is not on this machine"
        [ "${CIPHERMILL_REQUIRE:-}" != all ] || status=1
        continue
    fi
    "$interpreter" -m venv "$work/$version"
    "$work/$version/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$wheel"
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
done
exit $status
