#!/bin/sh
# The engine's tests with the core compiled for a sanitizer, in a build folder of its own.
#
# Run: sh tools/sanitize.sh address,undefined | thread [pytest's arguments]
#
# The sanitizer is loaded into Python before all else. Leaks are not looked for: Python leaves
# much behind when it ends. A finding ends the process and the tests with it, and is shown.
# The thread sanitizer knows no threads after a fork: tests of those are left out. So are, with the
# address sanitizer, the compiler of CUDA kernels, which does not find its own parts then, a fork
# while other threads allocate, since a lock of the sanitizer's own may be taken then (GCC before
# 14), and a test of how much memory is taken.
set -eu
cd "$(dirname "$0")/.."
what=$1
shift
bin=$PWD/.venv/bin
build=$PWD/build/sanitize-$what
mkdir -p build
"$bin/python" -m pip install --quiet 'nanobind>=2.4' cmake ninja
"$bin/cmake" -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DTASTEMIX_SANITIZE="$what" \
    -DCMAKE_MAKE_PROGRAM="$bin/ninja" -DPython_EXECUTABLE="$bin/python" \
    -Dnanobind_DIR="$("$bin/python" -m nanobind --cmake_dir)" >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
"$bin/ninja" -C "$build" >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
compiler=${CXX:-g++}
case $what in
thread) runtime=$($compiler -print-file-name=libtsan.so) ;;
*) runtime=$($compiler -print-file-name=libasan.so) ;;
esac
for library in "$build"/_native*.so; do export TASTEMIX_NATIVE="$library"; done
export PYTHONPATH="$PWD/tools/sanitized"
report=$PWD/build/report-${what%%,*}  # options are separated by commas
rm -f "$report".*
export ASAN_OPTIONS="log_path=$report:detect_leaks=0:allocator_may_return_null=1"
export UBSAN_OPTIONS="log_path=$report:print_stacktrace=1"
export TSAN_OPTIONS="log_path=$report:die_after_fork=0:halt_on_error=1:report_signal_unsafe=0:suppressions=$PWD/tools/sanitized/thread.txt"
# With the C++ library, whose exceptions the sanitizer looks for when it starts.
# Without random addresses: the thread sanitizer needs some for itself.
env LD_PRELOAD="$runtime $($compiler -print-file-name=libstdc++.so)" setarch -R "$bin/python" -m pytest -q -p no:cacheprovider "$@" || failed=$?
for file in "$report".*; do
    if [ -s "$file" ]; then cat "$file"; failed=1; fi
done
exit "${failed:-0}"
