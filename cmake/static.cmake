# meshwise-explain: one static file that reads texts (the TEXT_COMMAND rows of cli/commands.def) and needs
# nothing of the machine that it runs on: no BLAS, no MPI, no PCRE2, no models. It is linked from the same
# archives as the program; what it does not call stays out, and what would bring BLAS or the loader of
# modules is defined before the library: plain loops, and a door that is closed.
option(MW_EXPLAIN "Build the static meshwise-explain where static libraries allow it" ON)
find_library(JANSSON_ARCHIVE libjansson.a)
if(MW_EXPLAIN AND JANSSON_ARCHIVE AND NOT MW_SANITIZE AND NOT MW_FUZZ AND NOT MW_COVERAGE)
  add_executable(meshwise_explain cli/main.c src/ops/plain/gemm.c src/comm/none/module.c)
  set_target_properties(meshwise_explain PROPERTIES OUTPUT_NAME meshwise-explain
    POSITION_INDEPENDENT_CODE OFF)
  target_compile_definitions(meshwise_explain PRIVATE CLI_TEXTS_ONLY)
  target_include_directories(meshwise_explain PRIVATE . include src ${JANSSON_INCLUDE_DIRS})
  target_link_options(meshwise_explain PRIVATE -static LINKER:--gc-sections,-s)
  target_link_libraries(meshwise_explain PRIVATE mw_flags $<TARGET_FILE:mw_cli> $<TARGET_FILE:meshwise>
    ${JANSSON_ARCHIVE} m Threads::Threads)
  add_dependencies(meshwise_explain mw_cli meshwise)
endif()
