# What `make install` lays down: public headers, both libraries, the pkg-config file, the program.
# The pkg-config file names the libraries that a static link needs as this machine's linker knows them.
get_filename_component(MW_BLAS_DIR ${CBLAS_LIBRARY} DIRECTORY)
configure_file(cmake/meshwise.pc.in meshwise.pc @ONLY)

install(TARGETS meshwise meshwise_shared
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/meshwise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_BINARY_DIR}/meshwise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET meshwise_cli)
  install(TARGETS meshwise_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
