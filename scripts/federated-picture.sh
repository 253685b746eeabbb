#!/usr/bin/env bash
# Draws the picture of docs/federated.md from bench/federated.json. `make bench CASES=federated` calls it.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh plots
.tools/plots/bin/python scripts/federated_plots.py
# What it was drawn from and by, for `make test`, which has no matplotlib.
sha256sum scripts/federated_plots.py bench/federated.json docs/federated/iteration.png >docs/federated/pictures.sha256
