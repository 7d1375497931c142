#!/usr/bin/env bash
# arm64.sh [CTEST_REGEX]: cross-builds the library and its tests for arm64 in build-arm64/, and runs
# them under qemu. The arm64 libraries are unpacked in build-arm64/sysroot/, from Debian's packages:
# side by side, they would replace the development packages of this machine.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$PWD/build-arm64
sysroot=$dir/sysroot
packages=(librocksdb-dev libprotobuf-dev libabsl-dev libxxhash-dev libgtest-dev libgmock-dev libc6-dev
  libcli11-dev nlohmann-json3-dev libstdc++-12-dev)

if [[ ! -e $sysroot/.complete ]]; then
  # An apt of its own, in which nothing is installed and the only architecture is arm64.
  state=$dir/apt
  rm -rf "$sysroot" "$state"
  mkdir -p "$sysroot" "$state"/{lists/partial,cache/archives/partial}
  : >"$state/status"
  apt=(apt-get -qq -o "Dir::State=$state" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache"
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root)
  "${apt[@]}" update
  "${apt[@]}" install --yes --no-install-recommends --download-only "${packages[@]}"
  for package in "$state"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$sysroot"
  done
  # Absolute links of the packages, within the sysroot.
  find "$sysroot" -type l -lname '/*' | while IFS= read -r link; do
    ln -sfr "$sysroot$(readlink "$link")" "$link"
  done
  # Absolute paths in the packages' CMake files, too.
  # shellcheck disable=SC2016
  find "$sysroot" -name '*.cmake' -exec sed -i 's|"/usr|"${CMAKE_SYSROOT}/usr|g' {} +
  rm -r "$state"
  touch "$sysroot/.complete"
fi

# For qemu, also where the kernel starts it for a child. Its largest CPU has the CRC instructions.
export QEMU_LD_PREFIX=$sysroot QEMU_CPU=max
cmake -G Ninja -S . -B "$dir" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_TOOLCHAIN_FILE="$PWD/tools/dev/arm64.cmake" -DCMAKE_SYSROOT="$sysroot" \
  -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64-static \
  -DProtobuf_PROTOC_EXECUTABLE="$(command -v protoc)" \
  -DWQ_TOOLS=OFF -DWQ_INSTALL=OFF -DWQ_EXAMPLES=OFF
ninja -C "$dir" base_tests storage_tests engine_tests model_tests c_tests
left_out=()
if [[ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]]; then
  echo 'arm64: the kernel does not start qemu for arm64 programs (binfmt_misc), so tests that start' \
    'themselves as a child are left out' >&2
  left_out=(-E '^storage\.(Crash\.|Reader\.SeesWholePrefixes|OwnerLock\.HoldsBetweenProcesses)')
fi
ctest --test-dir "$dir" --output-on-failure -j "$(nproc)" -L '^(base|storage|engine|model|c)$' \
  -R "${1:-.}" "${left_out[@]}"
