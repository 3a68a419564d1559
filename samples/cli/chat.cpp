// llmrt chat: a conversation. Ctrl-C stops the answer (and keeps it), at an empty prompt it ends the program; Ctrl-D ends it too.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "commands.h"
#include "line_input.h"
#include "options.h"
#include "stream.h"

namespace cli {
namespace {

constexpr const char* kHelp =
    "/help            this list\n"
    "/system TEXT     start again with a system message\n"
    "/clear           start again\n"
    "/undo            forget the last question and answer\n"
    "/regen           answer the last question again\n"
    "/history         show the conversation as JSON\n"
    "/stats           figures of the last answer\n"
    "/exit            leave (also Ctrl-D)\n"
    "A line that ends in \\ goes on with the next one. Ctrl-C stops an answer.\n";

struct ChatArgs {
  ModelArgs model;
  EngineArgs engine;
  GenArgs gen;
  std::string system;
};

class Chat {
 public:
  explicit Chat(ChatArgs& args) : args_(args), loaded_(load(args.model)) {
    llmrt_engine_options options;
    llmrt_engine_options_init(&options, sizeof options);
    fill(args.engine, options);
    options.overflow = 2;  // a long talk drops its oldest turns from the prompt
    engine_ = make_engine(loaded_, options);
    warn_beyond_training(loaded_, args.engine);
    begin(args.system);
  }

  int loop() {
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "%s (/help for help)\n", model_name().c_str());
    LineInput input;
    std::string line;
    while (true) {
      const Line got = input.read("> ", line);
      if (got == Line::end) break;
      if (got == Line::interrupted) {
        clear_interrupt();
        std::fprintf(stderr, "\n");
        if (line.empty() && pressed_before_) return 130;
        pressed_before_ = true;
        std::fprintf(stderr, "(once more to leave)\n");
        continue;
      }
      pressed_before_ = false;
      if (line.empty()) continue;
      if (line[0] == '/') {
        if (!command(line)) break;
      } else {
        ask(line);
      }
    }
    return 0;
  }

 private:
  std::string model_name() const {
    const llmrt_model_info info = info_of(loaded_.model.get());
    return *info.name ? info.name : args_.model.path;
  }

  void begin(const std::string& system) {
    llmrt_session_options options;
    llmrt_session_options_init(&options, sizeof options);
    if (!system.empty()) options.system = system.c_str();
    llmrt_session* session = nullptr;
    check(llmrt_session_create(engine_.get(), &options, &session));
    session_.reset(session);
    system_ = system;
  }

  Json history() const {
    char* text = nullptr;
    check(llmrt_session_history(session_.get(), &text));
    return Json::parse(take_text(text), nullptr, false);
  }

  // A failure is told and the talk goes on.
  void ask(const std::string& question) {
    if (llmrt_session_add(session_.get(), "user", question.c_str()) < 0) {
      std::fprintf(stderr, "llmrt: %s\n", llmrt_last_error());
      return;
    }
    if (!answer()) forget_last("user");
  }

  // False if there is no answer to the last question.
  bool answer() {
    llmrt_request* request = nullptr;
    const llmrt_status submitted =
        llmrt_session_submit(session_.get(), &args_.gen.finished(), &request);
    // An option's value will be as wrong next time.
    if (submitted == LLMRT_ERR_INVALID_ARGUMENT) throw_last_error();
    if (submitted < 0) {
      std::fprintf(stderr, "llmrt: %s\n", llmrt_last_error());
      return false;
    }
    request_.reset(request);
    const llmrt_status status = follow(request, [](std::string_view text) { write_out(text); });
    write_out("\n");
    clear_interrupt();
    if (status == LLMRT_ERR_CANCELLED) {
      std::fprintf(stderr, "(stopped)\n");
      return true;
    }
    if (status < 0) {
      std::fprintf(stderr, "llmrt: %s\n", llmrt_last_error());
      return false;
    }
    tell_if_cut(request, 0, args_.gen.options.max_tokens);
    return true;
  }

  // Drops messages from the last one of a role on. False: there is none.
  bool forget_last(const char* role) {
    const Json messages = history();
    for (size_t i = messages.size(); i-- > 0;) {
      if (messages[i].value("role", "") != role) continue;
      check(llmrt_session_rewind(session_.get(), static_cast<int32_t>(i)));
      return true;
    }
    return false;
  }

  // False: leave.
  bool command(const std::string& line) {
    const size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    const std::string rest = space == std::string::npos ? std::string() : line.substr(space + 1);
    if (name == "/exit" || name == "/quit") return false;
    if (name == "/help") {
      std::fprintf(stderr, "%s", kHelp);
    } else if (name == "/system") {
      begin(rest);
      std::fprintf(stderr, "(started again)\n");
    } else if (name == "/clear") {
      begin(system_);
      std::fprintf(stderr, "(started again)\n");
    } else if (name == "/undo") {
      std::fputs(forget_last("user") ? "(forgotten)\n" : "(nothing to forget)\n", stderr);
    } else if (name == "/regen") {
      if (forget_last("assistant"))
        answer();
      else
        std::fprintf(stderr, "(nothing to answer again)\n");
    } else if (name == "/history") {
      print_json(history());
    } else if (name == "/stats") {
      if (request_)
        print_usage(request_.get());
      else
        std::fprintf(stderr, "(no answer yet)\n");
    } else {
      std::fprintf(stderr, "%s: no such command; /help lists them\n", name.c_str());
    }
    return true;
  }

  ChatArgs& args_;
  Loaded loaded_;
  Owned<llmrt_engine> engine_;
  Owned<llmrt_session> session_;
  Owned<llmrt_request> request_;  // of the last answer
  std::string system_;
  bool pressed_before_ = false;
};

}  // namespace

Command add_chat(CLI::App& app) {
  auto args = std::make_shared<ChatArgs>();
  args->model.add_computing(app);
  args->model.add_cache_dir(app);
  args->model.add_chat_template(app);
  args->engine.add_to(app);
  args->gen.add_to(app);
  app.add_option("--system", args->system, "system message");
  return [args] { return Chat(*args).loop(); };
}

}  // namespace cli
