// llmrt doctor: the text people paste into reports. What the library runs with here and why not with better.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "commands.h"
#include "machine.h"
#include "options.h"
#include "plan.h"

namespace cli {
namespace {

struct DoctorArgs {
  ModelArgs model;
  bool json = false;
};

Json devices_json(llmrt_runtime* runtime) {
  Json list = Json::array();
  const int32_t n = llmrt_device_count(runtime);
  check(n);
  for (int32_t i = 0; i < n; ++i) {
    llmrt_device_info d;
    d.struct_size = sizeof d;
    check(llmrt_device_get(runtime, i, &d));
    list.push_back({{"id", d.id},
                    {"name", d.name},
                    {"backend", d.backend},
                    {"driver", d.driver},
                    {"memory_total", d.memory_total},
                    {"memory_free", d.memory_free},
                    {"memory_budget", d.memory_budget}});
  }
  return list;
}

std::string why_not_better(const std::string& isa) {
  const std::vector<TableCheck> tables = check_tables();
  std::string why;
  if (const char* forced = std::getenv("LLMRT_CPU_ISA"); forced && *forced) {
    const std::string setting = std::string("LLMRT_CPU_ISA=") + forced;
    if (forced == isa) return setting + " asks for it";
    const bool known = std::any_of(tables.begin(), tables.end(), [&](const TableCheck& table) {
      return std::string_view(table.name) == forced;
    });
    why = setting + (known ? " cannot run here" : " is unknown") + " and ignored, allowed here:";
    for (const TableCheck& table : tables)
      if (table.missing.empty()) why += std::string(" ") + table.name;
  }
  for (const TableCheck& table : tables) {
    if (table.name == isa) break;
    if (!why.empty()) why += "; ";
    why +=
        std::string(table.name) + (table.missing.empty() ? " is possible but not used" : " needs");
    for (const std::string& flag : table.missing) why += " " + flag;
  }
  return why.empty() ? "it is the best there is" : why;
}

Json model_json(const DoctorArgs& args) {
  const Loaded loaded = load(args.model, true);
  const llmrt_model_info info = info_of(loaded.model.get());
  llmrt_engine_options options;
  llmrt_engine_options_init(&options, sizeof options);
  Json json = plan_json(info_of(make_plan(loaded, args.model, options).get()));
  json["arch"] = info.arch;
  json["name"] = info.name;
  json["quant"] = info.quant;
  json["hash"] = info.hash;
  return json;
}

std::string report(const Json& json) {
  const auto text = [](const Json& value) {
    if (value.is_null()) return std::string("unknown");
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  const Json& cpu = json["devices"][0];
  const Json& quota = json["quota"];
  const Json& memory = json["memory"];
  std::string out = "llmrt " + text(json["version"]) + ", tool built by " + text(json["build"]) +
                    "\nsystem: " + text(json["system"]["os"]) + ", " +
                    text(json["system"]["kernel"]) + "\nprocessor: " + text(cpu["name"]) +
                    "\nkernels: " + text(json["isa"]) + " (" + text(json["isa_why_not_better"]) +
                    ")\nworkers: " + text(json["workers"]) +
                    "; CPUs allowed: " + text(quota["allowed_cpus"]) + ", by the control group: " +
                    (quota["cgroup_cpus"].is_null() ? "no limit" : text(quota["cgroup_cpus"])) +
                    "\nhuge pages: " + text(json["huge_pages"]["transparent"]) +
                    "\nmemory: " + human_bytes(memory["free"].get<double>()) + " free of " +
                    human_bytes(memory["budget"].get<double>()) + "\ndevices:";
  for (const Json& device : json["devices"]) out += " " + text(device["id"]);
  char line[128];
  const Json& roof = json["roofline"];
  std::snprintf(line, sizeof line, "\nroofline: %.1f GB/s read, %.0f GFLOP/s, %d threads\n",
                roof["read_gbps"].get<double>(), roof["gflops"].get<double>(),
                roof["threads"].get<int>());
  out += line;
  if (!json.contains("model")) return out;
  const Json& model = json["model"];
  const std::string name = text(model["name"]);
  out += "model: " + (name.empty() ? "no name" : name) + ", " + text(model["arch"]) + ", " +
         text(model["quant"]) + ", hash " + text(model["hash"]) + "\n" + plan_text(model);
  std::snprintf(line, sizeof line, "  about %.0f tokens/s: each reads all weights\n",
                model["decode_limit_tps"].get<double>());
  return out + line;
}

int doctor(const DoctorArgs& args) {
  const int32_t workers = llmrt_runtime_workers(nullptr);
  check(workers);
  Json json = {{"version", llmrt_version_string()}, {"build", build_text()}};
  json["system"] = system_json();
  json["devices"] = devices_json(nullptr);
  const Json cpu = json["devices"][0];  // a copy: members added below move the others
  const std::string isa = cpu["driver"].get<std::string>();
  json["isa"] = isa;
  json["isa_why_not_better"] = why_not_better(isa);
  json["workers"] = workers;
  json["quota"] = quota_json();
  json["huge_pages"] = huge_pages_json();
  json["memory"] = {{"total", cpu["memory_total"]},
                    {"free", cpu["memory_free"]},
                    {"budget", cpu["memory_budget"]}};
  const Roofline roof = measure_roofline(workers);
  json["roofline"] = {
      {"threads", roof.threads}, {"read_gbps", roof.read_gbps}, {"gflops", roof.gflops}};
  if (!args.model.path.empty()) {
    json["model"] = model_json(args);
    json["model"]["decode_limit_tps"] =
        roof.read_gbps * 1e9 / std::max<double>(json["model"]["weights"].get<double>(), 1);
  }
  if (args.json) {
    print_json(json);
    return 0;
  }
  write_out(report(json));
  return 0;
}

}  // namespace

Command add_doctor(CLI::App& app) {
  auto args = std::make_shared<DoctorArgs>();
  CLI::Option* model = args->model.add_path(app);
  args->model.add_device(app)->needs(model);
  args->model.add_overrides(app)->needs(model);
  app.add_flag("--json", args->json, "print everything as JSON");
  return [args] { return doctor(*args); };
}

}  // namespace cli
