#!/usr/bin/env bash
# Makes the Linux guest of the end-to-end test in .tools/guest: Debian's kernel, and an initramfs with busybox, nvme-cli, its
# libraries, and the modules of NVMe over TCP. Every package is downloaded and unpacked, none installed, so that a plain user
# can run this wherever apt-get finds Debian's packages. What a run adds (init, steps, job) is put beside it by run.sh, so that
# this has to run again only when it changes itself.
set -euo pipefail
cd "$(dirname "$0")/../.."

guest=.tools/guest
cmp -s scripts/linux-guest/build.sh "$guest/built-by" && exit 0

missing() {
    printf '%s\n' "$@" >&2
    exit 2
}
[ "$(uname -m)" = x86_64 ] || missing "The Linux guest is built of Debian's packages for x86-64; this machine is $(uname -m)."
for tool in apt-get apt-cache dpkg-deb; do
    command -v "$tool" >/dev/null || missing "The Linux guest is built of Debian's packages, and there is no $tool here."
done

work=$(mktemp -d "${TMPDIR:-/tmp}/ciphermill-guest.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/debs" "$work/root"

depends() { # depends [OPTION…] PACKAGE…: the packages that apt would install with them
    apt-cache depends --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "$@"
}
packages() { # names, one a line: the kernel behind Debian's metapackage, the tools, and the libraries that nvme links
    depends linux-image-amd64 | sed -n 's/^ *Depends: //p'
    printf '%s\n' busybox-static diffutils nvme-cli util-linux libblkid1
    # shellcheck disable=SC2046 # one word a package
    depends --recurse $(depends nvme-cli | sed -n 's/^ *Depends: \(\(lib\|zlib\).*\)/\1/p') | grep -E '^(lib|zlib)'
}

if [ "$(id -u)" -eq 0 ]; then apt-get update -qq; fi
mapfile -t list < <(packages)
[ "${#list[@]}" -gt 3 ] || missing "apt-cache knows no linux-image-amd64 or nvme-cli: run 'apt-get update' as root."
echo "Downloading ${#list[@]} packages of Debian for the Linux guest"
# apt's own user may not enter the folder; then root downloads, and apt says so: only errors are of interest.
(cd "$work/debs" && apt-get -qq -o APT::Sandbox::User=root download "${list[@]}") ||
    missing "Downloading the guest's packages failed: run 'apt-get update' as root, then try again."
for package in "$work"/debs/*.deb; do
    dpkg-deb --extract "$package" "$work/root"
done

root=$work/root
tree=$work/tree
mkdir -p "$tree"/{bin,debian,dev,lib,lib64,modules,proc,sys,tmp,etc/nvme}
cp "$root/bin/busybox" "$root/usr/sbin/nvme" "$tree/bin/"
# Two that ask the kernel for zeroes, which busybox cannot, and one that compares words, not bytes.
for tool in blkdiscard cmp fallocate; do
    cp "$(find "$root" -path "*bin/$tool" -type f -perm -1 | head -n 1)" "$tree/debian/$tool"
done

loader=$root/lib64/ld-linux-x86-64.so.2
paths=$root/lib/x86_64-linux-gnu:$root/usr/lib/x86_64-linux-gnu
for program in "$tree"/bin/nvme "$tree"/debian/*; do
    "$loader" --library-path "$paths" --list "$program" | grep -v -e linux-vdso -e ld-linux >"$work/libraries"
    while read -r name _ library _; do
        case $library in
            "$root"/*) cp -L "$library" "$tree/lib/" ;;
            *) missing "$name, which $(basename "$program") needs, is in none of the packages." ;;
        esac
    done <"$work/libraries"
done
cp -L "$loader" "$tree/lib64/"

# Modules, each after those that it needs, which it names in its own section .modinfo.
kernel_modules=$(echo "$root"/lib/modules/*/kernel)
declare -A taken=()
take() { # take MODULE, written with underscores
    [ -z "${taken[$1]:-}" ] || return 0
    taken[$1]=1
    local file need
    file=$(find "$kernel_modules" -name "${1//_/[-_]}.ko")
    [ -n "$file" ] || missing "The kernel package has no module $1."
    for need in $(tr '\0' '\n' <"$file" | sed -n 's/^depends=//p' | tr ',-' ' _'); do take "$need"; done
    cp "$file" "$tree/modules/$1.ko"
    echo "$1" >>"$tree/modules/order"
}
for module in crc32c_generic crc32c_intel e1000 nvme_tcp; do take "$module"; done

mkdir -p "$guest"
rm -f "$guest/built-by"
(cd "$tree" && find . | bin/busybox cpio -o -H newc 2>/dev/null) >"$guest/initramfs.cpio"
cp "$root/bin/busybox" "$guest/busybox"
# The unpacked kernel starts in half the time of the packed one, whose own unpacking is emulated too.
python3 - "$root"/boot/vmlinuz-* "$guest/vmlinux" <<'PYTHON'
import lzma
import struct
import sys

image = open(sys.argv[1], "rb").read()
# Fields of the boot protocol: setup_sects at 0x1f1, payload_offset at 0x248, payload_length at 0x24c.
start = (image[0x1F1] + 1) * 512 + struct.unpack_from("<I", image, 0x248)[0]
length = struct.unpack_from("<I", image, 0x24C)[0]
kernel = lzma.LZMADecompressor().decompress(image[start : start + length])
assert kernel[:4] == b"\x7fELF"
open(sys.argv[2], "wb").write(kernel)
PYTHON
(cd "$work/debs" && printf '%s\n' *.deb) >"$guest/packages"
cp scripts/linux-guest/build.sh "$guest/built-by"
