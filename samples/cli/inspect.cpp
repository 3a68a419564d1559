// llmrt inspect: what a file holds, and what it would take to run it here, as it would be loaded. Reads metadata only.
#include <cstdio>
#include <map>
#include <memory>

#include "commands.h"
#include "options.h"
#include "plan.h"

namespace cli {
namespace {

constexpr size_t kShownElements = 32;  // of an array in metadata
constexpr size_t kShownBytes = 80;     // of a value in the listing

struct InspectArgs {
  ModelArgs model;
  EngineArgs engine;
  bool json = false, all = false;
};

Json info_json(llmrt_model* model) {
  const llmrt_model_info info = info_of(model);
  return {{"arch", info.arch},
          {"name", info.name},
          {"quant", info.quant},
          {"hash", info.hash},
          {"n_params", info.n_params},
          {"n_vocab", info.n_vocab},
          {"n_ctx_train", info.n_ctx_train},
          {"n_embd", info.n_embd},
          {"n_layer", info.n_layer}};
}

// Long arrays (vocabularies) are told by their length and first elements unless all is asked for.
Json shortened(Json value, bool all) {
  if (all || !value.is_array() || value.size() <= kShownElements) return value;
  const size_t n = value.size();
  Json first = Json::array();
  for (size_t i = 0; i < kShownElements; ++i) first.push_back(value[i]);
  return {{"n", n}, {"first", std::move(first)}};
}

Json metadata_json(llmrt_model* model, bool all) {
  Json json = Json::object();
  const int32_t n = llmrt_model_metadata_count(model);
  check(n);
  for (int32_t i = 0; i < n; ++i) {
    char *key = nullptr, *value = nullptr;
    check(llmrt_model_metadata_at(model, i, &key, &value));
    const std::string name = take_text(key);
    const std::string text = take_text(value);
    Json parsed = Json::parse(text, nullptr, false);
    json[name] = parsed.is_discarded() ? Json(text) : shortened(std::move(parsed), all);
  }
  return json;
}

Json tensors_json(llmrt_model* model) {
  Json json = Json::array();
  const int32_t n = llmrt_model_tensor_count(model);
  check(n);
  for (int32_t i = 0; i < n; ++i) {
    llmrt_tensor_info t;
    t.struct_size = sizeof t;
    check(llmrt_model_tensor_get(model, i, &t));
    const int64_t dims[] = {t.d0, t.d1, t.d2, t.d3};
    Json shape = Json::array();
    for (int32_t d = 0; d < t.n_dims; ++d) shape.push_back(dims[d]);
    json.push_back({{"name", t.name},
                    {"type", t.type},
                    {"shape", shape},
                    {"bytes", t.bytes},
                    {"file_offset", t.file_offset},
                    {"shard", t.shard}});
  }
  return json;
}

// A file that can only be looked at, a vocabulary or an architecture of another runtime, has no plan: {"none": why}.
Json plan_or_why_not(const Loaded& loaded, const InspectArgs& args, bool only_looked_at) {
  llmrt_engine_options options;
  llmrt_engine_options_init(&options, sizeof options);
  fill(args.engine, options);
  Owned<llmrt_plan> plan;
  try {
    plan = make_plan(loaded, args.model, options);
  } catch (const Failure& failure) {
    if (!only_looked_at || failure.status == LLMRT_ERR_INVALID_ARGUMENT) throw;
    return {{"none", failure.sentence}};
  }
  return plan_json(info_of(plan.get()));
}

void print_listing(const Json& json) {
  std::string out;
  for (const auto& [key, value] : json["model"].items())
    out += key + ": " + (value.is_string() ? value.get<std::string>() : value.dump()) + "\n";
  out += "\nmetadata\n";
  for (const auto& [key, value] : json["metadata"].items()) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > kShownBytes) {
      size_t n = kShownBytes;
      while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0u) == 0x80u)
        --n;  // not inside a code point
      text = text.substr(0, n) + " ...";
    }
    out.append("  ").append(key).append(" = ").append(text).append("\n");
  }
  std::map<std::string, std::pair<size_t, int64_t>> by_type;
  for (const Json& t : json["tensors"]) {
    auto& [n, bytes] = by_type[t["type"].get<std::string>()];
    ++n;
    bytes += t["bytes"].get<int64_t>();
  }
  out += "\ntensors\n";
  for (const auto& [type, sum] : by_type)
    out += "  " + type + ": " + std::to_string(sum.first) + " tensors, " +
           human_bytes(static_cast<double>(sum.second)) + "\n";
  if (const Json& plan = json["plan"]; plan.contains("none"))
    out += "\nno plan: " + plan["none"].get<std::string>() + "\n";
  else
    out += "\nplan for this machine\n" + plan_text(plan);
  write_out(out);
}

int inspect(const InspectArgs& args) {
  const Loaded loaded = load(args.model, true);
  Json json;
  json["model"] = info_json(loaded.model.get());
  json["metadata"] = metadata_json(loaded.model.get(), args.all);
  json["tensors"] = tensors_json(loaded.model.get());
  json["plan"] = plan_or_why_not(loaded, args, json["model"]["n_embd"] == 0);
  warn_beyond_training(loaded, args.engine);
  if (args.json)
    print_json(json);
  else
    print_listing(json);
  return 0;
}

}  // namespace

Command add_inspect(CLI::App& app) {
  auto args = std::make_shared<InspectArgs>();
  args->model.add_computing(app);
  args->engine.add_to(app);
  CLI::Option* json = app.add_flag("--json", args->json, "print everything as JSON");
  app.add_flag("--all", args->all, "with --json: arrays in full")->needs(json);
  return [args] { return inspect(*args); };
}

}  // namespace cli
