# The CPU kernels: the same sources once per instruction set, with its flags and in its own namespace, chosen at run time.
#
# Defines markbase_cpu_kernels, an interface library that carries all objects and include directories. Reads markbase_warnings, a
# list of flags:
#   include(native/backends/cpu/kernels/sources.cmake)
#   target_link_libraries(... PRIVATE markbase_cpu_kernels)

set(MARKBASE_KERNELS_DIR ${CMAKE_CURRENT_LIST_DIR})
set(MARKBASE_FAMILIES_DIR ${MARKBASE_KERNELS_DIR}/../../../../families)
set(markbase_kernel_includes
    ${MARKBASE_KERNELS_DIR} ${MARKBASE_KERNELS_DIR}/.. ${MARKBASE_KERNELS_DIR}/../linear
    ${MARKBASE_KERNELS_DIR}/../../../device ${MARKBASE_KERNELS_DIR}/../../../../kernels ${MARKBASE_FAMILIES_DIR}
    ${MARKBASE_FAMILIES_DIR}/../build/lists)
# For each family, cpu.cc is compiled once per instruction set, cpu_*.cc only once.
file(GLOB markbase_family_kernels CONFIGURE_DEPENDS ${MARKBASE_FAMILIES_DIR}/*/cpu.cc)
file(GLOB markbase_family_parts CONFIGURE_DEPENDS ${MARKBASE_FAMILIES_DIR}/*/cpu_*.cc)

# Sums keep the order and rounding of the source (-ffp-contract=off). Nothing reads floating-point exceptions or errno.
set(markbase_kernel_flags -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -Wno-psabi)

add_library(markbase_cpu_kernels INTERFACE)
target_include_directories(markbase_cpu_kernels INTERFACE ${markbase_kernel_includes})

function(markbase_add_kernel_objects name)
  target_include_directories(${name} PRIVATE ${markbase_kernel_includes})
  target_compile_features(${name} PRIVATE cxx_std_20)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  target_compile_options(${name} PRIVATE ${markbase_warnings})
  target_sources(markbase_cpu_kernels INTERFACE $<TARGET_OBJECTS:${name}>)
endfunction()

# One instruction set: namespace, enumerator of Isa, flags.
function(markbase_add_isa_kernels isa_namespace isa)
  set(target markbase_cpu_kernels_${isa_namespace})
  add_library(${target} OBJECT ${MARKBASE_KERNELS_DIR}/kernel_table.cc ${markbase_family_kernels})
  target_compile_definitions(${target} PRIVATE MARKBASE_ISA_NAMESPACE=${isa_namespace} MARKBASE_ISA=${isa})
  target_compile_options(${target} PRIVATE ${markbase_kernel_flags} ${ARGN})
  markbase_add_kernel_objects(${target})
endfunction()

add_library(markbase_cpu_kernels_common OBJECT
            ${MARKBASE_KERNELS_DIR}/cpu_kernels.cc ${markbase_family_parts})
markbase_add_kernel_objects(markbase_cpu_kernels_common)

markbase_add_isa_kernels(generic kGeneric)

# An Apple build may target a processor other than the host's.
set(markbase_kernel_processor ${CMAKE_SYSTEM_PROCESSOR})
if(APPLE AND CMAKE_OSX_ARCHITECTURES)
  set(markbase_kernel_processor ${CMAKE_OSX_ARCHITECTURES})
endif()
if(markbase_kernel_processor MATCHES "^(x86_64|AMD64|amd64)$")
  set(markbase_avx512_flags -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc 12's own intrinsics headers trip these.
    list(APPEND markbase_avx512_flags -Wno-maybe-uninitialized -Wno-uninitialized)
  endif()
  markbase_add_isa_kernels(avx2 kAvx2 -mavx2 -mfma)
  markbase_add_isa_kernels(avx512 kAvx512 ${markbase_avx512_flags})
  markbase_add_isa_kernels(avx512_bf16 kAvx512Bf16 ${markbase_avx512_flags} -mavx512bf16)
elseif(markbase_kernel_processor MATCHES "^(aarch64|arm64)$")
  # The sources use only base NEON; the sets differ in the matrix core that linear and embed call.
  markbase_add_isa_kernels(neon_dotprod kNeonDotprod)
  markbase_add_isa_kernels(neon_i8mm kNeonI8mm)
endif()
