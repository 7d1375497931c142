#!/usr/bin/python3
"""products_test.py BUILD_DIR: the target wq_installed makes everything that `cmake --install` takes
from the build directory. After a full build these files exist in any case; `make install` in a fresh
clone has only what wq_installed makes."""

import os
import re
import sys

BUILD = os.path.realpath(sys.argv[1])


def relative(path):
    return os.path.relpath(os.path.join(BUILD, path), BUILD)


def rules_of_ninja():
    """What makes each file: {output: (all outputs of the rule, its inputs)}."""
    with open(os.path.join(BUILD, "build.ninja"), encoding="utf-8") as file:
        text = file.read().replace("$\n", " ").replace("${cmake_ninja_workdir}", BUILD + "/")
    made_by = {}
    for outputs, inputs in re.findall(r"^build (.*?[^$]): \S+(.*)$", text, re.MULTILINE):
        rule = [[relative(re.sub(r"\$(.)", r"\1", word))
                 for word in re.findall(r"(?:\$.|[^\s$])+", words) if word not in ("|", "||", "|@")]
                for words in (outputs, inputs)]
        made_by.update((output, rule) for output in rule[0])
    return made_by


def made_with(target, made_by):
    """The outputs of all rules that run when the target is built."""
    made, left = set(), [target]
    while left:
        name = left.pop()
        if name in made_by and name not in made:
            outputs, inputs = made_by[name]
            made.update(outputs)
            left += inputs
    return made


def installed_products():
    """The paths below the build directory that the rules of `cmake --install` name."""
    paths = set()
    for folder, _, files in os.walk(BUILD):
        if "cmake_install.cmake" in files:
            with open(os.path.join(folder, "cmake_install.cmake"), encoding="utf-8") as file:
                for rule in re.findall(r"file\(INSTALL [^)]*\)", file.read()):
                    paths.update(relative(path) for path in re.findall(r'"(/[^"]*)"', rule)
                                 if path.startswith(BUILD + "/"))
    return paths


def main():
    made_by = rules_of_ninja()
    made = made_with("wq_installed", made_by)
    products = 0
    missing = []
    for path in sorted(installed_products()):
        needed = [name for name in made_by if name == path or name.startswith(path + "/")]
        products += len(needed)
        missing += [name for name in needed if name not in made]
        # What no rule makes was written when the build was configured.
        if not needed and not os.path.exists(os.path.join(BUILD, path)):
            missing.append(path)
    for name in missing:
        print(f"products_test: {name} is installed, and wq_installed does not make it: see "
              "wq_install in packaging/CMakeLists.txt", file=sys.stderr)
    if products < 10:
        sys.exit(f"products_test: only {products} products are installed: is {BUILD} a build of Ninja?")
    sys.exit(1 if missing else 0)


main()
