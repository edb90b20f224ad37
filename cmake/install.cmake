# What `make install` lays down: public headers, both libraries, the pkg-config file, the program
# and its manual page.
# The pkg-config file finds its prefix from where it lies, so an installed tree may move, and names the
# libraries that a static link needs where this machine has them.
file(RELATIVE_PATH MW_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" MW_PC_TO_PREFIX "${MW_PC_TO_PREFIX}")
get_filename_component(MW_BLAS_DIR ${CBLAS_LIBRARY} DIRECTORY)
configure_file(cmake/meshwise.pc.in meshwise.pc @ONLY)

install(TARGETS meshwise meshwise_shared
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET meshwise_mpi)
  install(TARGETS meshwise_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/meshwise)
endif()
install(DIRECTORY include/meshwise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_BINARY_DIR}/meshwise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET meshwise_cli)
  install(TARGETS meshwise_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES man/meshwise.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
