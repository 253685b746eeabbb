#!/usr/bin/env bash
# find-python.sh VERSION: prints the path of an interpreter of that version (3.11, for example) that can make environments;
# exit status 1 without one. It may be of Debian, or of pyenv, whose commands fail for a version that is not selected.
set -euo pipefail
# A command of pyenv is resolved, as the version that it selects depends on the folder.
code='import ensurepip, sys
if "%d.%d" % sys.version_info[:2] != sys.argv[1]: sys.exit(1)
print(sys.executable)'
for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python python3; do
    if "$candidate" -c "$code" "$1" 2>/dev/null; then exit 0; fi
done
exit 1
