# Cross build for 64-bit ARM; programs run under qemu-user. Packages: scripts/setup.sh aarch64. Libraries: scripts/aarch64_sysroot.sh.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# "max" has dotprod, i8mm and SVE; neoverse-n1 has dotprod only, a64fx SVE only, cortex-a72 none of them (tests/cpu/CMakeLists.txt).
set(LLMRT_QEMU_CPU max CACHE STRING "CPU that qemu-aarch64 plays")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu ${LLMRT_QEMU_CPU} -L /usr/aarch64-linux-gnu)

get_filename_component(LLMRT_AARCH64_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-sysroot" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH "${LLMRT_AARCH64_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE NEVER)  # nlohmann_json, doctest, CLI11: headers only, the build machine's serve
set(ENV{PKG_CONFIG_LIBDIR} "${LLMRT_AARCH64_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${LLMRT_AARCH64_SYSROOT}")
# The tool's line editing would need a dozen more arm64 packages; the library and its tests are what the emulator is for.
set(LLMRT_BUILD_SAMPLES OFF CACHE BOOL "")
