#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace wq {
namespace {

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
    table[i] = crc;
  }
  return table;
}

uint32_t ByTable(uint32_t crc, std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = MakeTable();
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  }
  return crc;
}

// HasInstruction and ByInstruction, for the processors whose instruction is known.
#if defined(__x86_64__)
#define WQ_CRC32C_INSTRUCTION 1
bool HasInstruction() { return __builtin_cpu_supports("sse4.2"); }

__attribute__((target("sse4.2"))) uint32_t ByInstruction(uint32_t crc, std::string_view bytes) {
  uint64_t wide = crc;
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
    bytes.remove_prefix(sizeof word);
  }
  crc = static_cast<uint32_t>(wide);
  if (bytes.size() >= sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    crc = __builtin_ia32_crc32si(crc, word);
    bytes.remove_prefix(sizeof word);
  }
  for (const char c : bytes) crc = __builtin_ia32_crc32qi(crc, static_cast<unsigned char>(c));
  return crc;
}
#elif defined(__aarch64__)
#define WQ_CRC32C_INSTRUCTION 1
// An optional extension of ARMv8.0, and part of ARMv8.1.
bool HasInstruction() {
  constexpr unsigned long kCrc32 = 1UL << 7;  // HWCAP_CRC32 of <asm/hwcap.h>.
  return (getauxval(AT_HWCAP) & kCrc32) != 0;
}

// In assembler: GCC and clang have no common name for the instructions.
uint32_t ByInstruction(uint32_t crc, std::string_view bytes) {
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    asm(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
    bytes.remove_prefix(sizeof word);
  }
  for (const char c : bytes) {
    const uint32_t byte = static_cast<unsigned char>(c);
    asm(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(byte));
  }
  return crc;
}
#endif

}  // namespace

uint32_t Crc32c(uint32_t crc, std::string_view bytes) {
#if defined(WQ_CRC32C_INSTRUCTION)
  static const bool has_instruction = HasInstruction();
  if (has_instruction) return ~ByInstruction(~crc, bytes);
#endif
  return Crc32cByTable(crc, bytes);
}

uint32_t Crc32cByTable(uint32_t crc, std::string_view bytes) { return ~ByTable(~crc, bytes); }

}  // namespace wq
