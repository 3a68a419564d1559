#include "options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "progress.h"

namespace cli {
namespace {

constexpr std::array<const char*, 5> kTemplateNames = {"chatml", "llama3", "mistral", "gemma",
                                                       "phi3"};

std::string template_names() {
  std::string names;
  for (const char* name : kTemplateNames) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

// {"key": value}; a value that is no JSON is a string.
std::string overrides_json(const std::vector<std::string>& overrides) {
  if (overrides.empty()) return {};
  Json json = Json::object();
  for (const std::string& entry : overrides) {
    const size_t at = entry.find('=');
    if (at == std::string::npos || at == 0)
      fail_usage("--override " + entry + ": wanted is KEY=VALUE");
    const std::string value = entry.substr(at + 1);
    Json parsed = Json::parse(value, nullptr, false);
    json[entry.substr(0, at)] = parsed.is_discarded() ? Json(value) : std::move(parsed);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int32_t load_mode_number(const std::string& name) {
  const std::array<const char*, 4> names = {"auto", "mmap", "read", "raw"};  // 0 to 3
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) fail_usage("--load-mode " + name + ": wanted is auto, mmap, read or raw");
  return static_cast<int32_t>(at - names.begin());
}

std::string template_text(const std::string& name_or_file) {
  if (name_or_file.empty()) return {};
  if (std::find(kTemplateNames.begin(), kTemplateNames.end(), name_or_file) != kTemplateNames.end())
    return name_or_file;
  if (!file_exists(name_or_file))
    fail("--chat-template " + name_or_file + ": no such file, and the built-in names are " +
         template_names());
  if (!has_an_end(name_or_file))
    fail("--chat-template " + name_or_file + ": this is neither a file nor a pipe");
  return read_file(name_or_file);
}

// llmrt_model_options and what it points to.
struct ModelOptions {
  explicit ModelOptions(const ModelArgs& args)
      : overrides(overrides_json(args.overrides)),
        chat_template(template_text(args.chat_template)) {
    llmrt_model_options_init(&c, sizeof c);
    c.devices = args.device.c_str();
    c.load_mode = load_mode_number(args.load_mode);
    c.packed_cache = args.cache_dir.empty() ? 0 : 1;
    if (c.packed_cache == 1 && args.load_mode == "raw")
      fail_usage("--cache-dir keeps packed weights, and --load-mode raw packs none");
    if (!overrides.empty()) c.metadata_overrides = overrides.c_str();
    if (!chat_template.empty()) c.chat_template = chat_template.c_str();
  }
  std::string overrides, chat_template;
  llmrt_model_options c;
};

constexpr int32_t kLogLines = 16;

// What the log warns of: a folder that takes no packed weights, a word of the environment that means nothing. LLMRT_LOG shows it already.
void show_warnings(llmrt_runtime* runtime) {
  if (std::getenv("LLMRT_LOG")) return;
  int32_t level = 0;
  char* line = nullptr;
  while (llmrt_runtime_next_log(runtime, &level, &line) == LLMRT_OK)
    std::fprintf(stderr, "llmrt: %s\n", take_text(line).c_str());
}

Owned<llmrt_source> open_source(const ModelArgs& args) {
  llmrt_source* source = nullptr;
  check(llmrt_source_from_path(args.path.c_str(), &source));
  return Owned<llmrt_source>(source);
}

// Fields of the library's structs by the option that sets them. Where several can, one that was typed comes before one that was not.
struct FieldFlag {
  const char *field, *flag;
};
constexpr FieldFlag kFieldFlags[] = {
    {"worker_threads", "--threads"},
    {"devices", "--device"},
    {"chat_template", "--chat-template"},
    {"metadata_overrides", "--override"},
    {"ctx_tokens", "--ctx"},
    {"ctx_tokens", "--tokens"},
    {"kv_type", "--kv-type"},
    {"max_tokens", "--max-tokens"},
    {"n", "--samples"},
    {"n", "--n"},
    {"seed", "--seed"},
    {"temperature", "--temp"},
    {"top_k", "--top-k"},
    {"top_p", "--top-p"},
    {"min_p", "--min-p"},
    {"typical_p", "--typical-p"},
    {"penalty_last_n", "--repeat-last-n"},
    {"repeat_penalty", "--repeat-penalty"},
    {"frequency_penalty", "--frequency-penalty"},
    {"presence_penalty", "--presence-penalty"},
    {"xtc_probability", "--xtc-probability"},
    {"xtc_threshold", "--xtc-threshold"},
    {"dry_multiplier", "--dry-multiplier"},
    {"dry_base", "--dry-base"},
    {"dry_allowed_length", "--dry-allowed-length"},
    {"sampler_chain", "--sampler-chain"},
    {"logit_bias", "--logit-bias"},
    {"stop", "--stop"},
    {"logprobs", "--logprobs"},
    {"timeout_ms", "--timeout-ms"},
    {"stall_timeout_ms", "--stall-timeout-ms"},
};

}  // namespace

void name_option(Failure& failure, const CLI::App& app) {
  const bool bad_value = failure.status == LLMRT_ERR_INVALID_ARGUMENT ||
                         (failure.status == LLMRT_ERR_NOT_FOUND && failure.where == "devices");
  if (failure.status == LLMRT_ERR_TEMPLATE && failure.where == "chat_template") {
    failure.sentence += "; here: --chat-template NAME|FILE";
    if (app.get_option_no_throw("--raw"))
      failure.sentence += ", or --raw for plain text";
    else if (app.get_name() == "chat")
      failure.sentence += ", or llmrt run --raw for plain text";
  }
  if (failure.status == LLMRT_ERR_CONTEXT_FULL) {  // its advice: raise ctx_tokens
    for (const FieldFlag& row :
         {FieldFlag{"ctx_tokens", "--ctx"}, {"max_tokens", "--max-tokens"}}) {
      const size_t at = failure.sentence.rfind(row.field);
      if (at != std::string::npos && app.get_option_no_throw(row.flag))
        failure.sentence.replace(at, std::string_view(row.field).size(), row.flag);
    }
  }
  if (!bad_value) return;
  const FieldFlag* found = nullptr;
  for (const FieldFlag& row : kFieldFlags) {
    const CLI::Option* option = app.get_option_no_throw(row.flag);
    std::string as_subject = failure.sentence;
    if (!option || (failure.where != row.field && !rename_subject(as_subject, row.field, row.flag)))
      continue;
    if (!found || option->count() > 0) found = &row;
    if (option->count() > 0) break;
  }
  if (!found) return;
  if (!rename_subject(failure.sentence, found->field, found->flag))
    failure.sentence = std::string(found->flag) + ": " + failure.sentence;
  failure.exit_status = 2;
}

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

std::string wrong_number(const std::string& text) {
  char* end = nullptr;
  std::strtold(text.c_str(), &end);
  return text.empty() || *end != '\0' ? '"' + text + "\"; wanted is a number" : "";
}

// CLI11 would take a number beyond 64 bits for the last one that there is.
std::string wrong_whole_number(const std::string& text, size_t bits) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text.c_str(), &end, 0);
  if (text.empty() || *end != '\0') return '"' + text + "\"; wanted is a whole number";
  if (errno == ERANGE || (bits == 32 && number != static_cast<int32_t>(number)))
    return text + " is beyond " + std::to_string(bits) + " bits";
  return {};
}

CLI::Option* ModelArgs::add_path(CLI::App& app) {
  return app.add_option("MODEL", path, "GGUF file (of a split one: the first part)");
}

void ModelArgs::add_threads(CLI::App& app) {
  add_number(app, "-t,--threads", threads, "worker threads, 0: physical cores within the quota");
}

CLI::Option* ModelArgs::add_device(CLI::App& app) {
  return app.add_option("--device", device, "device id, see doctor")->capture_default_str();
}

CLI::Option* ModelArgs::add_chat_template(CLI::App& app) {
  return app.add_option("--chat-template", chat_template,
                        "NAME or FILE instead of the file's own template");
}

CLI::Option* ModelArgs::add_overrides(CLI::App& app) {
  return add_texts(app, "--override", overrides,
                   "KEY=VALUE laid over the file's metadata (repeatable)");
}

void ModelArgs::add_computing(CLI::App& app) {
  add_path(app)->required();
  add_threads(app);
  add_device(app);
  add_overrides(app);
  app.add_option(
         "--load-mode", load_mode,
         "how weights are read: auto, mmap, read, or raw: they stay in the file, for models "
         "larger than memory")
      ->capture_default_str();
}

void ModelArgs::add_cache_dir(CLI::App& app) {
  app.add_option("--cache-dir", cache_dir,
                 "FOLDER that is there, where packed weights are kept: the next load only maps "
                 "them");
}

Loaded load(const ModelArgs& args, bool metadata_only) {
  Loaded loaded;
  ModelOptions options(args);
  llmrt_runtime_options o;
  llmrt_runtime_options_init(&o, sizeof o);
  o.worker_threads = args.threads;
  o.cache_dir = args.cache_dir.c_str();
  o.log_queue = kLogLines;
  llmrt_runtime* runtime = nullptr;
  check(llmrt_runtime_create(&o, &runtime));
  loaded.runtime.reset(runtime);
  options.c.metadata_only = metadata_only ? 1 : 0;
  const Owned<llmrt_source> source = open_source(args);
  const double begin = seconds_now();
  llmrt_job* job = nullptr;
  check(llmrt_model_load_async(loaded.runtime.get(), source.get(), &options.c, &job));
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
  show_warnings(runtime);
  check(status);
  llmrt_model* model = nullptr;
  check(llmrt_job_take_model(job, &model));
  loaded.model.reset(model);
  loaded.load_ms = (seconds_now() - begin) * 1e3;
  return loaded;
}

llmrt_model_info info_of(const llmrt_model* model) {
  llmrt_model_info info;
  info.struct_size = sizeof info;
  check(llmrt_model_get_info(model, &info));
  return info;
}

EngineArgs::EngineArgs() {
  llmrt_engine_options options;
  llmrt_engine_options_init(&options, sizeof options);
  kv_type = options.kv_type;
}

void EngineArgs::add_to(CLI::App& app) {
  add_number(app, "--ctx", ctx,
             "context in tokens, 0: what the model was trained for, at most 8192");
  add_kv_type(app);
}

void EngineArgs::add_kv_type(CLI::App& app) {
  app.add_option("--kv-type", kv_type, "how the KV cache is stored: bf16, f16, f32, or k=X,v=Y")
      ->capture_default_str();
}

void warn_beyond_training(const Loaded& loaded, const EngineArgs& args) {
  const int32_t trained = info_of(loaded.model.get()).n_ctx_train;
  if (trained > 0 && args.ctx > trained)
    std::fprintf(stderr, "llmrt: --ctx %d is beyond the %d tokens the model was trained for\n",
                 args.ctx, trained);
}

Owned<llmrt_plan> make_plan(const Loaded& loaded, const ModelArgs& model,
                            const llmrt_engine_options& options) {
  const ModelOptions model_options(model);
  const Owned<llmrt_source> source = open_source(model);
  llmrt_plan* plan = nullptr;
  check(llmrt_plan_create(loaded.runtime.get(), source.get(), &model_options.c, &options, &plan));
  return Owned<llmrt_plan>(plan);
}

llmrt_plan_info info_of(const llmrt_plan* plan) {
  llmrt_plan_info info;
  info.struct_size = sizeof info;
  check(llmrt_plan_get_info(plan, &info));
  return info;
}

void fill(const EngineArgs& args, llmrt_engine_options& options) {
  options.ctx_tokens = args.ctx;
  options.kv_type = args.kv_type.c_str();
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
  add_number(app, "-n,--max-tokens", options.max_tokens,
             "most tokens of an answer, -1: to the context's end")
      ->capture_default_str();
  add_number(app, "--temp", options.temperature,
             "temperature, 0: always the best token, -1: the file's, else 0.8")
      ->capture_default_str();
  add_number(app, "--seed", options.seed, "seed of the draws, -1: random")->capture_default_str();
  add_number(app, "--top-k", options.top_k, "keep the K best tokens, 0: off")
      ->capture_default_str();
  add_number(app, "--top-p", options.top_p, "keep the best tokens up to this mass, 1: off")
      ->capture_default_str();
  add_number(app, "--min-p", options.min_p, "drop tokens below this share of the best, 0: off")
      ->capture_default_str();
  add_number(app, "--typical-p", options.typical_p, "locally typical sampling, 1: off");
  add_number(app, "--repeat-penalty", options.repeat_penalty,
             "divides the logits of recent tokens, 1: off");
  add_number(app, "--repeat-last-n", options.penalty_last_n, "how many tokens are recent, -1: all");
  add_number(app, "--frequency-penalty", options.frequency_penalty, "per occurrence");
  add_number(app, "--presence-penalty", options.presence_penalty, "once per token");
  add_number(app, "--xtc-probability", options.xtc_probability, "exclude top choices");
  add_number(app, "--xtc-threshold", options.xtc_threshold, "for XTC");
  add_number(app, "--dry-multiplier", options.dry_multiplier,
             "penalty of repeated sequences, 0: off");
  add_number(app, "--dry-base", options.dry_base, "its growth with each further token")
      ->capture_default_str();
  add_number(app, "--dry-allowed-length", options.dry_allowed_length,
             "longest repetition that is free")
      ->capture_default_str();
  add_text(app, "--sampler-chain", sampler_chain,
           "the sampling steps in their order, A;B;C; \"\": none");
  add_number(app, "--timeout-ms", options.timeout_ms, "give up after so long, 0: never");
  add_number(app, "--stall-timeout-ms", options.stall_timeout_ms,
             "give up when no token comes for so long, 0: never");
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
  if (sampler_chain) options.sampler_chain = sampler_chain->c_str();
  if (!stop.empty() && !stop_list) {
    llmrt_strlist* list = nullptr;
    check(llmrt_strlist_create(&list));
    stop_list.reset(list);
    for (const std::string& s : stop) {
      check_utf8("--stop", s);
      check(llmrt_strlist_add(list, s.c_str()));
    }
    options.stop = list;
  }
  return options;
}

void PromptArgs::add_to(CLI::App& app, bool with_positional) {
  CLI::Option* t = add_text(app, "-p,--prompt", text, "the text, also one that begins with -");
  CLI::Option* f = add_text(app, "-f,--file", file, "the text, byte for byte; -: standard input")
                       ->type_name("FILE");
  f->excludes(t);
  if (with_positional)
    add_text(app, "PROMPT", positional,
             "the text; without it, -p and -f, standard input is read, unless that is a terminal")
        ->excludes(t)
        ->excludes(f);
}

std::string PromptArgs::read() const {
  if (!typed() && !file && isatty(STDIN_FILENO))
    fail_usage("no prompt: give it as an argument, with -p TEXT or with -f FILE");
  std::string content = text ? *text : positional ? *positional : read_file(file ? *file : "-");
  check_utf8(typed() ? "the prompt" : file && *file != "-" ? *file : "standard input", content);
  return content;
}

}  // namespace cli
