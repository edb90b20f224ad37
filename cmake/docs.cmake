# Tests of what pages and examples show (tests/docs/check): the fenced blocks of each page, the output of each
# example (examples/NAME/session), the manual page against the options.
set(doc_check ${CMAKE_SOURCE_DIR}/tests/docs/check ${CMAKE_BINARY_DIR})

mw_test(doc_harness docs ${CMAKE_SOURCE_DIR}/tests/docs/selftest ${CMAKE_BINARY_DIR})
foreach(source ${example_sources})
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  mw_test(example_${name} docs ${doc_check} ${folder}/session)
endforeach()

# A page that is made needs no check of its own. adding-an-op needs the op that it adds.
file(GLOB pages CONFIGURE_DEPENDS *.md docs/*.md docs/design/*.md)
list(FILTER pages EXCLUDE REGEX "docs/(ops|messages|adding-an-op)\\.md$")
foreach(page ${pages})
  get_filename_component(name ${page} NAME_WE) # 0001-libraries, tutorial
  mw_test(page_${name} docs ${doc_check} ${page})
endforeach()
mw_test(demo docs ${doc_check} ${CMAKE_SOURCE_DIR}/tests/docs/demo)

# A build of its own, of a copy of the tree.
if(NOT MW_SANITIZE AND NOT MW_COVERAGE)
  mw_test(add_an_op docs ${CMAKE_SOURCE_DIR}/tests/docs/add-an-op ${CMAKE_C_COMPILER})
endif()

if(TARGET meshwise_cli)
  mw_test(man_page docs ${CMAKE_SOURCE_DIR}/tests/docs/man $<TARGET_FILE:meshwise_cli>)
endif()
