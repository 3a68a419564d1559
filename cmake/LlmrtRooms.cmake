# One room = one folder = one OBJECT library `llmrt_<room>`. The shared library and the test programs link the objects they need.

include(CheckCXXCompilerFlag)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  else()
    message(WARNING "llmrt: no CMAKE_BUILD_TYPE, so the library is compiled unoptimised and is many times slower; set it to Release")
  endif()
endif()
find_program(LLMRT_CCACHE ccache)
if(LLMRT_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${LLMRT_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${LLMRT_CCACHE}")
endif()

find_package(Threads REQUIRED)

# Compile settings of everything in src/, backends/ and tests/.
add_library(llmrt_settings INTERFACE)
target_include_directories(llmrt_settings INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
# GCC 12 takes an address that its loop optimiser wrote as "0 + index" for a null pointer, concludes that the code behind it is never
# reached, and drops calls of the function: docs/decisions/006-null-pointer-checks.md.
target_compile_options(llmrt_settings INTERFACE
  -ffp-contract=off
  $<$<CXX_COMPILER_ID:GNU>:-fno-delete-null-pointer-checks>
  $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef
  $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<BOOL:${LLMRT_WERROR}>:-Werror>)
target_compile_definitions(llmrt_settings INTERFACE
  $<$<BOOL:${LLMRT_CHECKED}>:LLMRT_CHECKED=1> PCRE2_CODE_UNIT_WIDTH=8)
target_link_libraries(llmrt_settings INTERFACE Threads::Threads)
if(LLMRT_SANITIZE)
  target_compile_options(llmrt_settings INTERFACE "-fsanitize=${LLMRT_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(llmrt_settings INTERFACE "-fsanitize=${LLMRT_SANITIZE}")
endif()

# Third-party libraries: static archives by default, so that the shared library needs only libc, libm and libgcc_s.
function(llmrt_third_party name archive header)
  add_library(llmrt_${name} INTERFACE)
  if(LLMRT_SYSTEM_LIBS)
    find_library(LLMRT_${name}_LIB NAMES ${archive} REQUIRED)
  else()
    find_library(LLMRT_${name}_LIB NAMES lib${archive}.a ${archive} REQUIRED)
  endif()
  find_path(LLMRT_${name}_INCLUDE ${header} REQUIRED)
  target_link_libraries(llmrt_${name} INTERFACE "${LLMRT_${name}_LIB}")
  target_include_directories(llmrt_${name} SYSTEM INTERFACE "${LLMRT_${name}_INCLUDE}")
endfunction()
llmrt_third_party(pcre2 pcre2-8 pcre2.h)
llmrt_third_party(utf8proc utf8proc utf8proc.h)
llmrt_third_party(xxhash xxhash xxhash.h)
target_compile_definitions(llmrt_utf8proc INTERFACE $<$<NOT:$<BOOL:${LLMRT_SYSTEM_LIBS}>>:UTF8PROC_STATIC>)
find_package(nlohmann_json 3.11 CONFIG REQUIRED)

# llmrt_room(<room> SOURCES <files...> [LIBS <third-party targets...>])
function(llmrt_room room)
  cmake_parse_arguments(R "" "" "SOURCES;LIBS" ${ARGN})
  add_library(llmrt_${room} OBJECT ${R_SOURCES})
  target_link_libraries(llmrt_${room} PUBLIC llmrt_settings ${R_LIBS})
  set_target_properties(llmrt_${room} PROPERTIES UNITY_BUILD "${LLMRT_UNITY}")
  if(LLMRT_UNITY)  # what it warns of is a header's fault, and these units include sources
    target_compile_options(llmrt_${room} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# llmrt_test_program(<name> ROOMS <rooms...> SOURCES <files...> [LIBS <targets...>] [COMPUTES]): a program of the tests, with the objects
# of these rooms. Tests are compiled with little optimisation, under a sanitizer with none: what takes time in them is the rooms' code.
# COMPUTES: except in this one, which has a reference of its own to compare with.
function(llmrt_test_program name)
  cmake_parse_arguments(T "COMPUTES" "" "ROOMS;SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  foreach(room ${T_ROOMS})
    target_link_libraries(${name} PRIVATE llmrt_${room})
  endforeach()
  target_link_libraries(${name} PRIVATE llmrt_settings ${T_LIBS})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE LLMRT_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
  set(optimise "$<$<CONFIG:Release>:-O1>")
  if(LLMRT_SANITIZE AND NOT T_COMPUTES)
    set(optimise -O0)
  endif()
  set_source_files_properties(${T_SOURCES} PROPERTIES COMPILE_OPTIONS
    "${optimise};-Wno-conversion;-Wno-shadow;-Wno-old-style-cast;$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow>")
endfunction()

# llmrt_test(<name> ... [LABELS ...] [TIMEOUT s] [ARGS ...] [COMPUTES]): one doctest program, one ctest entry.
function(llmrt_test name)
  cmake_parse_arguments(T "COMPUTES" "TIMEOUT" "ROOMS;SOURCES;LABELS;LIBS;ARGS" ${ARGN})
  set(computes "")
  if(T_COMPUTES)
    set(computes COMPUTES)
  endif()
  llmrt_test_program(${name} ROOMS ${T_ROOMS} SOURCES ${T_SOURCES} LIBS llmrt_doctest_main doctest::doctest ${T_LIBS} ${computes})
  add_test(NAME ${name} COMMAND ${name} ${T_ARGS})
  if(T_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}" SKIP_REGULAR_EXPRESSION "LLMRT_SKIP_ALL")
endfunction()

# All rooms of the library, bottom up. Test programs that need everything use ROOMS ${LLMRT_ALL_ROOMS}.
set(LLMRT_ALL_ROOMS base quant formats graph model tokenizer chat_template kv sampling runtime chat engine backend_cpu builtin)
