#!/usr/bin/env bash
# Draws the picture of docs/howto/ray.md from bench/ray.json. `make bench CASES=ray` calls it.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh plots
.tools/plots/bin/python scripts/ray_plots.py
# What it was drawn from and by, for `make test`, which has no matplotlib.
sha256sum scripts/ray_plots.py bench/ray.json docs/howto/ray/curve.png >docs/howto/ray/pictures.sha256
