#include "graph/make_batch.h"

#include <doctest/doctest.h>

#include <iterator>

using namespace llmrt;

TEST_CASE("make_batch: rows, tables and write slots of two sequences in two groups") {
  const std::vector<int32_t> prompt{5, 6, 7}, next{9};
  const std::vector<std::vector<BlockId>> tables_a{{2, 3}, {4, 5}}, tables_b{{6, 7, 8}, {0, 0, 9}};
  const RowRun runs[] = {{prompt, 15, tables_a, RowWant::all}, {next, 40, tables_b, RowWant::last}};
  BatchStorage storage;
  for (int round = 0; round < 2; ++round) {  // reuse leaves nothing behind
    make_batch(runs, 2, 16, storage);
    const Batch b = storage.view();
    CHECK(b.n_rows() == 4);
    CHECK(b.n_seqs() == 2);
    CHECK(std::vector<int32_t>(b.pos.begin(), b.pos.end()) == std::vector<int32_t>{15, 16, 17, 40});
    CHECK(std::vector<uint32_t>(b.row_begin.begin(), b.row_begin.end()) ==
          std::vector<uint32_t>{0, 3, 4});
    CHECK(std::vector<uint32_t>(b.kv_len.begin(), b.kv_len.end()) == std::vector<uint32_t>{18, 41});
    CHECK(std::vector<uint32_t>(b.out_rows.begin(), b.out_rows.end()) ==
          std::vector<uint32_t>{0, 1, 2, 3});
    CHECK(std::vector<uint32_t>(b.table_begin.begin(), b.table_begin.end()) ==
          std::vector<uint32_t>{0, 2, 5, 7, 10});
    CHECK(std::vector<BlockId>(b.tables.begin(), b.tables.end()) ==
          std::vector<BlockId>{2, 3, 6, 7, 8, 4, 5, 0, 0, 9});
    CHECK(std::vector<uint32_t>(b.write_slot.begin(), b.write_slot.end()) ==
          std::vector<uint32_t>{2 * 16 + 15, 3 * 16 + 0, 3 * 16 + 1, 8 * 16 + 8, 4 * 16 + 15,
                                5 * 16 + 0, 5 * 16 + 1, 9 * 16 + 8});
  }
}

TEST_CASE(
    "make_batch: the largest batch of the limits fits the memory that was reserved for them") {
  constexpr uint32_t kRows = 5, kSeqs = 2, kGroups = 2, kEntries = 4;
  BatchStorage storage;
  storage.reserve({kRows, kSeqs, kRows, kGroups, kEntries});
  const void* before[] = {storage.ids.data(),         storage.pos.data(),
                          storage.row_begin.data(),   storage.kv_len.data(),
                          storage.table_begin.data(), storage.write_slot.data(),
                          storage.out_rows.data(),    storage.tables.data()};
  const std::vector<int32_t> many{1, 2, 3, 4}, one{5};
  const std::vector<std::vector<BlockId>> tables{{2, 3, 4, 5}, {6, 7, 8, 9}};
  const RowRun runs[] = {{many, 60, tables, RowWant::all}, {one, 63, tables, RowWant::last}};
  make_batch(runs, kGroups, 16, storage);
  CHECK(storage.view().n_rows() == kRows);
  CHECK(storage.view().tables.size() == kGroups * kSeqs * kEntries);
  const void* after[] = {storage.ids.data(),         storage.pos.data(),
                         storage.row_begin.data(),   storage.kv_len.data(),
                         storage.table_begin.data(), storage.write_slot.data(),
                         storage.out_rows.data(),    storage.tables.data()};
  for (size_t i = 0; i < std::size(before); ++i) CHECK(before[i] == after[i]);
}

TEST_CASE("make_batch: a sequence without wanted rows adds none") {
  const std::vector<int32_t> ids{1, 2};
  const std::vector<std::vector<BlockId>> tables{{2}};
  const RowRun run{ids, 0, tables, RowWant::none};
  BatchStorage storage;
  make_batch({&run, 1}, 1, 32, storage);
  CHECK(storage.view().n_out() == 0);
}
