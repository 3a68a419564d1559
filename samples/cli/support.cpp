#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace cli {
namespace {

volatile std::sig_atomic_t n_interrupts = 0;  // since they were looked at; 2 and more are 2

}  // namespace

void fail(std::string sentence) { throw Failure{std::move(sentence), 1, LLMRT_OK, {}}; }
void fail_usage(std::string sentence) { throw Failure{std::move(sentence), 2, LLMRT_OK, {}}; }

void check_range(const char* flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  fail_usage(std::string(flag) + " is " + std::to_string(value) +
             "; allowed: " + std::to_string(least) + " to " + std::to_string(most));
}

void throw_last_error() {
  llmrt_error_info info;
  info.struct_size = sizeof info;
  if (llmrt_last_error_info(&info) != LLMRT_OK) fail("unknown error");
  std::string sentence = info.message;
  if (info.line > 0) {
    const std::string place = "line " + std::to_string(info.line) +
                              (info.column > 0 ? ", column " + std::to_string(info.column) : "");
    if (sentence.find("line " + std::to_string(info.line)) == std::string::npos)
      sentence = place + ": " + sentence;
  }
  throw Failure{std::move(sentence), 1, info.status, info.where};
}

void check(llmrt_status status) {
  if (status < 0) throw_last_error();
}

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { n_interrupts = n_interrupts ? 2 : 1; };
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);  // no SA_RESTART: a waiting read returns
}
bool interrupted() { return n_interrupts != 0; }
void clear_interrupt() { n_interrupts = 0; }
void throw_interrupted() { throw Failure{"interrupted", 130, LLMRT_OK, {}}; }

std::string read_file(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (!file && interrupted()) throw_interrupted();  // a FIFO without a writer
  if (!file) fail(path + ": " + std::strerror(errno));
  std::string text;
  char buffer[65536];
  size_t n = 0;
  while ((n = std::fread(buffer, 1, sizeof buffer, file)) > 0) text.append(buffer, n);
  const bool bad = std::ferror(file) != 0;
  const int code = errno;
  if (file != stdin) std::fclose(file);
  if (interrupted()) throw_interrupted();
  if (bad) fail(path + ": " + std::strerror(code));
  return text;
}

bool file_exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}
bool has_an_end(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode));
}

void check_utf8(const std::string& name, std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  for (size_t i = 0; i < text.size();) {
    const unsigned lead = byte(i);
    const size_t n = lead < 0x80   ? 1
                     : lead < 0xc2 ? 0
                     : lead < 0xe0 ? 2
                     : lead < 0xf0 ? 3
                     : lead < 0xf5 ? 4
                                   : 0;
    bool good = n > 0 && n <= text.size() - i;
    uint32_t point = n > 1 ? lead & (0x7fu >> n) : lead;
    for (size_t k = 1; good && k < n; ++k) {
      good = (byte(i + k) & 0xc0u) == 0x80u;
      point = point << 6 | (byte(i + k) & 0x3fu);
    }
    if (n == 3) good = good && point >= 0x800 && (point < 0xd800 || point >= 0xe000);
    if (n == 4) good = good && point >= 0x10000 && point <= 0x10ffff;
    if (!good) {
      char place[64];
      std::snprintf(place, sizeof place, ": not UTF-8: byte 0x%02x at offset %zu", lead, i);
      fail(name + place);
    }
    i += n;
  }
}

bool rename_subject(std::string& sentence, std::string_view subject, std::string_view name) {
  if (!std::string_view(sentence).starts_with(subject)) return false;
  if (sentence.size() > subject.size()) {
    const auto next = static_cast<unsigned char>(sentence[subject.size()]);
    if (std::isalnum(next) || next == '_') return false;
  }
  sentence.replace(0, subject.size(), name);
  return true;
}

std::string take_text(char* text) {
  const std::unique_ptr<char, void (*)(void*)> owner(text, llmrt_free);
  return text ? std::string(text) : std::string();
}

// Not by stdio, which drops what it holds when Ctrl-C interrupts a write that waits for its reader. A second Ctrl-C gives the text up.
void write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) {
      if (n_interrupts > 1) throw_interrupted();
      continue;
    }
    if (n < 0) fail(std::string("standard output: ") + std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(n));
  }
}

void print_json(const Json& json) {
  write_out(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void print_json_line(const Json& json) {
  write_out(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string human_bytes(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 0) return "unknown";
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Json stats(std::vector<double> values) {
  if (values.empty()) return nullptr;
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  const double median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  return {{"median", median}, {"min", values.front()}, {"max", values.back()}};
}

}  // namespace cli
