# shellcheck shell=dash
# What the guest tries, run by init with busybox's shell, descriptor 3 to the report. Variables, given on the command line of run.sh:
#   PORT              of the target, on the host's loopback
#   NQN               the subsystem
#   HOST_A, HOST_B    host names that the target lets in
#   STRANGER          one that it does not
#   BLOCKS            the namespace's size in blocks of 4,096 bytes, a power of two
#   OBJECTS           if 1: /job holds objects, and steps-objects.sh is run too
# If /job/namespaces exists, steps-namespaces.sh is run too.
# The target has one namespace, number 1, that both hosts see. Its first 128 MiB are written over.

# The host's loopback, as seen from the two networks. nvme-cli 2.3 takes a second connection to the same address for the
# first one even when the host's name is another, so the other hosts come by the other network.
AT_A=10.0.2.2
AT_B=10.0.3.2
MIB=1048576
PLAIN_MIB=1 # where the 64 MiB of the plain steps begin

# Busybox's shell takes its own applets before any program in PATH.
cmp() { /debian/cmp "$@"; }
blkdiscard() { /debian/blkdiscard "$@"; }
fallocate() { /debian/fallocate "$@"; }
nv() { timeout 20 nvme "$@"; }

clock() { # now = milliseconds since boot, without a process
    read -r up _ </proc/uptime
    now=${up%.*}${up#*.}0
}

step() { # step NAME COMMAND [ARGUMENT…]: run it, report whether it succeeded; its last line is the detail
    name=$1
    shift
    clock
    began=$now
    if "$@" >/tmp/said 2>&1; then verdict=ok lines=1; else verdict=FAIL lines=6; fi
    clock
    detail=$(tail -n $lines /tmp/said | tr -s '\r\n\t ' '    ' | cut -c 1-400)
    echo "STEP $name $verdict $((now - began)) $detail" >&3
    [ $verdict = ok ] && return
    echo "--- $name"
    cat /tmp/said
    dmesg | tail -n 12
    return 1
}

wait_for() { # wait_for COMMAND…: until it succeeds, ten seconds at most
    clock
    last=$((now + 10000))
    until "$@"; do
        clock
        [ "$now" -lt $last ] || { echo "waited 10 s for: $*"; return 1; }
        usleep 20000
    done
}

field() { # field NAME: the value of a line "name : value" of nvme-cli
    sed -n "s/^$1[ 	]*:[ 	]*//p" | head -n 1
}

equal() { # equal WHAT GIVEN EXPECTED
    [ "$2" = "$3" ] || { echo "$1 is '$2', not '$3'"; return 1; }
}

# --- connections ---

address() { if [ "$1" = "$HOST_A" ]; then echo $AT_A; else echo $AT_B; fi; }

host_id() { # a host's identifier; one name, one identifier
    case $1 in
        "$HOST_A") echo 11111111-2222-4333-8444-00000000000a ;;
        "$HOST_B") echo 11111111-2222-4333-8444-00000000000b ;;
        *) echo 11111111-2222-4333-8444-0000000000ff ;;
    esac
}

controllers() { # their names, in one line
    for one in /sys/class/nvme/nvme*; do
        if [ -e "$one" ]; then printf '%s ' "${one##*/}"; fi
    done
}

connect() { # connect HOST [OPTION…]: controller = its name, as nvme0
    who=$1 controller=
    shift
    before=" $(controllers) "
    nv connect -t tcp -a "$(address "$who")" -s "$PORT" -n "$NQN" -q "$who" -I "$(host_id "$who")" "$@" || return 1
    for one in $(controllers); do
        case $before in *" $one "*) ;; *) controller=$one ;; esac
    done
    [ -n "$controller" ] || { echo "connected, but there is no new controller"; return 1; }
    wait_for live "$controller" && wait_for paths "$controller"
}

live() { [ "$(cat /sys/class/nvme/"$1"/state)" = live ]; }

paths() { # device = the namespace's block device; with two controllers the kernel hides each path behind one device
    for path in /sys/class/nvme/"$1"/nvme*n1; do
        [ -e "$path" ] || return 1
        device=/dev/$(basename "$path" | sed 's/c[0-9]*n/n/')
        [ -b "$device" ] && [ "$(blockdev --getsize64 "$device")" -gt 0 ]
        return
    done
}

by_uuid() { echo /dev/disk/by-id/nvme-uuid."$1"; } # the name of a namespace that does not depend on the order of arrival

links() { # makes /dev/disk/by-id as udev does: a name by the identifier that the kernel has of each namespace
    mkdir -p /dev/disk/by-id
    for one in /sys/class/block/nvme*n*; do
        one=${one##*/}
        case $one in *c*n*) continue ;; esac # a path, hidden behind its device
        wwid=$(cat /sys/class/block/"$one"/wwid 2>/dev/null) || continue
        ln -sf /dev/"$one" "/dev/disk/by-id/nvme-$wwid"
    done
}

gone() { ! [ -e /sys/class/nvme/"$1" ]; }

disconnect() { # disconnect CONTROLLER…
    for one in "$@"; do
        [ -n "$one" ] || return 1
        nv disconnect -d "$one" && wait_for gone "$one" || return 1
    done
}

discover() {
    nv discover -t tcp -a $AT_A -s "$PORT" -q "$HOST_A" -I "$(host_id "$HOST_A")" >/tmp/page || { cat /tmp/page; return 1; }
    grep -E "^subnqn: +$NQN\$" /tmp/page || { echo "the log page does not list $NQN:"; cat /tmp/page; return 1; }
    equal trtype "$(field trtype </tmp/page)" tcp && equal trsvcid "$(field trsvcid </tmp/page)" "$PORT" &&
        grep -c '^=====Discovery Log Entry' /tmp/page
}

connect_first() {
    connect "$HOST_A" && first=$controller && links || return 1
    disk=/dev/disk/by-id/nvme-$(cat /sys/class/block/"${device##*/}"/wwid)
    [ "$(readlink -f "$disk")" = "$device" ] || { echo "$disk is not $device"; return 1; }
    echo "$first $disk, $(cat /sys/class/nvme/"$first"/queue_count) queues"
}

refuses_strangers() {
    if connect "$STRANGER"; then
        disconnect "$controller"
        echo "$STRANGER was let in"
        return 1
    fi
    # It may ask what there is, but this subsystem is not for it.
    nv discover -t tcp -a $AT_B -s "$PORT" -q "$STRANGER" -I "$(host_id "$STRANGER")" >/tmp/page 2>&1
    if grep -q "$NQN" /tmp/page; then echo "$STRANGER finds $NQN"; return 1; fi
    # The kernel's words for status 0x184, Connect Invalid Host.
    dmesg | grep "subsystem $NQN is not allowed, hostnqn: $STRANGER"
}

# --- what the controller says of itself ---

identify_controller() {
    nv id-ctrl /dev/"$first" >/tmp/page || return 1
    cat /tmp/page
    equal subnqn "$(field subnqn </tmp/page)" "$NQN" && equal sqes "$(field sqes </tmp/page)" 0x66 &&
        equal cqes "$(field cqes </tmp/page)" 0x44 &&
        equal vwc "$(($(field vwc </tmp/page) & 1))" 0 &&
        equal cntlid "$(($(field cntlid </tmp/page)))" "$(cat /sys/class/nvme/"$first"/cntlid)" || return 1
    if ! [ "$(field kas </tmp/page)" -gt 0 ] || ! [ "$(field ioccsz </tmp/page)" -ge 4 ]; then echo "kas or ioccsz"; return 1; fi
    echo "mdts $(field mdts </tmp/page), oncs $(field oncs </tmp/page), ver $(field ver </tmp/page)"
}

identify_namespace() {
    nv id-ns /dev/"$first" -n 1 >/tmp/page || return 1
    cat /tmp/page
    equal nsze "$(($(field nsze </tmp/page)))" "$BLOCKS" || return 1
    grep -E '^lbaf +[0-9]+ : ms:0 +lbads:12 .*\(in use\)' /tmp/page || { echo "no format of 4,096 bytes"; return 1; }
    [ $(($(field nuse </tmp/page))) -le $(($(field ncap </tmp/page))) ] || { echo "nuse above ncap"; return 1; }
    nv list-ns /dev/"$first" >/tmp/page || return 1
    grep -q '0x1$' /tmp/page || { cat /tmp/page; return 1; }
    nv ns-descs /dev/"$first" -n 1 >/tmp/page || return 1
    grep -E 'nguid|uuid|eui64' /tmp/page
}

block_device() {
    queue=/sys/class/block/$(basename "$(readlink -f "$disk")")/queue
    equal "the size" "$(blockdev --getsize64 "$disk")" $((BLOCKS * 4096)) &&
        equal "the block size" "$(cat "$queue"/logical_block_size)" 4096 &&
        equal "the cache" "$(cat "$queue"/write_cache)" "write through" || return 1
    echo "max_sectors_kb $(cat "$queue"/max_sectors_kb), write_zeroes $(cat "$queue"/write_zeroes_max_bytes)," \
        "discard $(cat "$queue"/discard_max_bytes)"
}

# --- plain blocks: /tmp/data is what must be there ---

random_data() {
    if [ -e /job/random ]; then mv /job/random /tmp/data; else dd if=/dev/urandom of=/tmp/data bs=1M count=64; fi
    equal "the size" "$(stat -c %s /tmp/data)" $((64 * MIB))
}

put() { # put DEVICE FROM_MIB MIB: of the data, to the same place
    dd if=/tmp/data of="$1" bs=1M skip="$2" seek=$(($2 + PLAIN_MIB)) count="$3" oflag=direct conv=notrunc 2>&1
}

same() { # same DEVICE FROM_MIB MIB: does the device hold the data there?
    back=/tmp/back.$2
    dd if="$1" of="$back" bs=1M skip=$(($2 + PLAIN_MIB)) count="$3" iflag=direct 2>&1 &&
        equal "the length" "$(stat -c %s "$back")" $(($3 * MIB)) &&
        cmp -n $(($3 * MIB)) -i $(($2 * MIB)):0 /tmp/data "$back" && rm "$back"
}

blank() { # blank FROM_BLOCK BLOCKS: the data has zeros there from now on
    dd if=/dev/zero of=/tmp/data bs=4k seek="$1" count="$2" conv=notrunc 2>/dev/null
}

small_pieces() { # single blocks in odd places, and a piece that is no multiple of anything
    dd if=/dev/urandom of=/tmp/piece bs=4k count=37 2>/dev/null
    for at in 0 1 255 256 511 1023; do
        dd if=/tmp/piece of=/tmp/data bs=4k seek=$at skip=$((at % 37)) count=1 conv=notrunc 2>/dev/null
        dd if=/tmp/piece of="$disk" bs=4k seek=$((at + PLAIN_MIB * 256)) skip=$((at % 37)) count=1 oflag=direct conv=notrunc \
            2>/dev/null || return 1
    done
    dd if=/tmp/piece of=/tmp/data bs=4k seek=300 conv=notrunc 2>/dev/null
    dd if=/tmp/piece of="$disk" bs=148k count=1 seek=$(((300 + PLAIN_MIB * 256) * 4096)) oflag=direct,seek_bytes \
        conv=notrunc 2>/dev/null || return 1
    same "$disk" 0 4
}

flush() {
    nv flush /dev/"$first" -n 1 && blockdev --flushbufs "$disk" && dd if=/dev/null of="$disk" conv=fsync,notrunc
}

at_block() { echo $(($1 + PLAIN_MIB * 256)); } # a block of the data, as the device counts
at_byte() { echo $((($1 + PLAIN_MIB * 256) * 4096)); }

write_zeroes() { # by the command itself, and by the two calls of the kernel that lead to it
    nv write-zeroes /dev/"$first" -n 1 -s "$(at_block 256)" -c 255 && blank 256 256 &&
        blkdiscard -z -o "$(at_byte 1000)" -l $((600 * 4096)) "$disk" && blank 1000 600 &&
        fallocate -z -o "$(at_byte 3000)" -l $((5 * 4096)) "$disk" && blank 3000 5 && same "$disk" 0 12
}

deallocate() {
    nv dsm /dev/"$first" -n 1 -d -s "$(at_block 5120),$(at_block 5200)" -b 16,1 && blank 5120 16 && blank 5200 1 &&
        blkdiscard -o "$(at_byte 5632)" -l $((1024 * 4096)) "$disk" && blank 5632 1024 && same "$disk" 20 6
}

compare() {
    dd if=/tmp/data of=/tmp/piece bs=4k skip=8000 count=3 2>/dev/null
    nv compare /dev/"$first" -n 1 -s "$(at_block 8000)" -c 2 -z 12288 -d /tmp/piece || return 1
    printf x | dd of=/tmp/piece bs=1 seek=9000 conv=notrunc 2>/dev/null
    if nv compare /dev/"$first" -n 1 -s "$(at_block 8000)" -c 2 -z 12288 -d /tmp/piece >/tmp/page 2>&1; then
        echo "blocks that differ were found equal"
        return 1
    fi
    grep -i 'compare failure' /tmp/page || { cat /tmp/page; return 1; }
}

beyond_the_end() { # a read past the last block is refused by the target, not by the kernel, when nvme-cli sends it
    if nv read /dev/"$first" -n 1 -s "$BLOCKS" -c 0 -z 4096 -d /tmp/piece >/tmp/page 2>&1; then
        echo "read a block that is not there"
        return 1
    fi
    grep -i 'lba.*out of range\|LBA_RANGE' /tmp/page || { cat /tmp/page; return 1; }
}

error_log() { # the refused read must be in it
    nv error-log /dev/"$first" -e 8 >/tmp/page || return 1
    cat /tmp/page
    grep -q '^lba[	 ]*: 0x' /tmp/page && equal "the block of the last error" "$(($(field lba </tmp/page)))" "$BLOCKS" || return 1
    echo "status $(field status_field </tmp/page)"
}

smart_log() {
    nv smart-log /dev/"$first" >/tmp/page || return 1
    cat /tmp/page
    equal critical_warning "$(($(field critical_warning </tmp/page)))" 0 || return 1
    written=$(field host_write_commands </tmp/page)
    [ "${written:-0}" -gt 60 ] || { echo "host_write_commands is $written"; return 1; }
    echo "$(field 'Data Units Written' </tmp/page) written in $written commands"
}

# --- more connections ---

digests() { # digests OPTION…: a connection of its own with them, eight MiB there and back
    connect "$HOST_B" "$@" && put "$device" 32 8 && same "$device" 32 8
    result=$?
    disconnect "$controller" && [ $result = 0 ] && echo "$*"
}

raw() { # raw CONTROLLER FROM_BLOCK: a MiB there and back through this controller alone, in commands of 128 KiB
    at=$2
    while [ "$at" -lt $(($2 + 256)) ]; do
        dd if=/tmp/data of=/tmp/raw."$1" bs=128k skip=$((at / 32)) count=1 2>/dev/null &&
            nv write /dev/"$1" -n 1 -s "$(at_block "$at")" -c 31 -z 131072 -d /tmp/raw."$1" &&
            nv read /dev/"$1" -n 1 -s "$(at_block "$at")" -c 31 -z 131072 -d /tmp/raw."$1".back &&
            cmp /tmp/raw."$1" /tmp/raw."$1".back || return 1
        at=$((at + 32))
    done
}

two_at_once() { # two hosts, each by its own controller, at the same time
    connect "$HOST_B" && second=$controller || return 1
    raw "$first" 10240 >/tmp/raw.1 2>&1 &
    one=$!
    raw "$second" 14336 >/tmp/raw.2 2>&1 || { cat /tmp/raw.2; return 1; }
    wait $one || { cat /tmp/raw.1; return 1; }
    echo "$first and $second"
}

two_paths() { # the kernel spreads the commands of one device over both controllers
    policy=$(ls /sys/class/nvme-subsystem/*/iopolicy) && echo round-robin >"$policy" || return 1
    put "$disk" 40 8 >/tmp/put 2>&1 &
    writer=$!
    same "$disk" 8 8 || return 1
    wait $writer || { cat /tmp/put; return 1; }
    same "$disk" 40 8
}

path_lost() { # one of two connections goes while its device is in use; the other carries on
    same "$disk" 24 16 >/tmp/lost 2>&1 &
    reader=$!
    disconnect "$second" || return 1
    wait $reader || { cat /tmp/lost; return 1; }
    tail -n 1 /tmp/lost
}

reset_controller() { # the kernel tears all queues down and connects again
    nv reset /dev/"$first" && wait_for live "$first" && put "$disk" 20 4 && same "$disk" 20 4
}

keep_alive() { # a host that asks to be dropped after a second of silence, and is silent for two: the kernel keeps it alive
    connect "$HOST_B" -k 1 -i 1 -Q 16 || return 1
    sleep 2
    dmesg | tail -n 3
    live "$controller" && put "$device" 60 1 && same "$device" 60 1 && disconnect "$controller"
}

disconnect_all() {
    nv disconnect -n "$NQN" && wait_for gone "$first" || return 1
    equal "what is left" "$(controllers)$(ls /dev/nvme*n* 2>/dev/null)" ""
}

step discover discover
step connect connect_first || exit 0
step identify-controller identify_controller
step identify-namespace identify_namespace
step block-device block_device
step data random_data
step write put "$disk" 0 64
step read same "$disk" 0 64
step small-pieces small_pieces
step flush flush
step write-zeroes write_zeroes
step deallocate deallocate
step compare compare
step beyond-the-end beyond_the_end
step error-log error_log
step smart-log smart_log
step stranger refuses_strangers
step header-digest digests --hdr-digest
step data-digest digests --data-digest
step both-digests digests --hdr-digest --data-digest
step two-at-once two_at_once
step two-paths two_paths
step path-lost path_lost
step keep-alive keep_alive
step reset reset_controller
step read-all same "$disk" 0 64
# shellcheck disable=SC1091 # it is beside this file in the guest
if [ "$OBJECTS" = 1 ]; then . /steps-objects.sh; fi
# shellcheck disable=SC1091
if [ -e /job/namespaces ]; then . /steps-namespaces.sh; fi
step disconnect disconnect_all
