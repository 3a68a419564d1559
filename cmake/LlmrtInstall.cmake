# Install: library, header, CMake package and pkg-config file; nothing in them names an absolute path, so the prefix may move.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(LLMRT_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/llmrt")
file(RELATIVE_PATH LLMRT_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" LLMRT_PC_PREFIX "${LLMRT_PC_PREFIX}")

install(TARGETS llmrt EXPORT llmrt-targets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/include/llmrt.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT llmrt-targets NAMESPACE llmrt:: DESTINATION "${LLMRT_CMAKE_DIR}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/packaging/llmrt-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/packaging/llmrt-config.cmake" INSTALL_DESTINATION "${LLMRT_CMAKE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/packaging/llmrt-config-version.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/packaging/llmrt-config.cmake" "${PROJECT_BINARY_DIR}/packaging/llmrt-config-version.cmake"
        DESTINATION "${LLMRT_CMAKE_DIR}")

configure_file("${PROJECT_SOURCE_DIR}/packaging/llmrt.pc.in" "${PROJECT_BINARY_DIR}/packaging/llmrt.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/packaging/llmrt.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
