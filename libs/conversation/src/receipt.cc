#include "tertulia/conversation/receipt.h"

namespace tertulia {

Tokens tokens_in(const Receipt& receipt, Tier tier) {
  Tokens sum{};
  for (const ReceiptItem& item : receipt.items) {
    if (item.tier == tier && item.fate != Fate::kDropped) sum = sum + item.tokens;
  }
  return sum;
}

}  // namespace tertulia
