# shellcheck shell=dash
# shellcheck disable=SC2154 # disk and first are steps.sh's
# The paper's sequence with dd alone, sourced by steps.sh when /job holds objects. Besides the variables there:
#   KEYSWITCH, BOOTSTRAP, VECTOR, PROGRAM, X, Y   the first block of each object's place
# /job/NAME.meta is a metadata block, /job/NAME.data an object, filled up to whole blocks. Names are those of the variables in
# lower case; y-stored.meta asks that y be stored without computing, x-armed.meta that the next read of x computes.
# Reports "DATA name bytes-in-hexadecimal": what the host decrypts.

HALF=$((BLOCKS / 2)) # the metadata block of the object at block a stands at a + HALF

meta() { # meta NAME BLOCK
    dd if=/job/"$1".meta of="$disk" bs=4096 seek=$((HALF + $2)) oflag=direct conv=notrunc 2>&1
}

content() { # content NAME BLOCK
    dd if=/job/"$1".data of="$disk" bs=1M seek=$(($2 * 4096)) oflag=direct,seek_bytes conv=notrunc 2>&1
}

object() { meta "$1" "$2" && content "$1" "$2"; }

backwards() { content "$1" "$2" && meta "$1" "$2"; } # what completes an object is all of it, in whatever order

fetch() { # fetch NAME BLOCK: as many blocks as the object has, into /tmp/NAME
    size=$(stat -c %s /job/"$1".data)
    dd if="$disk" of=/tmp/"$1" bs=4096 skip="$2" count=$((size / 4096)) iflag=direct 2>&1
}

unchanged() { fetch "$1" "$2" && cmp /tmp/"$1" /job/"$1".data; }

report() { echo "DATA $1 $(xxd -p -c 256 "$2" | tr -d '\n')" >&3; }

missing_operand() { # the program reads x, which is not there yet
    if object y "$Y"; then echo "y was taken without x"; return 1; fi
    nv error-log /dev/"$first" -e 1 >/tmp/page || return 1
    cat /tmp/page
    case $(field status_field </tmp/page) in
        0x4706* | 0x6706*) echo "status $(field status_field </tmp/page), block $(field lba </tmp/page)" ;;
        *) echo "the error log does not say that a program failed"; return 1 ;;
    esac
}

compute_on_write() { # y's write runs the program, and what is read where y was written is the product
    object y "$Y" && fetch y "$Y" || return 1
    if cmp /tmp/y /job/y.data; then echo "nothing was computed"; return 1; fi
    report product /tmp/y
    dd if="$disk" of=/tmp/record bs=4096 skip=$((HALF + Y)) count=1 iflag=direct 2>&1 && report record /tmp/record
}

store_only() { meta y-stored "$Y" && content y "$Y" && unchanged y "$Y"; }

compute_on_read() { # one read of x computes, as its metadata says; the next gives x
    meta x-armed "$X" && fetch x "$X" || return 1
    if cmp /tmp/x /job/x.data; then echo "nothing was computed"; return 1; fi
    report read /tmp/x
    unchanged x "$X"
}

delete() { # deallocating the metadata block
    blkdiscard -o $(((HALF + X) * 4096)) -l 4096 "$disk" && fetch x "$X" || return 1
    dd if=/dev/zero of=/tmp/zeros bs="$(stat -c %s /tmp/x)" count=1 2>/dev/null
    cmp /tmp/x /tmp/zeros && dd if="$disk" of=/tmp/record bs=4096 skip=$((HALF + X)) count=1 iflag=direct 2>&1 &&
        cmp -n 4096 /tmp/record /tmp/zeros
}

step bootstrapping-key object bootstrap "$BOOTSTRAP"
step keyswitching-key backwards keyswitch "$KEYSWITCH"
step test-vector object vector "$VECTOR"
step program object program "$PROGRAM"
step missing-operand missing_operand
step operand object x "$X"
step operand-unchanged unchanged x "$X"
step compute-on-write compute_on_write
step store-only store_only
step compute-on-read compute_on_read
step delete delete
