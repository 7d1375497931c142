# The commands of this tree. They are defined in CMakePresets.json and tools/dev/.
.DEFAULT_GOAL := help
.PHONY: help deps build test check demo e2e torture coverage install package bench bench-long \
	format pictures clean

help:     ## print this list
	@sed -n 's/^\([a-z0-9-]*\): *## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

deps:     ## install what is missing for all commands (apt-get)
	@tools/dev/deps.sh check

build:    ## build wqctl in Release: build/wqctl
	@tools/dev/deps.sh build
	@tools/dev/build.sh release wqctl

test:     ## build, and run the tests that every change must pass; FORCE=1: unchanged ones, too
	@tools/dev/test.sh

check:    ## run what is deep or slow: sanitizers, mutants, lint, packages, kills; STEP=name: one step
	@tools/dev/check.sh $(STEP)

demo:     ## build, then reconcile every header of this machine under SIGKILL
	@tools/dev/deps.sh build
	@tools/dev/build.sh release wqctl
	@examples/demo/demo.sh build/wqctl

e2e:      ## run a controller under a real kube-apiserver: killed, replicated; Go 1.26, network
	@tools/dev/deps.sh build
	@tools/dev/build.sh release wqctl wq_installed
	@tests/e2e/run.sh build

torture:  ## long runs of the kill, power, fault and corruption tests, for HOURS=h (1)
	@tools/dev/deps.sh check
	@tools/dev/build.sh release all deep
	@TORTURE_PARTS="$(TORTURE_PARTS)" tools/dev/torture.sh $(HOURS)

coverage: ## measure which lines and branches of the library the tests run
	@tools/dev/deps.sh coverage
	@tools/dev/coverage.sh

bench:    ## measure the speed, beside bare RocksDB, bare etcd and a queue in memory
	@tools/dev/deps.sh etcd
	@tools/dev/build.sh release wqbench wq_installed
	@tools/bench/go_bench.sh build

bench-long: ## the same, with 100 million life cycles of a key, and ten minutes of them replicated
	@tools/dev/deps.sh etcd
	@tools/dev/build.sh release wqbench wq_installed
	@tools/bench/go_bench.sh build --long

install:  ## install the libraries, headers, Go and Python packages and wqctl below PREFIX=dir (/usr/local)
	@tools/dev/deps.sh build
	@tools/dev/build.sh release wq_installed
	@cmake --install build --prefix "$(or $(PREFIX),/usr/local)"

package:  ## Debian packages in build/packages/: libwq0, libwq-dev, python3-wq, wqctl
	@tools/dev/deps.sh package
	@tools/dev/build.sh release wq_installed
	@cpack --config build/CPackConfig.cmake

format:   ## format the C++ sources in place, with clang-format
	@tools/dev/sources.sh | xargs clang-format -i

pictures: ## draw docs/pictures/*.svg anew from their sources
	@tools/dev/deps.sh pictures
	@tools/dev/pictures.sh

clean:    ## remove everything that was built
	rm -rf build build-*
