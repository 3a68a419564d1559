// Real models against recorded outputs of an exact float32 run and of llama.cpp (golden/real/expected.json).
//
//   real_models MODEL_NAME [--reference N_WINDOWS] [--kl]
//
// The file is $LLMRT_TEST_MODELS/MODEL_NAME.gguf, the expectations $LLMRT_TEST_DATA/golden/real. Exit 77 (ctest: skipped) with a sentence
// that names what is missing.
//   default          teacher-forced argmax of every case, and perplexity of the whole text: with the default KV codec (bf16) within 1 %
//                    of the exact one, with float32 KV within 0.3 % and two standard errors of llama.cpp's, at most within 1 %:
//                    llama.cpp rounds activations to 8 bits too, at other places, so that the windows' differences are noise, whose size
//                    they show
//   --reference N    perplexity of the first N windows on the reference interpreter (float32 activations) within 0.1 %
//   --kl             mean KL of the text's beginning against the reference interpreter, positions 16 on, beside llama.cpp's
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "runtime/loaded_model.h"
#include "tests/support/host.h"

using namespace llmrt;
using nlohmann::json;
using test::take;

namespace {

constexpr int kSkipped = 77;

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::shared_ptr<const LoadedModel> load(const std::string& path, const char* device) {
  ModelOptions options;
  options.devices = device;
  return take(load_model(test::make_host(0), {take(source_from_path(path))}, options, nullptr));
}

std::unique_ptr<Engine> make_engine(const std::shared_ptr<const LoadedModel>& model,
                                    const char* kv_type) {
  EngineOptions options;
  options.host_stepped = true;
  options.ctx_tokens = 1024;
  options.max_running = 1;
  options.prefix_cache = false;
  options.kv = take(parse_kv_type(kv_type));
  return take(Engine::create(model, options));
}

std::vector<float> evaluate(Engine& engine, const std::vector<Token>& tokens, uint32_t first) {
  const size_t n_vocab = engine.model().def.program.n_vocab;
  std::vector<float> logits((tokens.size() - first) * n_vocab);
  const Status s = engine.evaluate(tokens, first, logits);
  if (!s.ok()) {
    std::printf("evaluate: %s\n", std::string(s.message()).c_str());
    std::exit(1);
  }
  return logits;
}

double log_sum_exp(const float* row, size_t n) {
  const double top = *std::max_element(row, row + n);
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(row[i]) - top);
  return top + std::log(sum);
}

// Feeds the reference tokens; the argmax must be theirs wherever the gap exceeds 0.3, theirs must be in the top 2 elsewhere.
int check_greedy(Engine& engine, const json& one, const std::vector<Token>& prompt, const char* who,
                 const char* title, bool top2) {
  const auto greedy = one["greedy"].get<std::vector<Token>>();
  const auto gap = one["gap"].get<std::vector<double>>();
  std::vector<Token> fed = prompt;
  fed.insert(fed.end(), greedy.begin(), greedy.end() - 1);
  const auto first = static_cast<uint32_t>(prompt.size() - 1);
  const std::vector<float> logits = evaluate(engine, fed, first);
  const size_t n = engine.model().def.program.n_vocab;
  int failures = 0, n_equal = 0;
  for (size_t i = 0; i < greedy.size(); ++i) {
    const float* row = logits.data() + i * n;
    const float want = row[greedy[i]];
    const auto above = std::count_if(row, row + n, [&](float x) { return !(x <= want); });
    n_equal += above == 0;
    if ((gap[i] > 0.3 && above > 0) || (top2 && above > 1)) {
      std::printf(
          "  %s \"%s\" step %zu: reference token %d is number %ld here, its gap there is %.3f\n",
          who, title, i, greedy[i], static_cast<long>(above) + 1, gap[i]);
      ++failures;
    }
  }
  std::printf("  %s \"%.40s\": argmax equal at %d of %zu steps\n", who, title, n_equal,
              greedy.size());
  return failures;
}

double mean_of(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

// Mean negative log likelihoods of windows of equal length.
struct Perplexity {
  std::vector<double> windows;
  double value() const { return std::exp(mean_of(windows)); }
};

// running[i]: perplexity of the first i + 1 windows.
Perplexity of_running(const json& running, size_t n_windows) {
  Perplexity p;
  double before = 0;
  for (size_t i = 0; i < std::min(n_windows, running.size()); ++i) {
    const double sum = std::log(running[i].get<double>()) * static_cast<double>(i + 1);
    p.windows.push_back(sum - before);
    before = sum;
  }
  return p;
}

// Of the mean difference.
double standard_error(const Perplexity& a, const Perplexity& b) {
  const size_t n = a.windows.size();
  std::vector<double> off(n), squares(n);
  for (size_t i = 0; i < n; ++i) off[i] = a.windows[i] - b.windows[i];
  const double mean = mean_of(off);
  for (size_t i = 0; i < n; ++i) squares[i] = (off[i] - mean) * (off[i] - mean);
  return n < 2 ? 0 : std::sqrt(mean_of(squares) / static_cast<double>(n - 1));
}

std::vector<std::vector<Token>> windows_of(const LoadedModel& model, const std::string& text,
                                           size_t n_ctx) {
  const bool bos = model.tokenizer->special().add_bos;
  const std::vector<Token> ids = take(model.tokenizer->encode(text, true, false));
  std::vector<std::vector<Token>> windows;
  for (size_t at = 0; at + n_ctx <= ids.size(); at += n_ctx) {
    windows.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(at),
                         ids.begin() + static_cast<std::ptrdiff_t>(at + n_ctx));
    if (bos) windows.back()[0] = model.tokenizer->special().bos;
  }
  return windows;
}

// The 255 predictions of tokens 257 .. 511, from the logits of 256 .. 510.
void score_window(Engine& engine, const std::vector<Token>& window, Perplexity& out) {
  const size_t n = engine.model().def.program.n_vocab, half = window.size() / 2;
  const std::vector<float> logits = evaluate(engine, window, static_cast<uint32_t>(half));
  std::vector<double> losses;
  for (size_t t = half; t + 1 < window.size(); ++t) {
    const float* row = logits.data() + (t - half) * n;
    losses.push_back(log_sum_exp(row, n) - static_cast<double>(row[window[t + 1]]));
  }
  out.windows.push_back(mean_of(losses));
}

// bound: relative; n_errors: standard errors that are allowed beyond it, up to 1 %.
int check_perplexity(Engine& engine, const std::string& text, const char* whose,
                     const json& running, double bound, double n_errors, size_t max_windows) {
  Perplexity p;
  const auto windows = windows_of(engine.model(), text, 512);
  if (windows.size() != running.size()) {
    std::printf("  %zu windows, expectations of %zu\n", windows.size(), running.size());
    return 1;
  }
  const size_t n = std::min(windows.size(), max_windows);
  for (size_t i = 0; i < n; ++i) score_window(engine, windows[i], p);
  const Perplexity want = of_running(running, n);
  const double off = p.value() / want.value() - 1, error = standard_error(p, want);
  const double allowed = std::min(bound + n_errors * error, 0.01);
  std::printf(
      "  perplexity %.4f over %zu windows, %s %.4f (%+.3f %%, allowed %.2f %%, standard error %.2f "
      "%%)\n",
      p.value(), n, whose, want.value(), off * 100, allowed * 100, error * 100);
  return std::fabs(off) <= allowed ? 0 : 1;
}

// What llama.cpp reaches on the same tokens, with KV in float32: llama-cpp-python 0.3.36, compiled for AVX2, as installed.
struct PeerKl {
  const char* model;
  size_t n_tokens;
  double mean, top1;
};
constexpr PeerKl kPeerKl[] = {{"smollm2-135m-q4_1", 512, 3.00e-3, 96.57},
                              {"gemma3-270m-q4_k_m", 1000, 6.53e-3, 95.83},
                              {"qwen2.5-coder-0.5b-q4_k_m", 256, 9.61e-4, 96.67}};

// Distance from the model in float32: at most 1.15 times the peer's, and at most a point fewer of the best tokens. Of 240 positions a
// point is two, and Gemma's differ by more than that from sample to sample: hence 1,000.
int check_kl(const std::string& path, const std::string& name, const std::string& text,
             Engine& engine) {
  const auto* peer = std::find_if(std::begin(kPeerKl), std::end(kPeerKl),
                                  [&](const PeerKl& p) { return p.model == name; });
  if (peer == std::end(kPeerKl)) {
    std::printf("  no figures to compare with\n");
    return 1;
  }
  const size_t n_tokens = peer->n_tokens;
  const auto window = windows_of(engine.model(), text, n_tokens).at(0);
  const auto reference_model = load(path, "reference");
  auto reference = make_engine(reference_model, "f32");
  const size_t n = engine.model().def.program.n_vocab;
  double sum = 0;
  size_t n_same = 0;
  const std::vector<float> ours = evaluate(engine, window, 16),
                           exact = evaluate(*reference, window, 16);
  for (size_t t = 0; t < n_tokens - 16; ++t) {
    const float *p = exact.data() + t * n, *q = ours.data() + t * n;
    const double zp = log_sum_exp(p, n), zq = log_sum_exp(q, n);
    double kl = 0;
    for (size_t i = 0; i < n; ++i) {
      const double lp = p[i] - zp;
      kl += std::exp(lp) * (lp - (q[i] - zq));
    }
    sum += kl;
    n_same += std::max_element(p, p + n) - p == std::max_element(q, q + n) - q;
  }
  const double mean = sum / static_cast<double>(n_tokens - 16);
  const double top1 = 100.0 * static_cast<double>(n_same) / static_cast<double>(n_tokens - 16);
  std::printf("  mean KL of %zu positions %.3e (allowed %.2e), top-1 agreement %.2f %% (%.2f)\n",
              n_tokens - 16, mean, 1.15 * peer->mean, top1, peer->top1 - 1);
  return mean <= 1.15 * peer->mean && top1 >= peer->top1 - 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("usage: real_models MODEL_NAME [--reference N_WINDOWS] [--kl]\n");
    return 2;
  }
  const std::string name = argv[1];
  size_t reference_windows = 0;
  bool kl = false;
  for (int i = 2; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--reference") && i + 1 < argc)
      reference_windows = static_cast<size_t>(std::atoi(argv[++i]));
    if (!std::strcmp(argv[i], "--kl")) kl = true;
  }
  const char* data = std::getenv("LLMRT_TEST_DATA");
  const char* models = std::getenv("LLMRT_TEST_MODELS");
  if (!data || !models) {
    std::printf("skipped %s: LLMRT_TEST_DATA or LLMRT_TEST_MODELS is not set\n", name.c_str());
    return kSkipped;
  }
  const std::string folder = std::string(data) + "/golden/real/",
                    path = std::string(models) + "/" + name + ".gguf";
  const json expected = json::parse(read_text(folder + "expected.json"), nullptr, false);
  if (expected.is_discarded()) {
    std::printf("skipped %s: %sexpected.json is not there\n", name.c_str(), folder.c_str());
    return kSkipped;
  }
  if (!std::ifstream(path)) {
    std::printf("skipped %s: %s is not there\n", name.c_str(), path.c_str());
    return kSkipped;
  }
  const json* one = nullptr;
  for (const json& m : expected["models"])
    if (m["name"] == name) one = &m;
  if (!one) {
    std::printf("%s: no expectations of that name\n", name.c_str());
    return 2;
  }
  const std::string text = read_text(folder + "ppl.txt");
  std::printf("%s\n", name.c_str());
  if (reference_windows) {
    const auto model = load(path, "reference");
    auto engine = make_engine(model, "f32");
    return check_perplexity(*engine, text, "exact", (*one)["exact_perplexity_running"], 0.001, 0,
                            reference_windows);
  }
  const auto model = load(path, "auto");
  if (kl) {
    auto engine = make_engine(model, "f32");
    return check_kl(path, name, text, *engine);
  }
  int failures = 0;
  for (const char* kv_type : {"f32", "bf16"}) {
    std::printf(" kv %s\n", kv_type);
    // The references were made with a float32 KV cache: near ties are compared with that alone.
    const bool exact_kv = !std::strcmp(kv_type, "f32");
    auto engine = make_engine(model, kv_type);
    for (const json& c : (*one)["cases"]) {
      const auto prompt = c["ids"].get<std::vector<Token>>();
      const auto title = c["text"].get<std::string>();
      auto ids = model->tokenizer->encode(title, c["add_special"].get<bool>(),
                                          c["parse_special"].get<bool>());
      if (!ids.ok() || *ids != prompt) {
        std::printf("  \"%s\" tokenizes differently\n", title.c_str());
        ++failures;
      }
      failures += check_greedy(*engine, c["exact"], prompt, "exact", title.c_str(), exact_kv);
      failures += check_greedy(*engine, c, prompt, "llama.cpp", title.c_str(), exact_kv);
    }
    // llama.cpp's was taken with a float32 KV cache.
    failures += exact_kv ? check_perplexity(*engine, text, "llama.cpp",
                                            (*one)["perplexity_running"], 0.003, 2, SIZE_MAX)
                         : check_perplexity(*engine, text, "exact",
                                            (*one)["exact_perplexity_running"], 0.01, 0, SIZE_MAX);
  }
  return failures ? 1 : 0;
}
