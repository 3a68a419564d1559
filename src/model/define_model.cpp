#include "base/float_control.h"
#include "base/in_quotes.h"
#include "model/architecture.h"
#include "model/model_builder.h"
#include "model/quant_name.h"

namespace llmrt {

Result<ModelDef> define_model(const WeightSource& source) {
  // rotary tables and scales are computed here, on the host's thread
  const FloatScope floats(FloatMode::ieee);
  const Metadata& metadata = source.metadata();
  LLMRT_ASSIGN(const auto arch, metadata.get_string("general.architecture"));
  if (!arch)
    return error(Code::format, "metadata key \"general.architecture\" is missing")
        .at("general.architecture");
  const Architecture* architecture = nullptr;
  std::string known;
  for (const Architecture& a : all_architectures()) {
    if (*arch == a.name) architecture = &a;
    known += (known.empty() ? "" : ", ") + std::string(a.name);
  }
  if (!architecture)
    return error(Code::unsupported, "architecture %s is not supported, supported are %s",
                 in_quotes(*arch, 40).c_str(), known.c_str())
        .at("general.architecture");

  ModelDef def;
  LLMRT_ASSIGN(const auto name, metadata.get_string("general.name"));
  def.name = name.value_or("");
  def.quant = quant_name(source);
  ModelBuilder builder(source, architecture->name, def);
  LLMRT_TRY(architecture->build(builder));
  // Every tensor has a known type and lies in the file, so the sum is far below 2^63.
  for (const TensorInfo& t : source.tensors())
    def.n_params += static_cast<int64_t>(t.dims[0] * t.dims[1] * t.dims[2] * t.dims[3]);
  return def;
}

}  // namespace llmrt
