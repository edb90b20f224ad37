# Tests of what pages and examples show (tests/docs/check): the fenced blocks of each page, the output of each
# example (examples/NAME/session), the manual page against the options.
set(doc_check ${CMAKE_SOURCE_DIR}/tests/docs/check ${CMAKE_BINARY_DIR})

file(GLOB sessions CONFIGURE_DEPENDS examples/*/session)
foreach(session ${sessions})
  get_filename_component(folder ${session} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  mw_test(example_${name} docs ${doc_check} ${session})
endforeach()
