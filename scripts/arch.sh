#!/usr/bin/env bash
# `make arch`: runs the architecture models, writes their data into docs/arch, the figures of its pages and the README, and draws the
# pictures from the data. Cores beside the RTL of their lanes are compared in all configurations.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh plots
scripts/setup.sh hw
export CIPHERMILL_WRITE_DOCS=1
cargo test --locked -p ciphermill-arch --test report_figures
CIPHERMILL_HW=rvfhe_lane cargo test --locked -p ciphermill-cosim --test array_lane
.tools/plots/bin/python scripts/plots.py docs/arch
# What they were drawn from and by, for `make test`, which has no matplotlib.
sha256sum scripts/plots.py docs/arch/*.json docs/arch/*.png >docs/arch/pictures.sha256
