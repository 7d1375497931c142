// Replays a fuzz target's corpus: calls it with each file of the directories that are named. So that
// every build checks what the fuzzers have found, without their compiler.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  size_t inputs = 0;
  for (int n = 1; n < argc; ++n) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[n])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)),
                              std::istreambuf_iterator<char>());
      // A copy of its own size: then a sanitizer sees a read behind its end.
      const std::vector<uint8_t> input(bytes.begin(), bytes.end());
      LLVMFuzzerTestOneInput(input.data(), input.size());
      // And what is left of it when it is cut off.
      for (size_t size = 0; size < std::min<size_t>(input.size(), 512); ++size) {
        const std::vector<uint8_t> cut(input.begin(),
                                       input.begin() + static_cast<std::ptrdiff_t>(size));
        LLVMFuzzerTestOneInput(cut.data(), cut.size());
      }
      ++inputs;
    }
  }
  std::printf("%zu inputs, each at every length below 512\n", inputs);
  return inputs > 0 ? 0 : 1;
}
