# cmake -DFILES=… -DOUT=FILE.cc -P embed.cmake: writes the files as arrays of a C++ source.
set(arrays)
set(table)
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(SIZE ${file} size)
  file(SHA256 ${file} hash)
  string(SUBSTRING ${hash} 0 32 hash)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  # An array has at least one element.
  string(APPEND arrays "constexpr unsigned char kFile${number}[] = {${bytes}0};\n")
  string(APPEND table "    {\"${name}\", kFile${number}, ${size}, \"${hash}\"},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Made by embed.cmake.
#include <array>

#include \"server/page/embedded_files.h\"

namespace wq {
namespace {

${arrays}
constexpr std::array<EmbeddedFile, ${number}> kFiles = {{
${table}}};

}  // namespace

std::span<const EmbeddedFile> EmbeddedFiles() { return kFiles; }

}  // namespace wq
")
