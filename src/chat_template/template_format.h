// The conversions that both of Python's format languages share: "%5.2f" % x and "{:5.2f}".format(x).
#pragma once

#include <string>

#include "chat_template/template_builder.h"

namespace llmrt::jinja {

inline constexpr int64_t kMaxWidth = 100'000;
inline constexpr int kMaxPrecision = 300;

// One conversion: what both mini languages can ask for.
struct FormatSpec {
  uint32_t fill = ' ';
  char align = 0;   // < > ^ =, 0: by type
  char sign = '-';  // - + or blank
  bool alternate = false;
  bool zero = false;
  char grouping = 0;  // , or _
  int64_t width = 0;
  int64_t precision = -1;
  char type = 0;
};

std::string digits_of_real(double magnitude, char type, int precision, bool alternate);
void write_number(TextBuilder& out, const FormatSpec& spec, bool negative,
                  const std::string& prefix, std::string digits, bool upper, size_t group,
                  bool input);
void write_padded(TextBuilder& out, const FormatSpec& spec, Text text);
void write_int(TextBuilder& out, const FormatSpec& spec, int64_t value, bool input);
void write_real(TextBuilder& out, const FormatSpec& spec, double value, bool input);

}  // namespace llmrt::jinja
