// Looking for words in conversations: the latest ones first, each message once, whatever branches share it.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "tertulia/base/utf8.h"
#include "tertulia/text/word_pieces.h"

#include "api/routes.h"
#include "core/call.h"

namespace tertulia::server {
namespace {

// How much is looked through at most.
constexpr std::size_t kMostSessions = 500;
constexpr std::uint64_t kMostMessages = 20'000;
constexpr std::uint64_t kMostOfBranch = 2'000;
// Of one conversation that are told.
constexpr std::size_t kMostOfSession = 3;
constexpr std::size_t kExcerptBytes = 160;

// Without punctuation marks.
std::vector<std::string> words_to_find(const std::string& query) {
  std::vector<std::string> words = folded_words(query);
  std::erase_if(words, [](const std::string& word) {
    return word.size() == 1 && std::ispunct(static_cast<unsigned char>(word[0])) != 0;
  });
  return words;
}

class MessageSearch {
 public:
  MessageSearch(Store& store, const std::string& query, std::size_t limit)
      : store_(store), words_(words_to_find(query)), limit_(limit) {}

  // Without any, nothing is found.
  bool has_words() const { return !words_.empty(); }
  bool done() const { return found_ >= limit_ || looked_at_ >= kMostMessages; }
  // More may be there: something was not looked at, or not told.
  bool incomplete() const { return incomplete_ || done(); }
  void skipped() { incomplete_ = true; }

  Result<void> look_into(const SessionKey& key, JsonWriter& out) {
    TERTULIA_TRY_AS(SessionState state, load(store_, key));
    std::ranges::sort(state.branches, std::ranges::greater(), &BranchHead::last_activity);
    in_session_ = 0;
    for (const BranchHead& head : state.branches) {
      if (done() || in_session_ >= kMostOfSession) {
        incomplete_ = true;
        break;
      }
      TERTULIA_TRY(look_into(key, head, out));
    }
    return {};
  }

 private:
  Result<void> look_into(const SessionKey& key, const BranchHead& head, JsonWriter& out) {
    // What a fork shares is its parent's.
    const std::uint64_t own = head.forked_from ? head.forked_from->at_index + 1 : 0;
    const std::uint64_t end = head.message_count;
    const std::uint64_t begin = std::max(own, end > kMostOfBranch ? end - kMostOfBranch : 0);
    if (begin >= end) return {};
    if (begin > own) incomplete_ = true;
    TERTULIA_TRY_AS(const std::vector<StoredTurn> turns,
                    read_turns(store_, key, {.branch = head.id, .begin = begin, .end = end}));
    for (auto stored = turns.rbegin(); stored != turns.rend(); ++stored) {
      std::uint64_t index = stored->first_index;
      for (const Message& message : stored->turn.messages()) {
        const std::uint64_t place = index++;
        if (place < begin) continue;
        if (done() || in_session_ >= kMostOfSession) {
          incomplete_ = true;
          continue;
        }
        ++looked_at_;
        if (message.role() != Role::kUser && message.role() != Role::kAssistant) continue;
        const std::string text = message.text_content();
        if (!matches(text)) continue;
        ++found_;
        ++in_session_;
        write(out, key, head.id, place, message, text);
      }
    }
    return {};
  }

  // Every word is in it; the last one may be the beginning of one, as it is while somebody types.
  bool matches(const std::string& text) const {
    const std::vector<std::string> has = folded_words(text);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const bool last = i + 1 == words_.size();
      const auto fits = [&](const std::string& word) {
        return last ? word.starts_with(words_[i]) : word == words_[i];
      };
      if (std::ranges::none_of(has, fits)) return false;
    }
    return true;
  }

  // The first line that has one of the words.
  std::string excerpt_of(const std::string& text) const {
    std::string_view rest = text;
    std::string_view best = rest.substr(0, rest.find('\n'));
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      const std::vector<std::string> has = folded_words(line);
      if (std::ranges::any_of(has,
                              [&](const std::string& word) { return word.starts_with(words_.back()); })) {
        best = line;
        break;
      }
    }
    return std::string(utf8_prefix(best, kExcerptBytes));
  }

  void write(JsonWriter& out, const SessionKey& key, const BranchId& branch, std::uint64_t index,
             const Message& message, const std::string& text) const {
    out.begin_object().key("session").string(key.session.text()).key("branch").string(branch.text());
    out.key("index").number(index).key("id").string(message.id().text());
    out.key("role").string(name_of(message.role())).key("time").string(iso_time(message.time()));
    out.key("excerpt").string(excerpt_of(text)).end_object();
  }

  Store& store_;
  const std::vector<std::string> words_;
  const std::size_t limit_;
  std::size_t found_ = 0;
  std::size_t in_session_ = 0;
  std::uint64_t looked_at_ = 0;
  bool incomplete_ = false;
};

Result<Reply> search_messages(Call& call) {
  TERTULIA_TRY(call.no_query());
  TERTULIA_TRY_AS(const Json form, call.json());
  JsonReader in(form, "search");
  const std::string query = in.required_string("query");
  const auto limit = static_cast<std::size_t>(in.int_or("limit", 20, 1, 100));
  TERTULIA_TRY(in.finish_strict());
  Store& store = call.services.store();
  MessageSearch search(store, query, limit);
  std::string body;
  JsonWriter out(body);
  out.begin_object().key("messages").begin_array();
  SessionQuery sessions{.tenant = call.principal.tenant, .owner = call.principal.user, .limit = 100};
  std::size_t looked_into = 0;
  do {
    if (!search.has_words()) break;
    TERTULIA_TRY_AS(SessionPage page, list(store, sessions));
    for (const SessionSummary& session : page.sessions) {
      if (search.done() || ++looked_into > kMostSessions) {
        search.skipped();
        break;
      }
      // One that is damaged, or was deleted meanwhile, hides nothing of the others.
      const Result<void> looked = session.damaged ? Result<void>(Error(ErrorCode::kSessionDamaged, "damaged"))
                                                  : search.look_into(session.key, out);
      if (!looked && looked.error().code() != ErrorCode::kNoSession) search.skipped();
    }
    sessions.cursor = std::move(page.next);
  } while (!sessions.cursor.empty() && !search.done() && looked_into < kMostSessions);
  if (!sessions.cursor.empty()) search.skipped();
  out.end_array();
  if (search.incomplete()) out.key("incomplete").boolean(true);
  out.end_object();
  return Reply::json(std::move(body));
}

constexpr std::array kMessageSearchRoutes{
    on_pool(Method::kPost, "/api/v1/messages/search", Access::kRead, &search_messages, BodyKind::kJson),
};

}  // namespace

std::span<const Route> message_search_routes() { return kMessageSearchRoutes; }

}  // namespace tertulia::server
