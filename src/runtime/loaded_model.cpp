#include "runtime/loaded_model.h"

#include <string_view>

#include "base/clock.h"
#include "base/float_control.h"
#include "base/in_quotes.h"
#include "graph/backend_registry.h"
#include "runtime/load_weights.h"

namespace llmrt {
namespace {

// The file's own template unless the option names another: a built-in by name, or the text itself.
Status load_template(const ModelOptions& options, LoadedModel& model) {
  std::string_view text;
  if (!options.chat_template.empty()) {
    const char* builtin = builtin_chat_template(options.chat_template);
    text = builtin ? std::string_view(builtin) : std::string_view(options.chat_template);
    LLMRT_ASSIGN(model.chat_template, ChatTemplate::parse(text));
    return Status();
  }
  LLMRT_ASSIGN(const auto from_file,
               model.source->metadata().get_string("tokenizer.chat_template"));
  if (!from_file) return Status();
  auto parsed = ChatTemplate::parse(*from_file);
  // A model whose template is broken still completes plain text; the sentence is told when a chat is asked for.
  if (parsed.ok())
    model.chat_template = std::move(parsed).value();
  else
    model.chat_template_error = std::move(parsed).status();
  return Status();
}

void log_loaded(const LoadedModel& model, int64_t begin_ns) {
  const Host& host = *model.host;
  if (!host.logs(LogLevel::info)) return;
  host.log(LogLevel::info,
           "model loaded: %s, architecture %s, %s, %zu tensors of %lld bytes (%lld mapped) on %s, "
           "%.0f ms",
           in_quotes(model.def.name).c_str(), model.def.hparams.arch.c_str(),
           model.def.quant.c_str(), model.weights.size(),
           static_cast<long long>(model.weight_bytes), static_cast<long long>(model.mapped_bytes),
           model.backend->info().id.c_str(), static_cast<double>(now_ns() - begin_ns) * 1e-6);
}

}  // namespace

LoadedModel::~LoadedModel() = default;

Status LoadedModel::check_chat() const {
  if (!tokenizer)
    return error(Code::unsupported, "the model has no tokenizer").at("tokenizer.ggml.model");
  if (chat_template) return Status();
  if (!chat_template_error.ok()) return chat_template_error;
  return error(
             Code::template_error,
             "the model has no chat template; give one with the option chat_template (text, or %s)",
             builtin_chat_template_names().c_str())
      .at("chat_template");
}

Result<std::shared_ptr<LoadedModel>> load_model(std::shared_ptr<Host> host, SourceParts source,
                                                const ModelOptions& options,
                                                JobProgress* progress) {
  const FloatScope floats(FloatMode::ieee);
  const int64_t begin_ns = now_ns();
  auto model = std::make_shared<LoadedModel>();
  model->host = std::move(host);
  model->metadata_only = options.metadata_only;
  if (progress) progress->stage.store("metadata");
  LLMRT_ASSIGN(model->source,
               open_weights(std::move(source.first), source.shards, options.metadata_overrides));
  LLMRT_ASSIGN(model->hash, model->source->hash());

  const bool has_vocabulary = model->source->metadata().find("tokenizer.ggml.model") != nullptr;
  if (has_vocabulary) {
    LLMRT_ASSIGN(model->tokenizer, Tokenizer::make(model->source->metadata()));
  }
  LLMRT_TRY(load_template(options, *model));

  // A file without tensors is a vocabulary: tokenizer and render still answer. A file of an architecture or a type this build does
  // not know can be looked at, one that contradicts itself cannot.
  auto def = define_model(*model->source);
  const bool only_looked_at =
      options.metadata_only &&
      (model->source->tensors().empty() || (!def.ok() && def.status().code() == Code::unsupported));
  if (def.ok())
    model->def = std::move(def).value();
  else if (!only_looked_at)
    return std::move(def).status();
  if (options.metadata_only) return model;

  if (model->tokenizer && model->tokenizer->n_vocab() > model->def.program.n_vocab)
    return error(Code::format, "%s: the vocabulary has %u tokens, the output has %u rows",
                 model->source->name().c_str(), model->tokenizer->n_vocab(),
                 model->def.program.n_vocab);
  LLMRT_ASSIGN(model->backend, make_backend(model->host, options.devices, options.backend_options));
  model->isa = model->backend->info().driver;
  LLMRT_TRY(load_weights(options, progress, *model));
  log_loaded(*model, begin_ns);
  return model;
}

}  // namespace llmrt
