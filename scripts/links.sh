#!/usr/bin/env bash
# Every relative link of every Markdown page must lead to a file or folder that exists. Code is not looked at.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck disable=SC2016 # awk expands these
links() { # one line for each: page, tab, target
    find . \( -name '.?*' -o -name 'target*' \) -prune -o -name '*.md' -print0 | sort -z | xargs -0 -r awk '
        FNR == 1 { fenced = 0 }
        /^ *(```|~~~)/ { fenced = !fenced; next }
        fenced { next }
        {
            gsub(/`[^`]*`/, "")
            while (match($0, /\]\([^) ]+/)) {
                link = substr($0, RSTART + 2, RLENGTH - 2)
                $0 = substr($0, RSTART + RLENGTH)
                sub(/#.*/, "", link)
                if (link != "" && link !~ /^[a-z]+:/) print FILENAME "\t" link
            }
        }'
}

count=0 broken=0
while IFS=$'\t' read -r page link; do
    count=$((count + 1))
    if [ ! -e "$(dirname "$page")/$link" ]; then
        echo "$page: no such file: $link" >&2
        broken=$((broken + 1))
    fi
done < <(links)
echo "$count relative links, $broken broken"
[ "$broken" -eq 0 ]
