// llmrt tokenize: text to ids.
#include <memory>

#include "commands.h"
#include "options.h"

namespace cli {
namespace {

struct TokenizeArgs {
  ModelArgs model;
  PromptArgs prompt;
  bool special = false, json = false;
};

std::string piece_of(llmrt_model* model, int32_t id) {
  std::string bytes(256, '\0');
  int32_t n = 0;
  auto* out = reinterpret_cast<uint8_t*>(bytes.data());
  llmrt_status status = llmrt_token_bytes(model, id, out, static_cast<int32_t>(bytes.size()), &n);
  if (status == LLMRT_ERR_BUFFER_TOO_SMALL) {
    bytes.resize(static_cast<size_t>(n));
    out = reinterpret_cast<uint8_t*>(bytes.data());
    status = llmrt_token_bytes(model, id, out, n, &n);
  }
  check(status);
  bytes.resize(static_cast<size_t>(n));
  return bytes;
}

int tokenize(const TokenizeArgs& args) {
  const std::string text = args.prompt.read();
  const Loaded loaded = load(args.model, true);
  const std::vector<int32_t> ids = tokens_of_text(loaded.model.get(), text, args.special ? 3u : 0u);
  if (args.json) {
    print_json_line({{"ids", ids}, {"n_ids", ids.size()}});
    return 0;
  }
  std::string lines;
  for (const int32_t id : ids)
    lines += std::to_string(id) + "\t" +
             Json(piece_of(loaded.model.get(), id))
                 .dump(-1, ' ', false, Json::error_handler_t::replace) +
             "\n";
  write_out(lines);
  return 0;
}

}  // namespace

std::vector<int32_t> tokens_of_text(llmrt_model* model, const std::string& text, uint32_t flags) {
  int32_t n = 0;
  std::vector<int32_t> ids(text.size() + 16);
  const auto cap = static_cast<int32_t>(std::min<size_t>(ids.size(), INT32_MAX));
  llmrt_status status = llmrt_tokenize(model, text.data(), text.size(), flags, ids.data(), cap, &n);
  if (status == LLMRT_ERR_BUFFER_TOO_SMALL) {
    ids.resize(static_cast<size_t>(n));
    status = llmrt_tokenize(model, text.data(), text.size(), flags, ids.data(), n, &n);
  }
  check(status);
  ids.resize(static_cast<size_t>(n));
  return ids;
}

Command add_tokenize(CLI::App& app) {
  auto args = std::make_shared<TokenizeArgs>();
  args->model.add_path(app)->required();
  args->model.add_overrides(app);
  args->prompt.add_to(app, true);
  app.add_flag("--special", args->special,
               "add the file's special tokens, and read special-token text as special tokens");
  app.add_flag("--json", args->json, "print {\"ids\": [...]}");
  return [args] { return tokenize(*args); };
}

}  // namespace cli
