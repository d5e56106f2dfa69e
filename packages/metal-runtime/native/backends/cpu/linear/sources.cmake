# Sources of the CPU matrix products. The including list gets MARKBASE_LINEAR_SOURCES (absolute paths) and
# MARKBASE_LINEAR_INCLUDES; every instruction set is one source file with its own flags, chosen at run time.
#
# -ffp-contract=off everywhere: fused operations are written out, so that dequantize_row rounds the same everywhere, and the order and
# rounding of every sum are those in the source.

set(MARKBASE_LINEAR_DIR ${CMAKE_CURRENT_LIST_DIR})
set(MARKBASE_LINEAR_INCLUDES ${MARKBASE_LINEAR_DIR} ${MARKBASE_LINEAR_DIR}/../../../../kernels)
set(MARKBASE_LINEAR_SOURCES ${MARKBASE_LINEAR_DIR}/isa.cc ${MARKBASE_LINEAR_DIR}/core_generic.cc
    ${MARKBASE_LINEAR_DIR}/peak_generic.cc)
# Under a sanitizer, -O3 would take minutes for each of these files.
if(NOT DEFINED MARKBASE_LINEAR_OPTIMIZATION)
  set(MARKBASE_LINEAR_OPTIMIZATION -O3)
endif()
set(markbase_linear_flags ${MARKBASE_LINEAR_OPTIMIZATION} -ffp-contract=off)

set_source_files_properties(
  ${MARKBASE_LINEAR_DIR}/core_generic.cc ${MARKBASE_LINEAR_DIR}/peak_generic.cc PROPERTIES COMPILE_OPTIONS "${markbase_linear_flags}")

# An Apple build may target a processor other than the host's.
set(markbase_linear_processor ${CMAKE_SYSTEM_PROCESSOR})
if(APPLE AND CMAKE_OSX_ARCHITECTURES)
  set(markbase_linear_processor ${CMAKE_OSX_ARCHITECTURES})
endif()

if(markbase_linear_processor MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND MARKBASE_LINEAR_SOURCES ${MARKBASE_LINEAR_DIR}/core_avx2.cc ${MARKBASE_LINEAR_DIR}/core_avx512.cc
       ${MARKBASE_LINEAR_DIR}/core_avx512_bf16.cc ${MARKBASE_LINEAR_DIR}/peak_avx2.cc
       ${MARKBASE_LINEAR_DIR}/peak_avx512.cc ${MARKBASE_LINEAR_DIR}/peak_avx512_bf16.cc)
  set_source_files_properties(
    ${MARKBASE_LINEAR_DIR}/core_avx2.cc ${MARKBASE_LINEAR_DIR}/peak_avx2.cc PROPERTIES COMPILE_OPTIONS
    "${markbase_linear_flags};-mavx2;-mfma;-mf16c;-mbmi2")
  set(markbase_avx512_flags -mavx2 -mfma -mf16c -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni
                            -mavx512vbmi -mprefer-vector-width=512)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc 12's own intrinsics headers trip these.
    list(APPEND markbase_avx512_flags -Wno-maybe-uninitialized -Wno-uninitialized)
  endif()
  set_source_files_properties(
    ${MARKBASE_LINEAR_DIR}/core_avx512.cc ${MARKBASE_LINEAR_DIR}/peak_avx512.cc PROPERTIES COMPILE_OPTIONS
    "${markbase_linear_flags};${markbase_avx512_flags}")
  set_source_files_properties(
    ${MARKBASE_LINEAR_DIR}/core_avx512_bf16.cc ${MARKBASE_LINEAR_DIR}/peak_avx512_bf16.cc PROPERTIES COMPILE_OPTIONS
    "${markbase_linear_flags};${markbase_avx512_flags};-mavx512bf16")
elseif(markbase_linear_processor MATCHES "^(aarch64|arm64)$")
  list(APPEND MARKBASE_LINEAR_SOURCES ${MARKBASE_LINEAR_DIR}/core_neon_dotprod.cc
       ${MARKBASE_LINEAR_DIR}/core_neon_i8mm.cc)
  set_source_files_properties(
    ${MARKBASE_LINEAR_DIR}/core_neon_dotprod.cc PROPERTIES COMPILE_OPTIONS
    "${markbase_linear_flags};-march=armv8.2-a+dotprod")
  set_source_files_properties(
    ${MARKBASE_LINEAR_DIR}/core_neon_i8mm.cc PROPERTIES COMPILE_OPTIONS
    "${markbase_linear_flags};-march=armv8.2-a+dotprod+i8mm")
endif()
