#include "model/tensor_table.h"

#include <cmath>

#include "base/in_quotes.h"

namespace llmrt {
namespace {

// "[2048,512]": rows first, as in the equations; a vector has one number.
std::string shape_text(const TensorInfo& t) {
  std::string out("[");
  for (uint32_t i = t.n_dims; i > 0; --i) {
    out.append(std::to_string(t.dims[i - 1])).append(i > 1 ? "," : "]");
  }
  return out;
}

bool is_plain_float(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}

}  // namespace

// What the pass needs, written as shape_text() writes what the file has.
std::string TensorTable::text_of(const Want& want) {
  std::string out("[");
  if (want.form == Form::experts) out.append(std::to_string(want.n_expert)).append(",");
  if (want.form != Form::vector) out.append(std::to_string(want.n)).append(",");
  return out.append(std::to_string(want.k)).append("]");
}

const TensorInfo* TensorTable::look_up(const std::string& name, const Want& want) {
  const TensorInfo* t = source_.find(name);
  if (!t) {
    error_.keep(error(Code::format, "tensor %s is missing", name.c_str()).at(name));
    return nullptr;
  }
  used_.insert(t->name);
  const std::array<uint64_t, 4> dims{want.k, want.n, want.n_expert, 1};
  if (t->n_dims == 0 || t->dims != dims) {
    error_.keep(error(Code::format, "%s: want %s, file has %s", name.c_str(), text_of(want).c_str(),
                      shape_text(*t).c_str())
                    .at(name));
    return nullptr;
  }
  const QuantFormat* format = find_format(t->ggml_type);
  if (!format) {
    const char* type_name = gguf_type_name(t->ggml_type);
    error_.keep(error(Code::unsupported, "%s: tensor type %s (%u) is not supported", name.c_str(),
                      *type_name ? type_name : "unknown", t->ggml_type)
                    .at(name));
    return nullptr;
  }
  if (want.form == Form::vector && !is_plain_float(format->type)) {
    error_.keep(error(Code::unsupported, "%s: a vector of type %s; allowed: F32, F16 and BF16",
                      name.c_str(), format->name)
                    .at(name));
    return nullptr;
  }
  return t;
}

WeightIndex TensorTable::enter(const std::string& name, const Want& want) {
  if (!error_.ok()) return kNone;
  const TensorInfo* t = look_up(name, want);
  if (!t) return kNone;
  const auto [at, added] = entered_.try_emplace(name, static_cast<WeightIndex>(weights_.size()));
  if (added)
    weights_.push_back({name, find_format(t->ggml_type)->type, want.n, want.k, want.n_expert});
  return at->second;
}

WeightIndex TensorTable::matrix(const std::string& name, uint32_t n, uint32_t k) {
  return enter(name, {Form::matrix, n, k});
}

WeightIndex TensorTable::experts(const std::string& name, uint32_t n_expert, uint32_t n,
                                 uint32_t k) {
  return enter(name, {Form::experts, n, k, n_expert});
}

WeightIndex TensorTable::vector(const std::string& name, uint32_t n) {
  return enter(name, {Form::vector, 1, n});
}

uint32_t TensorTable::rows_of(const std::string& name, uint32_t at_most) const {
  const TensorInfo* t = source_.find(name);
  if (!t) {
    error_.keep(error(Code::format, "tensor %s is missing", name.c_str()).at(name));
    return 0;
  }
  const uint64_t rows = t->dims[1];
  if (t->n_dims != 2 || rows == 0 || rows > at_most) {
    error_.keep(error(Code::format, "%s: want [n_vocab,n_embd] with 1 to %u rows, file has %s",
                      name.c_str(), at_most, shape_text(*t).c_str())
                    .at(name));
    return 0;
  }
  return static_cast<uint32_t>(rows);
}

std::vector<float> TensorTable::read_vector_if(const std::string& name, uint32_t n) {
  if (!has(name) || !error_.ok()) return {};
  const TensorInfo* t = look_up(name, {Form::vector, 1, n});
  if (!t) return {};
  const QuantFormat& format = *find_format(t->ggml_type);
  std::vector<uint8_t> raw(row_bytes(format, n));
  if (Status status = source_.read(*t, 0, raw.data(), raw.size()); !status.ok()) {
    error_.keep(std::move(status));
    return {};
  }
  std::vector<float> values(n);
  format.decode(raw.data(), values.data(), n);
  return values;
}

Status TensorTable::check_all_used(std::string_view arch) const {
  for (const TensorInfo& t : source_.tensors()) {
    if (!used_.contains(t.name))
      return error(Code::format, "tensor %s is not part of architecture %.*s",
                   in_quotes(t.name).c_str(), static_cast<int>(arch.size()), arch.data())
          .at(t.name);
  }
  return Status();
}

}  // namespace llmrt
