#include "embedder/static_table.h"

#include <bit>
#include <cstring>

#include "tertulia/base/check.h"

asm(R"(
    .section .rodata
    .balign 8
    .global tertulia_static_table_begin
    .hidden tertulia_static_table_begin
    .global tertulia_static_table_end
    .hidden tertulia_static_table_end
tertulia_static_table_begin:
    .incbin ")" TERTULIA_STATIC_TABLE_FILE R"("
tertulia_static_table_end:
    .byte 0
    .text
)");

extern "C" {
extern const char tertulia_static_table_begin[];
extern const char tertulia_static_table_end[];
}

namespace tertulia {
namespace {

static_assert(std::endian::native == std::endian::little, "the table is read as it stands");

constexpr std::string_view kMagic = "TSE1";
constexpr std::size_t kHeaderBytes = 16;

std::uint32_t word_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

Error damaged() {
  return Error(
      ErrorCode::kDamaged,
      "this is not a table of static embeddings; make it again with tools/make_static_embeddings.py");
}

}  // namespace

std::string_view embedded_static_table() {
  return {tertulia_static_table_begin,
          static_cast<std::size_t>(tertulia_static_table_end - tertulia_static_table_begin)};
}

Result<StaticTable> StaticTable::read(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) return damaged();
  const std::size_t pieces = word_at(bytes, 4);
  const std::size_t dimensions = word_at(bytes, 8);
  const std::size_t line_bytes = word_at(bytes, 12);
  if (bytes.size() != kHeaderBytes + line_bytes + pieces * sizeof(float) + pieces * dimensions)
    return damaged();
  const std::string_view lines = bytes.substr(kHeaderBytes, line_bytes);
  TERTULIA_TRY_AS(WordPieces known, WordPieces::from_lines(lines));
  if (known.size() != pieces) return damaged();
  StaticTable table(std::move(known));
  table.lines_ = lines;
  table.dimensions_ = dimensions;
  table.steps_ = bytes.data() + kHeaderBytes + line_bytes;
  table.rows_ = reinterpret_cast<const std::int8_t*>(table.steps_ + pieces * sizeof(float));
  return table;
}

const StaticTable& StaticTable::get() {
  static const StaticTable table = [] {
    Result<StaticTable> read = StaticTable::read(embedded_static_table());
    TERTULIA_CHECK(read.ok(), "the table that was built into the library can be read");
    return *std::move(read);
  }();
  return table;
}

void StaticTable::add(std::uint32_t piece, std::span<float> sum) const {
  float step = 0;
  std::memcpy(&step, steps_ + piece * sizeof(float), sizeof step);
  const std::int8_t* row = rows_ + piece * dimensions_;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += step * static_cast<float>(row[i]);
}

}  // namespace tertulia
