#!/usr/bin/env bash
# Boots the Linux guest and lets it drive an NVMe/TCP target on this machine's loopback, which the guest reaches as 10.0.2.2
# and, by a second network, as 10.0.3.2.
#   run.sh [--shell] [--console FILE] [--job FOLDER] NAME=VALUE…
# Each NAME=VALUE is a variable of the guest's init; its steps file says which there are (PORT at least).
#   --shell          a shell on this terminal, connected to nothing yet, in place of the steps; `poweroff -f` ends it
#   --console FILE   where the kernel's messages and the output of failed steps go (else: nowhere)
#   --job FOLDER     appears in the guest as /job
# Standard output is what the steps report: lines "STEP name ok|FAIL milliseconds detail", and the last line, "END".
set -euo pipefail
here=$(realpath "$(dirname "$0")")
guest=$here/../../.tools/guest

shell=
console=/dev/null
job=
while [ $# -gt 0 ]; do
    case $1 in
        --shell) shell=1 ;;
        --console) console=$2; shift ;;
        --job) job=$2; shift ;;
        *=*) break ;;
        *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
cmp -s "$here/build.sh" "$guest/built-by" || { echo "There is no guest of this version: run scripts/setup.sh guest" >&2; exit 2; }

work=$(mktemp -d "${TMPDIR:-/tmp}/ciphermill-guest.XXXXXX")
qemu=
cleanup() {
    if [ -n "$qemu" ]; then kill -KILL "$qemu" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
mkdir "$work/tree"
cp "$here/init" "$here"/steps*.sh "$work/tree/"
if [ -n "$job" ]; then cp -r "$job" "$work/tree/job"; fi
# The kernel unpacks archives one after the other, so that what is of this run alone follows what is always the same.
{
    cat "$guest/initramfs.cpio"
    (cd "$work/tree" && find . | "$guest/busybox" cpio -o -H newc 2>/dev/null)
} >"$work/initramfs.cpio"
rm -rf "$work/tree"

line="console=ttyS0 quiet panic=-1 mitigations=off nokaslr $*"
# pc, not microvm: its BIOS path is the one that everybody's QEMU has. There is no KVM: it is not there on every machine, and
# a test must run the same way everywhere.
options=(-accel "tcg,thread=multi" -cpu max -smp 2 -m 1G -nodefaults -display none -no-reboot
    -kernel "$guest/vmlinux" -initrd "$work/initramfs.cpio"
    -netdev "user,id=a,ipv6=off,net=10.0.2.0/24" -device "e1000,netdev=a,romfile="
    -netdev "user,id=b,ipv6=off,net=10.0.3.0/24" -device "e1000,netdev=b,romfile=")
if [ -n "$shell" ]; then
    qemu-system-x86_64 "${options[@]}" -append "$line SHELL_WANTED=1" -serial mon:stdio
    exit
fi
qemu-system-x86_64 "${options[@]}" -append "$line" -chardev "file,id=console,path=$console" -serial chardev:console \
    -chardev "stdio,id=report,signal=off" -serial chardev:report </dev/null &
qemu=$!
wait "$qemu"
