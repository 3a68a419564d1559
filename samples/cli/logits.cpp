// llmrt logits: [n_tokens, n_vocab] float32 of a token sequence. The KV cache is f32 unless --kv-type says otherwise.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>

#include "commands.h"
#include "evaluate.h"
#include "options.h"

namespace cli {
namespace {

struct LogitsArgs {
  ModelArgs model;
  EngineArgs engine;
  std::string tokens, out;
};

std::vector<int32_t> parse_ids(const std::string& text) {
  std::vector<int32_t> ids;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    char* end = nullptr;
    errno = 0;
    const long id = std::strtol(part.c_str(), &end, 10);
    if (part.empty() || *end != '\0' || errno != 0 || id < INT32_MIN || id > INT32_MAX)
      fail_usage("--tokens: \"" + part + "\" is no token id; wanted is 1,2,3");
    ids.push_back(static_cast<int32_t>(id));
  }
  if (ids.empty()) fail_usage("--tokens is empty; wanted is 1,2,3");
  return ids;
}

int logits(const LogitsArgs& args) {
  const std::vector<int32_t> ids = parse_ids(args.tokens);
  const Loaded loaded = load(args.model);
  Evaluator evaluator(loaded, args.engine.kv_type, ids.size());
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(args.out.c_str(), "wb"),
                                                             std::fclose);
  if (!file) fail(args.out + ": " + std::strerror(errno));
  evaluator.rows(ids, 0, [&](size_t, std::span<const float> row) {
    if (std::fwrite(row.data(), sizeof(float), row.size(), file.get()) != row.size())
      fail(args.out + ": " + std::strerror(errno));
  });
  if (std::fflush(file.get()) != 0) fail(args.out + ": " + std::strerror(errno));
  return 0;
}

}  // namespace

Command add_logits(CLI::App& app) {
  auto args = std::make_shared<LogitsArgs>();
  args->engine.kv_type = "f32";
  args->model.add_computing(app);
  args->engine.add_kv_type(app);
  app.add_option("--tokens", args->tokens, "token ids, comma separated")
      ->required()
      ->type_name("IDS");
  app.add_option("--out", args->out, "file to write: raw float32, [tokens, n_vocab]")
      ->required()
      ->type_name("FILE");
  return [args] { return logits(*args); };
}

}  // namespace cli
