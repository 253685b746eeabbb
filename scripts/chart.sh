#!/usr/bin/env bash
# The Helm chart deploy/chart.
#   chart.sh test     lints it, checks its objects against the schemas of Kubernetes, and tests its rules; part of `make test`
#   chart.sh values   writes the table of values in deploy/chart/README.md
set -euo pipefail
cd "$(dirname "$0")/.."

python=.tools/chart/bin/python
case "${1:-}" in
    test)
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        # Nothing of the user's own Helm: plug-ins, repositories, defaults.
        export HELM_CACHE_HOME=$work/cache HELM_CONFIG_HOME=$work/config HELM_DATA_HOME=$work/data
        # The package of these sources, whose reader reads the rendered configurations.
        native=$(realpath -m "${CARGO_TARGET_DIR:-target}")/python/ciphermill/_native.abi3.so
        [ -e "$native" ] || scripts/python.sh stage
        export CIPHERMILL_PACKAGE=$work/package PYTHONDONTWRITEBYTECODE=1
        mkdir "$work/package"
        cp -r python/ciphermill "$work/package/ciphermill"
        cp "$native" "$work/package/ciphermill/"
        failed=0
        for example in deploy/chart/examples/*.yaml; do
            .tools/chart/bin/helm lint --strict --quiet --values "$example" deploy/chart || failed=1
        done
        "$python" scripts/chart/values.py --check || failed=1
        "$python" -m unittest discover --quiet --start-directory scripts/chart || failed=1
        exit $failed
        ;;
    values)
        scripts/setup.sh chart
        "$python" scripts/chart/values.py
        ;;
    *)
        echo "usage: chart.sh test|values" >&2
        exit 2
        ;;
esac
