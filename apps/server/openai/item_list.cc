#include "openai/item_list.h"

#include <algorithm>

#include "tertulia/base/json.h"

namespace tertulia::server {

std::string id_of_item(const std::string& item) {
  const Result<Json> parsed = parse_json(item);
  if (!parsed || parsed->as_object() == nullptr) return {};
  const Json* id = parsed->as_object()->find("id");
  return id == nullptr || id->as_string() == nullptr ? std::string() : *id->as_string();
}

Result<ListRequest> read_list_request(const Call& call) {
  TERTULIA_TRY_AS(Query query, call.query());
  ListRequest list;
  TERTULIA_TRY_AS(const std::optional<std::uint64_t> limit, query.number("limit", 1, 100));
  list.limit = static_cast<std::size_t>(limit.value_or(20));
  list.after = query.text_or("after", {});
  const std::string order = query.text_or("order", "desc");
  if (order != "asc" && order != "desc") {
    return Error(ErrorCode::kOutOfRange, "'order' is asc or desc").with("param", "order");
  }
  list.descending = order == "desc";
  return list;
}

Result<Reply> list_reply(const std::vector<std::string>& items, const ListRequest& list) {
  std::vector<const std::string*> ordered;
  ordered.reserve(items.size());
  for (const std::string& item : items) ordered.push_back(&item);
  if (list.descending) std::ranges::reverse(ordered);
  auto from = ordered.begin();
  if (!list.after.empty()) {
    from = std::ranges::find_if(ordered,
                                [&](const std::string* item) { return id_of_item(*item) == list.after; });
    if (from == ordered.end()) {
      return Error(ErrorCode::kNotFound, "Item with id '" + list.after + "' not found.")
          .with("param", "after");
    }
    ++from;
  }
  const auto left = static_cast<std::size_t>(ordered.end() - from);
  const std::size_t given = std::min(list.limit, left);
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("object").string("list").key("data").begin_array();
  for (std::size_t i = 0; i < given; ++i) out.raw(*from[static_cast<std::ptrdiff_t>(i)]);
  out.end_array();
  out.key("first_id").string(given == 0 ? "" : id_of_item(**from));
  out.key("last_id").string(given == 0 ? "" : id_of_item(*from[static_cast<std::ptrdiff_t>(given) - 1]));
  out.key("has_more").boolean(left > given).end_object();
  return Reply::json(std::move(body));
}

}  // namespace tertulia::server
