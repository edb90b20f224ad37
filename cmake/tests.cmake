# All tests, labelled: unit (cmocka), api (headers, symbols, install), cli, mpi, fuzz (corpora replayed), tool
# (rules of the tree). `ctest -L unit` runs one label. A test that needs what this machine lacks exits 77
# and is reported as skipped, never as passed.
pkg_check_modules(CMOCKA REQUIRED cmocka)

set(MW_MODEL_FILE ${CMAKE_SOURCE_DIR}/build/models/SmolLM2-135M-Instruct.Q4_1.gguf)

function(mw_test name label)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 600 SKIP_RETURN_CODE 77
    ENVIRONMENT "MESHWISE_MODEL=${MW_MODEL_FILE};TSAN_OPTIONS=halt_on_error=1 second_deadlock_stack=1")
endfunction()

# ---- unit -----------------------------------------------------------------------------------------
file(GLOB unit_sources CONFIGURE_DEPENDS tests/unit/test_*.c)
foreach(source ${unit_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE src tests . ${CMOCKA_INCLUDE_DIRS})
  target_link_libraries(${name} PRIVATE $<TARGET_NAME_IF_EXISTS:mw_models> meshwise mw_flags
    ${CMOCKA_LINK_LIBRARIES})
  mw_test(${name} unit ${name})
endforeach()
target_compile_definitions(test_passes PRIVATE TESTS_PASSES="${CMAKE_SOURCE_DIR}/tests/data/passes")

# ---- api ------------------------------------------------------------------------------------------
# Each public header compiles alone, as C11 and as C++17, under the library's own warnings.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  set(header_languages c cpp)
else()
  message(STATUS "no C++ compiler: headers are checked as C alone")
  set(header_languages c)
endif()
set(header_flags -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror)
file(GLOB headers CONFIGURE_DEPENDS include/meshwise/*.h)
foreach(language ${header_languages})
  set(header_checks)
  foreach(header ${headers})
    get_filename_component(name ${header} NAME_WE)
    set(check ${CMAKE_BINARY_DIR}/headers/${name}.${language})
    file(CONFIGURE OUTPUT ${check} CONTENT "#include <meshwise/${name}.h>\n#include <meshwise/${name}.h>\n")
    list(APPEND header_checks ${check})
  endforeach()
  if(header_checks)
    add_library(headers_${language} OBJECT ${header_checks})
    target_include_directories(headers_${language} PRIVATE include)
    target_compile_options(headers_${language} PRIVATE ${header_flags})
    set_target_properties(headers_${language} PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF
      C_EXTENSIONS OFF)
  endif()
endforeach()

# A C++ program that uses the shared library as a stranger would: public headers, no flags of ours.
if(CMAKE_CXX_COMPILER)
  add_executable(test_consumer_cxx tests/consumer/main.cpp)
  set_target_properties(test_consumer_cxx PROPERTIES CXX_STANDARD 17)
  target_link_libraries(test_consumer_cxx PRIVATE meshwise_shared)
  if(MW_SANITIZE)
    target_link_options(test_consumer_cxx PRIVATE -fsanitize=${MW_SANITIZE})
  endif()
  mw_test(consumer_cxx api test_consumer_cxx)
endif()

mw_test(exported_symbols api ${CMAKE_SOURCE_DIR}/tools/check-api $<TARGET_FILE:meshwise_shared>)
if(NOT MW_SANITIZE AND NOT MW_COVERAGE)
  mw_test(install api ${CMAKE_SOURCE_DIR}/tests/consumer/install ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER})
endif()

# ---- cli ------------------------------------------------------------------------------------------
mw_test(cli_harness cli ${CMAKE_SOURCE_DIR}/tests/cli/selftest)
# Writes the tiny model that the cases run.
add_executable(make_model tests/make_model.c)
target_include_directories(make_model PRIVATE src tests .)
target_link_libraries(make_model PRIVATE meshwise mw_flags)
file(GLOB cli_cases CONFIGURE_DEPENDS tests/cli/*.sh)
if(TARGET meshwise_cli)
  foreach(case ${cli_cases})
    get_filename_component(name ${case} NAME_WE)
    mw_test(cli_${name} cli ${CMAKE_SOURCE_DIR}/tests/cli/run $<TARGET_FILE:meshwise_cli> ${case})
  endforeach()
endif()

if(TARGET meshwise_explain)
  mw_test(static cli ${CMAKE_SOURCE_DIR}/tests/static/run $<TARGET_FILE:meshwise_cli>
    $<TARGET_FILE:meshwise_explain>)
endif()

# ---- mpi ------------------------------------------------------------------------------------------
# On ranks that a launcher starts: skipped where there is none, or no MPI to build the module with.
if(TARGET meshwise_cli AND NOT MW_SANITIZE MATCHES thread)
  add_executable(ranks tests/mpi/ranks.c)
  target_include_directories(ranks PRIVATE src tests .)
  target_link_libraries(ranks PRIVATE meshwise mw_flags)
  foreach(case transfers layouts compiled tokens eval log usage unready fault failures stopped died)
    mw_test(mpi_${case} mpi ${CMAKE_SOURCE_DIR}/tests/mpi/run ${CMAKE_BINARY_DIR} ${case})
  endforeach()
endif()

# ---- fuzz -----------------------------------------------------------------------------------------
# Without libFuzzer each fuzzer still runs over its corpus, in plain ctest.
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^fuzz_" "" target ${name})
  add_executable(replay_${target} ${source} tests/fuzz/replay.c)
  target_include_directories(replay_${target} PRIVATE src tests .)
  target_link_libraries(replay_${target} PRIVATE meshwise mw_flags)
  mw_test(replay_${target} fuzz replay_${target} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${target})
endforeach()

# ---- cases ----------------------------------------------------------------------------------------
# Texts to explain, each with what must be said of it.
file(GLOB case_files CONFIGURE_DEPENDS tests/cases/*.case)
add_executable(cases tests/cases/cases.c)
target_link_libraries(cases PRIVATE meshwise mw_flags)
mw_test(cases cases cases ${case_files})

# ---- programs -------------------------------------------------------------------------------------
# Sharded programs as text, each with the values, layouts and movements that must come out.
file(GLOB program_files CONFIGURE_DEPENDS tests/programs/*.mw)
add_executable(programs tests/programs/programs.c)
target_link_libraries(programs PRIVATE meshwise mw_flags)
mw_test(programs cases programs ${program_files})

# ---- tool -----------------------------------------------------------------------------------------
mw_test(layers tool ${CMAKE_SOURCE_DIR}/tools/check-layers)
mw_test(names tool ${CMAKE_SOURCE_DIR}/tools/check-names)
mw_test(format tool ${CMAKE_SOURCE_DIR}/tools/check-format)
mw_test(checkers tool ${CMAKE_SOURCE_DIR}/tests/tools/selftest)
if(TARGET gen_ops)
  mw_test(made_files tool ${CMAKE_SOURCE_DIR}/tools/gen-docs --check $<TARGET_FILE:gen_ops>)
endif()
