// llmrt perplexity: exp of the mean negative log likelihood of a text.
//
// The text is tokenized once (with BOS where the model adds one) and cut into windows of --ctx tokens; the rest is dropped. The first
// token of each window becomes BOS where the model adds one. Scored are the predictions of tokens ctx/2 + 1 .. ctx - 1.
//
// --kl-base F: F holds the logits (of `llmrt logits`) of the first window by a reference. Over its positions 16 and up:
//   mean_kl = mean of sum_v p(v) (log p(v) - log q(v)), p the reference;   top1 = share of positions with the same best token
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "commands.h"
#include "evaluate.h"
#include "options.h"

namespace cli {
namespace {

constexpr size_t kFirstKlPosition = 16;
constexpr int kMostCtx = 1 << 22;  // of an engine

struct PerplexityArgs {
  ModelArgs model;
  EngineArgs engine;
  std::string file;
  std::optional<std::string> kl_base;
  int windows = 0;
  bool json = false;
};

double log_sum_exp(std::span<const float> row) {
  const double max = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float x : row) sum += std::exp(x - max);
  return max + std::log(sum);
}

double kl_divergence(std::span<const float> reference, std::span<const float> row) {
  const double log_zp = log_sum_exp(reference), log_zq = log_sum_exp(row);
  double kl = 0;
  for (size_t v = 0; v < row.size(); ++v) {
    const double log_p = reference[v] - log_zp;
    kl += std::exp(log_p) * (log_p - (row[v] - log_zq));
  }
  return kl;
}

size_t best_of(std::span<const float> row) {
  return static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

struct Divergence {
  double mean_kl = 0, top1 = 0;
};

// Rows of the first window that the reference's bytes hold.
size_t n_reference_rows(const std::string& path, const std::string& bytes, size_t n_vocab,
                        size_t ctx) {
  const size_t n_rows = std::min(bytes.size() / sizeof(float) / n_vocab, ctx);
  if (bytes.size() % (sizeof(float) * n_vocab) != 0 || n_rows <= kFirstKlPosition)
    fail(path + ": " + std::to_string(bytes.size()) + " bytes and --ctx " + std::to_string(ctx) +
         "; wanted are more than " + std::to_string(kFirstKlPosition) + " rows of " +
         std::to_string(n_vocab) + " float32, and as many tokens");
  return n_rows;
}

Divergence compare(Evaluator& evaluator, std::span<const int32_t> window,
                   const std::string& bytes) {
  const size_t n_vocab = evaluator.n_vocab(), n_rows = window.size();
  Divergence sum;
  std::vector<float> reference(n_vocab);
  evaluator.rows(window, kFirstKlPosition, [&](size_t position, std::span<const float> row) {
    std::memcpy(reference.data(), bytes.data() + position * n_vocab * sizeof(float),
                n_vocab * sizeof(float));
    sum.mean_kl += kl_divergence(reference, row);
    sum.top1 += best_of(reference) == best_of(row) ? 1 : 0;
  });
  const auto n = static_cast<double>(n_rows - kFirstKlPosition);
  return {sum.mean_kl / n, sum.top1 / n};
}

// The id that the model puts before every text, -1: none. Any text shows it, so a letter does.
int32_t added_bos(llmrt_model* model) {
  const int32_t bos = llmrt_token_special(model, 0);
  const std::vector<int32_t> with = tokens_of_text(model, "a", 1);
  const std::vector<int32_t> without = tokens_of_text(model, "a", 0);
  const bool added = !with.empty() && with[0] == bos && (without.empty() || without[0] != bos);
  return added ? bos : -1;
}

int perplexity(const PerplexityArgs& args) {
  check_range("--ctx", args.engine.ctx, 4, kMostCtx);
  check_range("--windows", args.windows, 0, INT32_MAX);
  const auto ctx = static_cast<size_t>(args.engine.ctx);
  const std::string text = read_file(args.file);
  check_utf8(args.file == "-" ? "standard input" : args.file, text);
  const std::string reference = args.kl_base ? read_file(*args.kl_base) : std::string();
  const Loaded loaded = load(args.model);
  std::vector<int32_t> ids = tokens_of_text(loaded.model.get(), text, 1);
  const int32_t bos = added_bos(loaded.model.get());
  size_t n_windows = ids.size() / ctx;
  if (n_windows == 0)
    fail(args.file + ": " + std::to_string(ids.size()) + " tokens; one window needs " +
         std::to_string(ctx));
  if (args.windows > 0) n_windows = std::min(n_windows, static_cast<size_t>(args.windows));

  Evaluator evaluator(loaded, args.engine.kv_type, ctx);
  const size_t n_kl_rows =
      args.kl_base ? n_reference_rows(*args.kl_base, reference, evaluator.n_vocab(), ctx) : 0;
  double nll = 0;
  size_t n_scored = 0;
  Json running = Json::array();
  for (size_t w = 0; w < n_windows; ++w) {
    const std::span<int32_t> window = std::span(ids).subspan(w * ctx, ctx);
    if (bos >= 0) window[0] = bos;
    evaluator.rows(window, ctx / 2, [&](size_t position, std::span<const float> row) {
      if (position + 1 == ctx) return;
      nll += log_sum_exp(row) - row[static_cast<size_t>(window[position + 1])];
      ++n_scored;
    });
    const double so_far = std::exp(nll / static_cast<double>(n_scored));
    running.push_back(so_far);
    std::fprintf(stderr, "window %zu of %zu: %.4f\n", w + 1, n_windows, so_far);
  }
  const double result = std::exp(nll / static_cast<double>(n_scored));
  Json json = {{"perplexity", result},
               {"running", running},
               {"windows", n_windows},
               {"n_scored", n_scored},
               {"ctx", ctx}};
  if (args.kl_base) {
    const Divergence d = compare(evaluator, std::span(ids).first(n_kl_rows), reference);
    json["mean_kl"] = d.mean_kl;
    json["top1"] = d.top1;
  }
  if (args.json) {
    print_json(json);
  } else {
    std::string line = "perplexity " + std::to_string(result);
    if (json.contains("mean_kl"))
      line += ", mean KL " + std::to_string(json["mean_kl"].get<double>()) + ", same best token " +
              std::to_string(json["top1"].get<double>());
    write_out(line + "\n");
  }
  return 0;
}

}  // namespace

Command add_perplexity(CLI::App& app) {
  auto args = std::make_shared<PerplexityArgs>();
  args->engine.ctx = 512;
  args->model.add_computing(app);
  app.add_option("FILE", args->file, "UTF-8 text")->required();
  add_number(app, "--ctx", args->engine.ctx, "tokens of a window; its second half is scored")
      ->capture_default_str();
  args->engine.add_kv_type(app);
  add_number(app, "--windows", args->windows, "only the first N windows, 0: all");
  add_text(app, "--kl-base", args->kl_base,
           "logits of the first window by a reference, as llmrt logits --out writes them")
      ->type_name("FILE");
  app.add_flag("--json", args->json,
               "print the figures as JSON; n_scored: how many tokens were scored");
  return [args] { return perplexity(*args); };
}

}  // namespace cli
