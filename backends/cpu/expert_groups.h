// Which rows of a pass belong to which expert: the rows' choices (OpKind::route) sorted by expert, by counting. Made once the route
// of all rows is there, by one thread: n_rows * n_used entries.
//
//   entry = row * n_used + r         the r-th choice of a row
//   slot                             its place among all entries, by expert, then by entry: rows of one expert lie together
//   entry(slot(e)) == e;  a group's slots are begin .. begin + n - 1, groups ascend by expert and none is empty
//
// What a row gives does not depend on its slot: no kernel sums over rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace llmrt::cpu {

class ExpertGroups {
 public:
  struct Group {
    uint32_t expert = 0, begin = 0, n = 0;
  };

  // Takes all memory it will need for batches of at most these sizes.
  void reserve(uint32_t n_expert, size_t n_entries);
  // Row i's experts, as floats, are the first n_used at routes + i * stride. No allocation.
  void sort(const float* routes, size_t stride, uint32_t n_rows, uint32_t n_used,
            uint32_t n_expert);

  std::span<const Group> groups() const { return groups_; }
  uint32_t slot(uint32_t entry) const { return slot_of_[entry]; }
  const uint32_t* entries() const { return entry_of_.data(); }  // by slot

 private:
  std::vector<uint32_t> next_;  // [n_expert] the next free slot of each, while sorting
  std::vector<Group> groups_;
  std::vector<uint32_t> slot_of_, entry_of_;
};

}  // namespace llmrt::cpu
