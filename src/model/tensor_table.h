// TensorTable: looks tensors up by name and shape and enters them into the program's weights, each once (tied embeddings).
//
// A tensor that the pass needs and the file lacks, or has in another shape or in a type that cannot be decoded, is the first error
// of the model. A tensor of the file that nothing asked for is an error too: ignoring it would run another model than the file's.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/weight_source.h"
#include "graph/program.h"
#include "model/key_reader.h"

namespace llmrt {

class TensorTable {
 public:
  TensorTable(const WeightSource& source, std::vector<WeightDesc>& weights, FirstError& first_error)
      : source_(source), weights_(weights), error_(first_error) {}

  bool has(std::string_view name) const { return source_.find(name) != nullptr; }
  // Rows of a matrix in the file, for the one number that no key gives (n_vocab). 0 and an error if it is not there.
  uint32_t rows_of(const std::string& name, uint32_t at_most) const;

  // Index into Program::weights, or kNone with the error kept. vector_if: kNone without error where the tensor is absent.
  WeightIndex matrix(const std::string& name, uint32_t n, uint32_t k);
  WeightIndex experts(const std::string& name, uint32_t n_expert, uint32_t n, uint32_t k);
  WeightIndex vector(const std::string& name, uint32_t n);
  WeightIndex vector_if(const std::string& name, uint32_t n) {
    return has(name) ? vector(name, n) : kNone;
  }

  // The values of a vector that the model, not a backend, works with (rope_freqs). Empty: absent or an error.
  std::vector<float> read_vector_if(const std::string& name, uint32_t n);

  // Names the first tensor of the file that was not asked for.
  Status check_all_used(std::string_view arch) const;

 private:
  enum class Form : uint8_t { vector, matrix, experts };
  struct Want {
    Form form;
    uint32_t n, k, n_expert = 1;
  };
  static std::string text_of(const Want& want);
  const TensorInfo* look_up(const std::string& name, const Want& want);
  WeightIndex enter(const std::string& name, const Want& want);

  const WeightSource& source_;
  std::vector<WeightDesc>& weights_;
  FirstError& error_;
  std::unordered_map<std::string, WeightIndex> entered_;
  std::unordered_set<std::string_view> used_;  // views into the source's names
};

}  // namespace llmrt
