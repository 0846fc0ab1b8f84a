#!/bin/sh
# Says in one sentence what is missing before anything is built. Usage: preflight.sh PYTHON
python=$1

command -v "$python" >/dev/null 2>&1 || {
    echo "tastemix needs Python 3.11 or newer and found no '$python': install it, or run make PYTHON=/path/to/python3." >&2
    exit 1
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "tastemix needs Python 3.11 or newer, but '$python' is $("$python" -V 2>&1): run make PYTHON=/path/to/python3.11." >&2
    exit 1
}
"$python" -c 'import venv, ensurepip' 2>/dev/null || {
    echo "tastemix needs Python's venv module: install it (Debian and Ubuntu: apt-get install python3-venv)." >&2
    exit 1
}
"$python" -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' || {
    echo "tastemix compiles a C++ core and found no Python headers for '$python': install them (Debian and Ubuntu: apt-get install python3-dev)." >&2
    exit 1
}
command -v "${CXX:-c++}" >/dev/null 2>&1 || command -v g++ >/dev/null 2>&1 || command -v clang++ >/dev/null 2>&1 || {
    echo "tastemix compiles a C++ core and found no C++ compiler: install one (Debian and Ubuntu: apt-get install g++), or set CXX." >&2
    exit 1
}
