// Session: a chat's history and the answers that join it. The KV of what two turns share is found by the prefix cache; a session
// itself owns text only.
//
//   history: system? m1 m2 ... mk  --submit-->  one turn in flight  --settle-->  history + answer
//
// At most one turn is in flight; until it is settled every change answers busy. A turn settles lazily, at the next call after its
// request ended: stop or length joins the history; cancelled joins it only if the cancel that ended it said keep_partial; anything
// else leaves the history as it was, without the user message that ask() brought. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/status.h"
#include "engine/engine.h"

namespace llmrt {

struct SessionOptions {
  std::string system;
  bool has_system = false;
  std::string tools_json;    // array, or empty
  std::string kwargs_json;   // object, or empty
  bool drop_oldest = false;  // a prompt without room for an answer leaves the oldest turns out
};

// What a turn brings beside the history.
struct TurnInput {
  std::string_view tools_json, kwargs_json;  // empty: the session's own
  int32_t max_tokens = 0;  // the answer's, which drop_oldest makes room for; < 0: no limit
};

// An answer in flight.
struct SessionTurn {
  RequestPtr request = nullptr;
  bool joins = true;             // false: prefill
  bool brought_message = false;  // the history's last message came with it and goes with it
};

class Session {
 public:
  // Makes the request of a turn; the caller decides how (the C API makes a handle first).
  using Start = FunctionRef<Result<RequestPtr>(std::vector<Token> prompt)>;

  // engine outlives the session. template_error if the model has no chat template; closed if the engine is.
  static Result<std::unique_ptr<Session>> create(const Engine& engine, SessionOptions options);
  ~Session();

  Status add(std::string_view role, std::string_view content);
  Status add_json(std::string_view message_json);  // an object with at least "role"
  Result<std::shared_ptr<SessionTurn>> submit(const TurnInput& input, Start start);
  // Adds a user message and submits; if that fails or the answer does not join, the message is taken back.
  Result<std::shared_ptr<SessionTurn>> ask(std::string_view content, const TurnInput& input,
                                           Start start);
  Result<std::shared_ptr<SessionTurn>> prefill(Start start);
  Result<std::unique_ptr<Session>> fork() const;
  Status rewind(int32_t keep_messages);
  Result<uint32_t> token_count() const;
  Result<std::string> history() const;

 private:
  struct State;  // messages as JSON values: session.cpp
  Session(const Engine& engine, SessionOptions options);
  Status settle() const;  // busy while a turn is in flight
  Result<std::vector<Token>> encode(size_t skip, const TurnInput& input) const;
  Result<std::vector<Token>> prompt(const TurnInput& input) const;
  std::vector<size_t> prompt_starts() const;
  Result<std::shared_ptr<SessionTurn>> begin(const TurnInput& input, SessionTurn kind, Start start);

  const Engine& engine_;
  SessionOptions options_;
  mutable std::mutex mutex_;
  std::unique_ptr<State> state_;
};

}  // namespace llmrt
