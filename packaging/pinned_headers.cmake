# CMake takes a package from RAILWEAVE_PINNED/PACKAGE instead of the system, where there is such a folder. Each has one
# target, PACKAGE::PACKAGE, of headers alone.
cmake_minimum_required(VERSION 3.25)

function(railweave_pinned_target package)
  if(TARGET ${package}::${package})
    return()
  endif()
  set(headers ${RAILWEAVE_PINNED}/${package})
  if(EXISTS ${headers}/include)
    set(headers ${headers}/include)
  endif()
  add_library(${package}::${package} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${package}::${package} INTERFACE ${headers})
endfunction()

macro(railweave_find_pinned method package)
  if(EXISTS ${RAILWEAVE_PINNED}/${package})
    railweave_pinned_target(${package})
    set(${package}_FOUND TRUE)
  endif()
endmacro()
cmake_language(SET_DEPENDENCY_PROVIDER railweave_find_pinned SUPPORTED_METHODS FIND_PACKAGE)
