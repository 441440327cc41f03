#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: no_shared_functions.sh NM OBJECT
# The inner loops are compiled for several processors. A function that the linker may share between
# files (an inline one that was not inlined) could then be taken from the object for AVX2 and run on
# a processor without: such an object must not define any.
shared=$("$1" --defined-only "$2" | grep ' W ')
[ -z "$shared" ] || { echo "$2 defines shared functions:"; echo "$shared"; exit 1; }
[ "$("$1" --defined-only "$2" | grep -c ' T ')" -eq 1 ] || { echo "$2 must define one function"; exit 1; }
