#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: no_shared_functions.sh NM OBJECT
#
# The inner loops are compiled once per instruction set. If such an object defined a function that
# the linker may merge across files (an inline function that was not inlined), the linker could take
# the AVX2 version and run it on a processor without AVX2. So these objects must not define any.
shared=$("$1" --defined-only "$2" | grep ' W ')
[ -z "$shared" ] || { echo "$2 defines shared functions:"; echo "$shared"; exit 1; }
[ "$("$1" --defined-only "$2" | grep -c ' T ')" -eq 1 ] || { echo "$2 must define one function"; exit 1; }
