# `make package`: four Debian packages by CPack: libwq0 to run programs, libwq-dev to build them in
# C++, C and Go, python3-wq for clients in Python, and wqctl, the tool.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME wq)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The wq authors <wq@example.org>")
set(CPACK_PACKAGE_VENDOR wq)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "durable, deduplicating work queue")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime dev)
if(TARGET wq_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
if(WQ_TOOLS)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The shared library, for C and C++ programs.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libwq${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # Of whichever has a library, which is this one.
# dpkg runs ldconfig by this trigger.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/triggers)

set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers, static libraries, the Go package, files for CMake and pkg-config, documents.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libwq-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME} (= ${PROJECT_VERSION})")
# For programs that link libwq.a; wq::prometheus; wq::server, wq::etcd. libwq.so needs none of them.
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "librocksdb-dev, libprotobuf-dev, libabsl-dev, libzstd-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "prometheus-cpp-dev, libgrpc++-dev, libre2-dev")

# It talks to a server, so it needs none of the libraries.
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "The Python package wq: a client of wq's server, also for asyncio.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-wq)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.9), python3-grpcio, python3-protobuf")

set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Inspects stores, adds keys, and processes them with a command.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME wqctl)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)

# Each package has the notice about copying, and Debian's form of the changelog.
string(TIMESTAMP WQ_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)  # Or that of SOURCE_DATE_EPOCH.
configure_file(debian-changelog.in changelog @ONLY)
set(changelog ${CMAKE_CURRENT_BINARY_DIR}/changelog)
execute_process(COMMAND gzip -9nkf ${changelog} COMMAND_ERROR_IS_FATAL ANY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/copyright ${changelog}.gz
          DESTINATION ${doc}/${CPACK_DEBIAN_${upper}_PACKAGE_NAME} COMPONENT ${component}
          EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
