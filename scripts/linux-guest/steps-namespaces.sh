# shellcheck shell=dash
# shellcheck disable=SC2154 # controller and HOST_A are steps.sh's
# Several namespaces of a second server, sourced by steps.sh when /job/namespaces exists. It has one line "ID UUID" for each
# namespace. Variables besides those of steps.sh:
#   PORT_MANY, NQN_MANY   the second server's port and subsystem
# Kernels number devices by arrival, so that only the UUID tells which device is which namespace. Each step reads and writes
# by the links of /dev/disk/by-id; the host's test reads the same blocks by namespace identifiers.

MANY_BLOCK=7 # the block that is written in each

count_many() { wc -l </job/namespaces; }

many_there() {
    found=0
    for one in /sys/class/nvme/"$many"/nvme*n*; do
        if [ -e "$one" ]; then found=$((found + 1)); fi
    done
    [ "$found" = "$(count_many)" ] && links && all_linked
}

all_linked() {
    while read -r _ uuid; do
        [ -b "$(by_uuid "$uuid")" ] || return 1
    done </job/namespaces
}

connect_many() {
    port=$PORT nqn=$NQN PORT=$PORT_MANY NQN=$NQN_MANY
    connect "$HOST_A" && many=$controller && wait_for many_there
    result=$?
    PORT=$port NQN=$nqn
    [ $result = 0 ] && echo "$many, $(count_many) namespaces"
}

uuids_are_of_their_ids() { # the controller's own words
    while read -r id uuid <&4; do
        nv ns-descs /dev/"$many" -n "$id" >/tmp/page || return 1
        grep -q "^uuid *: *$uuid" /tmp/page || { cat /tmp/page; return 1; }
    done 4</job/namespaces
}

numbers_differ() { # a device's number is no namespace identifier, here already by the choice of the identifiers
    differ=0
    while read -r id uuid; do
        node=$(readlink -f "$(by_uuid "$uuid")")
        if [ "${node##*n}" != "$id" ]; then differ=$((differ + 1)); fi
        said="$said $id:${node##*/}"
    done </job/namespaces
    [ $differ -gt 0 ] || { echo "every number is an identifier:$said"; return 1; }
    echo "$said"
}

write_by_uuid() {
    while read -r id uuid; do
        yes "namespace $id is $uuid" | head -c 4096 >/tmp/mine."$id"
        dd if=/tmp/mine."$id" of="$(by_uuid "$uuid")" bs=4096 seek=$MANY_BLOCK oflag=direct conv=notrunc 2>&1 || return 1
    done </job/namespaces
}

read_by_uuid() {
    while read -r id uuid; do
        dd if="$(by_uuid "$uuid")" of=/tmp/there bs=4096 skip=$MANY_BLOCK count=1 iflag=direct 2>&1 &&
            cmp /tmp/there /tmp/mine."$id" || return 1
    done </job/namespaces
}

step many-connect connect_many
step many-descriptors uuids_are_of_their_ids
step many-numbers numbers_differ
step many-write write_by_uuid
step many-read read_by_uuid
step many-disconnect disconnect "$many"
