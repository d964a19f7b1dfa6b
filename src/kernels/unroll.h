// For files of one instruction set: a loop over registers, which would live in memory if it stayed a loop.
#pragma once

#if defined(__clang__)
#define ESPALIER_UNROLL _Pragma("unroll")
#else
#define ESPALIER_UNROLL _Pragma("GCC unroll 32")
#endif
