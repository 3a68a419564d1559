#include "options.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "progress.h"

namespace cli {
namespace {

constexpr std::array<const char*, 5> kTemplateNames = {"chatml", "llama3", "mistral", "gemma",
                                                       "phi3"};

// {"key": value}; a value that is no JSON is a string.
std::string overrides_json(const std::vector<std::string>& overrides) {
  if (overrides.empty()) return {};
  Json json = Json::object();
  for (const std::string& entry : overrides) {
    const size_t at = entry.find('=');
    if (at == std::string::npos || at == 0)
      throw Failure{"--override " + entry + ": wanted is KEY=VALUE", 2};
    const std::string value = entry.substr(at + 1);
    Json parsed = Json::parse(value, nullptr, false);
    json[entry.substr(0, at)] = parsed.is_discarded() ? Json(value) : std::move(parsed);
  }
  return json.dump();
}

std::string template_text(const std::string& name_or_file) {
  if (name_or_file.empty()) return {};
  if (std::find(kTemplateNames.begin(), kTemplateNames.end(), name_or_file) != kTemplateNames.end())
    return name_or_file;
  if (!file_exists(name_or_file))
    fail("--chat-template " + name_or_file +
         ": no such file, and the built-in names are chatml, llama3, mistral, gemma, phi3");
  return read_file(name_or_file);
}

}  // namespace

CLI::Option* add_text(CLI::App& app, const std::string& names, std::optional<std::string>& into,
                      const std::string& help) {
  return app
      .add_option(
          names,
          [&into](const CLI::results_t& results) {
            into = results.back();
            return true;
          },
          help)
      ->expected(1)
      ->type_name("TEXT");
}

CLI::Option* add_texts(CLI::App& app, const std::string& names, std::vector<std::string>& into,
                       const std::string& help) {
  return app
      .add_option(
          names,
          [&into](const CLI::results_t& results) {
            into = results;
            return true;
          },
          help)
      ->expected(1)
      ->take_all()
      ->type_name("TEXT");
}

void ModelArgs::add_to(CLI::App& app, bool required) {
  CLI::Option* model = app.add_option("MODEL", path, "GGUF file (of a split one: the first part)");
  if (required) model->required();
  app.add_option("-t,--threads", threads, "worker threads, 0: physical cores within the quota");
  app.add_option("--device", device, "device id, see doctor")->capture_default_str();
  app.add_option("--chat-template", chat_template,
                 "NAME or FILE instead of the file's own template");
  add_texts(app, "--override", overrides, "KEY=VALUE laid over the file's metadata (repeatable)");
}

Loaded load(const ModelArgs& args, bool metadata_only) {
  Loaded loaded;
  if (args.threads > 0) {
    llmrt_runtime_options o;
    llmrt_runtime_options_init(&o, sizeof o);
    o.worker_threads = args.threads;
    llmrt_runtime* runtime = nullptr;
    check(llmrt_runtime_create(&o, &runtime));
    loaded.runtime.reset(runtime);
  } else if (args.threads < 0) {
    throw Failure{"--threads " + std::to_string(args.threads) + ": allowed is 0 and up", 2};
  }
  const std::string overrides = overrides_json(args.overrides);
  const std::string chat_template = template_text(args.chat_template);
  llmrt_model_options o;
  llmrt_model_options_init(&o, sizeof o);
  o.devices = args.device.c_str();
  o.metadata_only = metadata_only ? 1 : 0;
  if (!overrides.empty()) o.metadata_overrides = overrides.c_str();
  if (!chat_template.empty()) o.chat_template = chat_template.c_str();

  llmrt_source* source = nullptr;
  check(llmrt_source_from_path(args.path.c_str(), &source));
  const Owned<llmrt_source> source_owner(source);
  const double begin = seconds_now();
  llmrt_job* job = nullptr;
  check(llmrt_model_load_async(loaded.runtime.get(), source, &o, &job));
  const Owned<llmrt_job> job_owner(job);
  ProgressBar bar("loading");
  llmrt_job_info info;
  info.struct_size = sizeof info;
  llmrt_status status = LLMRT_PENDING;
  while ((status = llmrt_job_poll(job, 50, &info)) == LLMRT_PENDING) {
    if (interrupted()) throw_interrupted();
    bar.show(info.done, info.total);
  }
  bar.clear();
  check(status);
  llmrt_model* model = nullptr;
  check(llmrt_job_take_model(job, &model));
  loaded.model.reset(model);
  loaded.load_ms = (seconds_now() - begin) * 1e3;
  return loaded;
}

void EngineArgs::add_to(CLI::App& app) {
  app.add_option("--ctx", ctx,
                 "context in tokens, 0: what the model was trained for, at most 8192");
  app.add_option("--kv-type", kv_type, "how the KV cache is stored: bf16, f16, f32, or k=X,v=Y");
}

void fill(const EngineArgs& args, llmrt_engine_options& options) {
  options.ctx_tokens = args.ctx;
  if (!args.kv_type.empty()) options.kv_type = args.kv_type.c_str();
}

Owned<llmrt_engine> make_engine(const Loaded& loaded, const llmrt_engine_options& options) {
  llmrt_engine* engine = nullptr;
  check(llmrt_engine_create(loaded.model.get(), &options, &engine));
  return Owned<llmrt_engine>(engine);
}

GenArgs::GenArgs() {
  llmrt_gen_options_init(&options, sizeof options);
  options.max_tokens = 512;
}

void GenArgs::add_to(CLI::App& app) {
  app.add_option("-n,--max-tokens", options.max_tokens,
                 "most tokens of an answer, -1: to the context's end")
      ->capture_default_str();
  app.add_option("--temp", options.temperature,
                 "temperature, 0: always the best token, -1: the model's own");
  app.add_option("--seed", options.seed, "seed of the draws, -1: random");
  app.add_option("--top-k", options.top_k, "keep the K best tokens, 0: off")->capture_default_str();
  app.add_option("--top-p", options.top_p, "keep the best tokens up to this mass, 1: off")
      ->capture_default_str();
  app.add_option("--min-p", options.min_p, "drop tokens below this share of the best, 0: off")
      ->capture_default_str();
  app.add_option("--typical-p", options.typical_p, "locally typical sampling, 1: off");
  app.add_option("--repeat-penalty", options.repeat_penalty,
                 "divides the logits of recent tokens, 1: off");
  app.add_option("--repeat-last-n", options.penalty_last_n, "how many tokens are recent, -1: all");
  app.add_option("--frequency-penalty", options.frequency_penalty, "per occurrence");
  app.add_option("--presence-penalty", options.presence_penalty, "once per token");
  app.add_option("--xtc-probability", options.xtc_probability, "exclude top choices");
  app.add_option("--xtc-threshold", options.xtc_threshold, "for XTC");
  app.add_option("--dry-multiplier", options.dry_multiplier,
                 "penalty of repeated sequences, 0: off");
  app.add_option("--sampler-chain", sampler_chain, "order of the sampling steps");
  app.add_option("--logprobs", options.logprobs, "alternatives per token in --json");
  app.add_option("--timeout-ms", options.timeout_ms, "give up after so long");
  app.add_flag("--ignore-eos", options.ignore_eos, "do not end at an end-of-turn token");
  std::vector<std::string>& stops = stop;
  add_texts(app, "--stop", stops, "end the answer before TEXT (repeatable)");
  app.add_option(
         "--logit-bias",
         [this](const CLI::results_t& results) {
           logit_bias = results.back();
           return true;
         },
         "JSON {\"token id\": bias}")
      ->expected(1)
      ->type_name("JSON");
}

const llmrt_gen_options& GenArgs::finished() {
  if (!logit_bias.empty()) options.logit_bias = logit_bias.c_str();
  if (!sampler_chain.empty()) options.sampler_chain = sampler_chain.c_str();
  if (!stop.empty() && !stop_list) {
    llmrt_strlist* list = nullptr;
    check(llmrt_strlist_create(&list));
    stop_list.reset(list);
    for (const std::string& s : stop) check(llmrt_strlist_add(list, s.c_str()));
    options.stop = list;
  }
  return options;
}

void PromptArgs::add_to(CLI::App& app, bool with_positional) {
  CLI::Option* t = add_text(app, "-p,--prompt", text, "the text");
  CLI::Option* f = add_text(app, "-f,--file", file, "the text, byte for byte; -: standard input")
                       ->type_name("FILE");
  f->excludes(t);
  if (with_positional)
    add_text(app, "PROMPT", positional, "the same as -p")->excludes(t)->excludes(f);
}

std::string PromptArgs::read() const {
  if (text) return *text;
  if (positional) return *positional;
  if (file) return read_file(*file);
  if (isatty(STDIN_FILENO))
    throw Failure{"no prompt: give it as an argument, with -p TEXT or with -f FILE", 2};
  return read_file("-");
}

}  // namespace cli
