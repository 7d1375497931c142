// WQ_MUTANT: bugs that are planted on purpose, to check that the tests catch them. A build with the
// option WQ_MUTANTS contains all of them, and the environment variable WQ_MUTANT selects one; in
// every other build the macro is false.
//
//   item->lane = WQ_MUTANT(forget_lane) ? kFastLane : record.lane;
//
// tests/mutants/run.sh finds each mutant's name in the sources, runs the tests with it in the
// variable WQ_MUTANT, and fails if every test passes. Never install such a build.
//
// Threading: thread-safe. The environment is read once.
#pragma once

#ifdef WQ_MUTANTS

#include <cstdlib>
#include <string_view>

namespace wq::storage {

inline bool MutantIs(std::string_view name) {
  static const char* const chosen = std::getenv("WQ_MUTANT");
  return chosen != nullptr && name == chosen;
}

}  // namespace wq::storage

#define WQ_MUTANT(name) (::wq::storage::MutantIs(#name))

#else

namespace wq::storage {
inline constexpr bool kNoMutant = false;  // A literal would be a needless condition to clang-tidy.
}  // namespace wq::storage

#define WQ_MUTANT(name) (::wq::storage::kNoMutant)

#endif
