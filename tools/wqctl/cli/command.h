// Command: a verb with its arguments, ready to run. Every Parse… function returns one.
//
//   Command ParseInit(const Input& input) { InitArgs args; …; return args; }
//   int Run(const InitArgs& args);   // Found by the type of the arguments.
//
// Thread-compatible.
#pragma once

#include <functional>
#include <utility>

namespace wqctl {

class Command {
 public:
  template <typename Args>
  Command(Args args)  // NOLINT(google-explicit-constructor): for `return args;`.
      : run_([args = std::move(args)] { return Run(args); }) {}

  int operator()() const { return run_(); }  // The exit code.

 private:
  std::function<int()> run_;
};

}  // namespace wqctl
