#!/bin/sh
# The linker of a manylinux wheel: zig's C compiler, which has the symbol versions of every glibc. `ZIG_TARGET` names the one
# to link, `ZIG_PYTHON` a Python with the package ziglang, and `LIBGCC_S` the file of libgcc_s.
#
# zig would replace libgcc_s by a static unwinder. Before CPython 3.14 the end of the interpreter unwinds the stacks of threads
# with libgcc_s, which calls Rust's personality function, and that must read the context with the library that made it.
set -eu
for argument do
    shift
    case $argument in
        -lgcc_s) set -- "$@" "$LIBGCC_S" ;;
        # zig ignores it with a message, which Rust 1.97 shows as a warning.
        -Wl,-O1) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
# The libgcc_s at hand may need a newer glibc than the target, which only the programs that cargo runs would load with it.
exec "$ZIG_PYTHON" -m ziglang cc -target "$ZIG_TARGET" -Wl,--allow-shlib-undefined "$@"
