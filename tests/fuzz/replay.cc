// Replays a fuzz target's corpus: calls the target with each file of the directories in its
// arguments. So every build checks the inputs that fuzzing has found, without clang.
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
      // A copy of exactly its size, so that a sanitizer reports a read behind its end.
      const std::vector<uint8_t> input(bytes.begin(), bytes.end());
      LLVMFuzzerTestOneInput(input.data(), input.size());
      // And each prefix of the input.
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
