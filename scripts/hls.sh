#!/usr/bin/env bash
# `make hls`: compiles the choices of a transform from C, runs their schedules, maps them for UltraScale+, writes
# hw/reports/hls.json and the figures of pages, and draws docs/hls/pareto.svg. A module that was mapped before by the same tools is
# not mapped again. HLS_ARGS=--known redraws from what is mapped.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh hls
(
    . scripts/hw-lock.sh
    # shellcheck disable=SC2086 # arguments, separated by spaces
    .tools/hw-synthesis/bin/python hw/flow/hls_choices.py ${HLS_ARGS:-}
)
.tools/plots/bin/python scripts/hls_plots.py
# What it was drawn from and by, for `make test`, which has no matplotlib.
sha256sum scripts/hls_plots.py hw/reports/hls.json docs/hls/pareto.svg >docs/hls/pictures.sha256
python3 scripts/figures.py
