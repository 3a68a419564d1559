// How fast weights come to the backend, from the system's cache of the file.
//   load_bench MODEL.gguf [threads] [FOLDER]      FOLDER: takes a file of packed weights, of the model's size
//
//   pack      pack_panel alone, one thread, rows and panel in the core's cache, for each type that the model has
//   load      the whole of load_model, best and median of kRepeats; the file is read before each
// GB/s are bytes of weights as packed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "quant/panel.h"
#include "runtime/loaded_model.h"
#include "tests/support/host.h"

using namespace llmrt;
using test::take;

namespace {

constexpr int kRepeats = 7;
constexpr uint32_t kPackK = 2048;

double seconds_since(int64_t begin_ns) { return static_cast<double>(now_ns() - begin_ns) * 1e-9; }

void time_packing(DType type) {
  const QuantFormat& f = format_of(type);
  const size_t row = row_bytes(f, kPackK);
  std::vector<uint8_t> rows(row * kPanelRows, 0x5a), panel(panel_bytes(type, kPackK));
  constexpr int kPanels = 2000;
  double best = 1e9;
  for (int r = 0; r < kRepeats; ++r) {
    const int64_t begin = now_ns();
    for (int i = 0; i < kPanels; ++i) {
      rows[0] = static_cast<uint8_t>(i);
      pack_panel(type, rows.data(), row, kPanelRows, kPackK, panel.data());
    }
    best = std::min(best, seconds_since(begin));
  }
  std::printf("pack  %-8s            %6.2f GB/s   (byte %u)\n", f.name,
              static_cast<double>(panel.size()) * kPanels / best * 1e-9, panel[0]);
}

// Puts the file where reads are answered from memory.
void warm(const std::string& path) {
  const ByteSourcePtr file = take(source_from_path(path));
  std::vector<uint8_t> bytes(size_t{4} << 20);
  for (uint64_t at = 0; at < file->size(); at += bytes.size())
    if (!file->read(at, bytes.data(), std::min<uint64_t>(bytes.size(), file->size() - at)).ok())
      std::abort();
}

std::shared_ptr<LoadedModel> time_loading(const char* what, const std::string& path,
                                          uint32_t n_workers, const ModelOptions& options,
                                          int repeats) {
  std::vector<double> seconds;
  std::shared_ptr<LoadedModel> model;
  for (int r = 0; r < repeats; ++r) {
    model.reset();
    warm(path);
    const auto host = test::make_host(n_workers);
    ByteSourcePtr file = take(source_from_path(path));
    const int64_t begin = now_ns();
    model = take(load_model(host, {std::move(file)}, options, nullptr));
    seconds.push_back(seconds_since(begin));
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  const auto bytes = static_cast<double>(model->weight_bytes);
  std::printf("load  %-14s best %7.1f ms   median %7.1f ms   %6.2f GB/s   mapped %.0f MB\n", what,
              seconds[0] * 1e3, median * 1e3, bytes / median * 1e-9,
              static_cast<double>(model->mapped_bytes) * 1e-6);
  return model;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: load_bench MODEL.gguf [threads] [FOLDER]\n");
    return 2;
  }
  const std::string path = argv[1];
  const auto n_workers = argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 2;
  ModelOptions options;
  options.devices = "cpu";
  const auto model = time_loading("packed", path, n_workers, options, kRepeats);
  std::set<DType> types;
  for (const WeightDesc& d : model->def.program.weights)
    if (d.n > 1) types.insert(d.type);
  for (const DType type : types) time_packing(type);
  options.load_mode = LoadMode::mapped;
  time_loading("packed, mmap", path, n_workers, options, kRepeats);
  options.load_mode = LoadMode::raw;
  time_loading("raw", path, n_workers, options, kRepeats);
  if (argc < 4) return 0;
  options.load_mode = LoadMode::automatic;
  options.cache_dir = argv[3];
  time_loading("with writing", path, n_workers, options, 1);  // unless the file is there already
  time_loading("cached", path, n_workers, options, kRepeats);
  return 0;
}
