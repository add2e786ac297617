#include "context_bar.h"

#include <algorithm>
#include <map>

#include "words.h"

namespace tertulia::cli {
namespace {

struct TierLook {
  Tier tier;
  std::string_view label;
  const char* colour;
  // For screens without colour.
  const char* mark;
};
constexpr TierLook kTiers[] = {
    {Tier::kSystem, "system", "35", "s"},       {Tier::kProcedure, "procedure", "33", "p"},
    {Tier::kKnowledge, "knowledge", "32", "k"}, {Tier::kEpisode, "episodes", "34", "e"},
    {Tier::kHistory, "history", "36", "h"},     {Tier::kCurrent, "this turn", "37", "c"},
    {Tier::kTools, "tools", "31", "t"},
};

std::string blocks(const TierLook& look, std::size_t count, const Output& out) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += out.colour_out ? "█" : look.mark;
  return out.colour_out && count > 0 ? "\x1b[" + std::string(look.colour) + "m" + text + "\x1b[0m" : text;
}

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t used = display_width(text);
  return used < columns ? std::string(columns - used, ' ') + text : text;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "–";
  const std::uint64_t tenths = part * 1'000 / whole;
  return tenths == 0 && part > 0 ? "<0.1 %"
                                 : std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

// "12 dropped (budget)", for each reason.
std::vector<std::string> left_out(const Receipt& receipt) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> reasons;
  for (const ReceiptItem& item : receipt.items) {
    if (item.fate == Fate::kKept) continue;
    auto& [items, tokens] = reasons[std::string(name_of(item.tier)) + " " + std::string(name_of(item.fate)) +
                                    ": " + std::string(name_of(item.reason))];
    ++items;
    tokens += number(item.tokens);
  }
  std::vector<std::string> lines;
  lines.reserve(reasons.size());
  for (const auto& [reason, counts] : reasons) {
    lines.push_back(reason + " · " + counted(counts.first, "item") + " · " + counted(counts.second, "token"));
  }
  return lines;
}

}  // namespace

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::vector<std::string> draw_context(const Receipt& receipt, std::size_t width, const Output& out) {
  const std::uint64_t budget = std::max<std::uint64_t>(1, number(receipt.budget));
  const std::uint64_t reserve = number(receipt.output_reserve);
  const std::size_t columns = std::clamp<std::size_t>(width > 4 ? width - 4 : 20, 20, 72);
  const auto share = [&](std::uint64_t tokens) -> std::size_t {
    if (tokens == 0) return 0;
    return std::max<std::size_t>(1, static_cast<std::size_t>(tokens * columns / budget));
  };
  std::vector<std::string> lines;
  std::string bar;
  std::size_t used = 0;
  for (const TierLook& look : kTiers) {
    const std::size_t count = std::min(share(number(tokens_in(receipt, look.tier))), columns - used);
    bar += blocks(look, count, out);
    used += count;
  }
  const std::size_t kept_free = std::min(share(reserve), columns - used);
  std::string rest;
  for (std::size_t i = used; i < columns - kept_free; ++i) rest += "·";
  for (std::size_t i = 0; i < kept_free; ++i) rest += "░";
  lines.push_back("  " + bar + out.styled(Style::kDim, rest));
  const auto row = [&](const std::string& mark, std::string_view label, std::uint64_t tokens) {
    lines.push_back("  " + mark + " " + std::string(label) + std::string(14 - label.size(), ' ') +
                    padded(with_commas(tokens), 9) +
                    out.styled(Style::kDim, padded(percent(tokens, budget), 9)));
  };
  for (const TierLook& look : kTiers) {
    const std::uint64_t tokens = number(tokens_in(receipt, look.tier));
    if (tokens > 0) row(blocks(look, 1, out), look.label, tokens);
  }
  row(out.styled(Style::kDim, "░"), "answer", reserve);
  const std::uint64_t total = number(receipt.total);
  row(out.styled(Style::kDim, "·"), "free", budget > total + reserve ? budget - total - reserve : 0);
  for (const std::string& line : left_out(receipt))
    lines.push_back("  " + out.styled(Style::kDim, "- " + line));
  lines.push_back(
      out.styled(Style::kDim, "  " + with_commas(total) + " of " + counted(number(receipt.budget), "token") +
                                  " · " + one_line(receipt.model) + " · " +
                                  (receipt.exact ? "counted by " + one_line(receipt.tokenizer)
                                                 : std::string("estimated, its tokenizer is not known")) +
                                  " · model call " + std::to_string(receipt.iteration + 1)));
  return lines;
}

}  // namespace tertulia::cli
