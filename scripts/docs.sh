#!/usr/bin/env bash
# The documentation site: Sphinx over docs/, with the reference of the Python package.
#   docs.sh build     `make docs`: the site in target/site/html; a warning is an error
#   docs.sh test      builds it, runs the snippets of all pages and the notebooks, and opens the site in headless Chromium
#   docs.sh test --without-browser   the same without Chromium
#   docs.sh pictures  runs the snippets and writes their pictures into the folders `pictures` of their pages
#   docs.sh notebooks runs the notebooks with a wheel of the profile `release`, and stores their outputs in them
# Nothing is compiled if the extension module is in target/python (python.sh stage).
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
site=$target/site
python=.tools/site/bin/python

staged=$target/python/ciphermill/_native.abi3.so

release() { # the package of the profile `release` in target/site/release
    local wheel
    wheel=$(scripts/python.sh build)
    rm -rf "$site/release"
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$site/release" "$wheel"
}

package() { # the package of these sources, around an extension module
    rm -rf "$site/python"
    mkdir -p "$site/python"
    cp -r python/ciphermill "$site/python/ciphermill"
    cp "$1" "$site/python/ciphermill/"
    export PYTHONPATH="$site/python:$PWD/docs/_tests" PYTHONDONTWRITEBYTECODE=1
}

build() {
    # A page that no longer exists must not stay in the site.
    rm -rf "$site/html"
    "$python" -m sphinx -q -W --keep-going -j auto -d "$site/doctrees" docs "$site/html"
    echo "The site is $site/html/index.html."
}

snippets() {
    # The command is that of the same run of make test.
    export CIPHERMILL_COMMAND="$target/debug/ciphermill"
    [ -x "$CIPHERMILL_COMMAND" ] || scripts/python.sh stage
    "$python" -m pytest -q --tb=short -p no:cacheprovider -p snippets docs python/README.md --ignore=docs/_tests
}

notebooks() {
    local result=0
    "$python" scripts/notebooks.py --check || result=1
    "$python" -m pytest -q --tb=short -p no:cacheprovider --nbmake notebooks || result=1
    return $result
}

case "${1:-} ${2:-}" in
    "build ")
        scripts/setup.sh site
        if [ -e "$staged" ]; then
            package "$staged"
        else
            # The staged module needs the tools of all tests, this one a toolchain alone.
            release
            package "$site/release/ciphermill/_native.abi3.so"
        fi
        build
        ;;
    "test " | "test --without-browser")
        [ -e "$staged" ] || scripts/python.sh stage
        package "$staged"
        failed=0
        # Most of the time, each of the two keeps one core busy.
        build &
        snippets || failed=1
        notebooks || failed=1
        if wait $!; then
            checks=docs/_tests
            [ -z "${2:-}" ] || checks=docs/_tests/test_reference.py
            CIPHERMILL_SITE=$site/html "$python" -m pytest -q --tb=short -p no:cacheprovider "$checks" || failed=1
        else
            failed=1
        fi
        exit $failed
        ;;
    "pictures ")
        scripts/setup.sh site
        [ -e "$staged" ] || scripts/python.sh stage
        package "$staged"
        CIPHERMILL_WRITE_PICTURES=1 snippets
        ;;
    "notebooks ")
        scripts/setup.sh site
        release
        PYTHONPATH=$site/release PYTHONDONTWRITEBYTECODE=1 "$python" scripts/notebooks.py
        ;;
    *)
        echo "usage: docs.sh build|test [--without-browser]|pictures|notebooks" >&2
        exit 2
        ;;
esac
