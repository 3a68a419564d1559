#include "engine/session.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "chat/messages.h"

namespace llmrt {
namespace {

using Json = nlohmann::ordered_json;

Result<Json> parse_message(std::string_view text) {
  LLMRT_TRY(check_json("message_json", text));  // bounds the depth: parse() and dump() recurse
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    return error(Code::invalid_argument, "message_json is no JSON object").at("message_json");
  const auto role = json.find("role");
  if (role == json.end() || !role->is_string())
    return error(Code::invalid_argument, "message_json has no string member \"role\"")
        .at("message_json");
  const auto content = json.find("content");
  if (content != json.end() && !content->is_string() && !content->is_array() && !content->is_null())
    return error(Code::invalid_argument,
                 "message_json: content is of type %s; allowed: string, array and null",
                 content->type_name())
        .at("message_json");
  return json;
}

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool has_role(const Json& message, std::string_view role) {
  return message.at("role").get_ref<const std::string&>() == role;
}

}  // namespace

struct Session::State {
  std::vector<Json> messages;
  std::shared_ptr<SessionTurn> turn;  // in flight, or not yet settled
};

Session::Session(const Engine& engine, SessionOptions options)
    : engine_(engine), options_(std::move(options)), state_(std::make_unique<State>()) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(const Engine& engine, SessionOptions options) {
  if (engine.closed()) return error(Code::closed, "the engine is closed");
  LLMRT_TRY(engine.model().check_chat());
  const bool has_system = options.has_system;
  std::unique_ptr<Session> session(new Session(engine, std::move(options)));
  if (has_system)
    session->state_->messages.push_back(
        {{"role", "system"}, {"content", session->options_.system}});
  return session;
}

Status Session::settle() const {
  const std::shared_ptr<SessionTurn> turn = state_->turn;
  if (!turn) return Status();
  const Status result = turn->request->wait(0);
  if (result.code() == Code::pending)
    return error(Code::busy, "the session's answer is under way; wait for it or cancel it");
  const bool kept =
      result.code() == Code::cancelled && turn->request->keeps_partial() && !turn->brought_message;
  if (turn->joins && (result.ok() || kept)) {
    Json message = {{"role", "assistant"}, {"content", turn->request->text(0)}};
    state_->messages.push_back(std::move(message));
  } else if (turn->brought_message) {
    state_->messages.pop_back();
  }
  state_->turn = nullptr;
  return Status();
}

Status Session::add(std::string_view role, std::string_view content) {
  if (role.empty())
    return error(Code::invalid_argument,
                 "role is empty; system, user, assistant and tool are usual")
        .at("role");
  const std::lock_guard lock(mutex_);
  LLMRT_TRY(settle());
  state_->messages.push_back({{"role", role}, {"content", content}});
  return Status();
}

Status Session::add_json(std::string_view message_json) {
  LLMRT_ASSIGN(Json message, parse_message(message_json));
  const std::lock_guard lock(mutex_);
  LLMRT_TRY(settle());
  state_->messages.push_back(std::move(message));
  return Status();
}

// The history without its oldest `skip` turns after the system message, as ids.
Result<std::vector<Token>> Session::encode(size_t skip, const TurnInput& input) const {
  Json array = Json::array();
  size_t i = 0;
  for (const Json& message : state_->messages)
    if (i++ >= skip || has_role(message, "system")) array.push_back(message);
  const std::string messages = to_text(array);
  ChatInput chat;
  chat.messages_json = messages;
  chat.messages_name = "messages";
  chat.tools_json = input.tools_json.empty() ? options_.tools_json : input.tools_json;
  chat.kwargs_json = input.kwargs_json.empty() ? options_.kwargs_json : input.kwargs_json;
  const LoadedModel& model = engine_.model();
  return encode_chat(*model.chat_template, *model.tokenizer, chat);
}

// The messages a prompt may begin with: the history's first and that of every turn but the oldest; a turn begins with the user.
std::vector<size_t> Session::prompt_starts() const {
  std::vector<size_t> starts = {0};
  bool oldest = true;
  for (size_t i = 0; i < state_->messages.size(); ++i) {
    if (!has_role(state_->messages[i], "user")) continue;
    if (!oldest) starts.push_back(i);
    oldest = false;
  }
  return starts;
}

// drop_oldest: as few of the oldest turns as need be are left out of the prompt (not out of the history) to give the answer room. Leaving
// out more never makes a prompt longer, so the number is found by halving: a render costs as much as the history is long.
Result<std::vector<Token>> Session::prompt(const TurnInput& input) const {
  const EngineOptions& options = engine_.options();
  const uint32_t quarter = options.ctx_tokens / 4;
  const uint32_t room =
      input.max_tokens < 0 ? quarter : std::min(static_cast<uint32_t>(input.max_tokens), quarter);
  LLMRT_ASSIGN(std::vector<Token> ids, encode(0, input));
  const auto fits = [&] { return ids.size() + room <= options.ctx_tokens; };
  if (!options_.drop_oldest || fits()) return ids;
  const std::vector<size_t> starts = prompt_starts();
  // starts[0 .. low) do not fit; starts[high] does, or is the last; ids begin at starts[at]
  size_t low = std::min<size_t>(1, starts.size() - 1), high = starts.size() - 1, at = 0;
  while (low < high) {
    at = (low + high) / 2;
    LLMRT_ASSIGN(ids, encode(starts[at], input));
    fits() ? high = at : low = at + 1;
  }
  if (at != high) {
    LLMRT_ASSIGN(ids, encode(starts[high], input));
  }
  return ids;
}

Result<std::shared_ptr<SessionTurn>> Session::begin(const TurnInput& input, SessionTurn kind,
                                                    Start start) {
  if (state_->messages.empty())
    return error(Code::invalid_argument, "the session has no message to answer; add one first");
  LLMRT_ASSIGN(std::vector<Token> ids, prompt(input));
  auto turn = std::make_shared<SessionTurn>(std::move(kind));
  LLMRT_ASSIGN(turn->request, start(std::move(ids)));
  state_->turn = turn;
  return turn;
}

Result<std::shared_ptr<SessionTurn>> Session::submit(const TurnInput& input, Start start) {
  const std::lock_guard lock(mutex_);
  LLMRT_TRY(settle());
  return begin(input, {}, start);
}

Result<std::shared_ptr<SessionTurn>> Session::ask(std::string_view content, const TurnInput& input,
                                                  Start start) {
  const std::lock_guard lock(mutex_);
  LLMRT_TRY(settle());
  // The message goes again unless a turn is under way: begin() may fail, or throw for want of memory.
  struct Rollback {
    State& state;
    ~Rollback() {
      if (!state.turn) state.messages.pop_back();
    }
  };
  state_->messages.push_back({{"role", "user"}, {"content", content}});
  const Rollback rollback{*state_};
  return begin(input, {.brought_message = true}, start);
}

Result<std::shared_ptr<SessionTurn>> Session::prefill(Start start) {
  const std::lock_guard lock(mutex_);
  LLMRT_TRY(settle());
  return begin({}, {.joins = false}, start);
}

Result<std::unique_ptr<Session>> Session::fork() const {
  const std::lock_guard lock(mutex_);
  LLMRT_TRY(settle());
  std::unique_ptr<Session> copy(new Session(engine_, options_));
  copy->state_->messages = state_->messages;
  return copy;
}

Status Session::rewind(int32_t keep_messages) {
  const std::lock_guard lock(mutex_);
  LLMRT_TRY(settle());
  const size_t n = state_->messages.size();
  if (keep_messages < 0 || static_cast<size_t>(keep_messages) > n)
    return error(Code::invalid_argument, "keep_messages is %d; the session has %zu messages",
                 keep_messages, n)
        .at("keep_messages");
  state_->messages.resize(static_cast<size_t>(keep_messages));
  return Status();
}

Result<uint32_t> Session::token_count() const {
  const std::lock_guard lock(mutex_);
  const Status settled = settle();  // an answer under way does not count yet
  if (settled.failed() && settled.code() != Code::busy) return Status(settled);
  if (state_->messages.empty()) return 0u;
  LLMRT_ASSIGN(const std::vector<Token> ids, encode(0, {}));
  return static_cast<uint32_t>(ids.size());
}

Result<std::string> Session::history() const {
  const std::lock_guard lock(mutex_);
  const Status settled = settle();
  if (settled.failed() && settled.code() != Code::busy) return Status(settled);
  Json array = Json::array();
  for (const Json& message : state_->messages) array.push_back(message);
  return to_text(array);
}

}  // namespace llmrt
