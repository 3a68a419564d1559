// strftime_now: the date in Python's format language, in UTC. The clock is read only here, and only if the context fixes no time.
#include <charconv>
#include <chrono>
#include <optional>
#include <string>

#include "chat_template/template_builtins.h"
#include "chat_template/template_eval.h"

namespace llmrt::jinja {

namespace {

struct DateTime {
  int64_t year = 1970;
  int month = 1, day = 1, hour = 0, minute = 0, second = 0;
  int microsecond = 0;
  int week_day = 4;  // 0 = Sunday
  int year_day = 1;
};

// Days since 1970-01-01 of a date of the proleptic Gregorian calendar (H. Hinnant, chrono-compatible low-level date algorithms).
int64_t days_from_civil(int64_t y, int m, int d) {
  y -= m <= 2 ? 1 : 0;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

void fill_derived(DateTime& t) {
  const int64_t days = days_from_civil(t.year, t.month, t.day);
  t.week_day = static_cast<int>(((days % 7) + 11) % 7);
  t.year_day = static_cast<int>(days - days_from_civil(t.year, 1, 1)) + 1;
}

DateTime from_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t microseconds = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const int64_t seconds = microseconds / 1'000'000;
  const int64_t z = seconds / 86400 + 719468;
  const int64_t era = z / 146097;
  const int64_t day_of_era = z - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month = (5 * day_of_year + 2) / 153;
  DateTime t;
  t.day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
  t.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  t.year = year_of_era + era * 400 + (t.month <= 2 ? 1 : 0);
  const int64_t rest = seconds % 86400;
  t.hour = static_cast<int>(rest / 3600);
  t.minute = static_cast<int>(rest / 60 % 60);
  t.second = static_cast<int>(rest % 60);
  t.microsecond = static_cast<int>(microseconds % 1'000'000);
  fill_derived(t);
  return t;
}

// "2024-07-26", "2024-07-26T13:05", "2024-07-26 13:05:09".
bool from_iso(std::string_view s, DateTime& t) {
  if (s.size() != 10 && s.size() != 16 && s.size() != 19) return false;
  const auto field = [&](size_t begin, size_t n, auto& out) {
    const auto [p, ec] = std::from_chars(s.data() + begin, s.data() + begin + n, out);
    return ec == std::errc() && p == s.data() + begin + n && out >= 0;
  };
  if (!field(0, 4, t.year) || s[4] != '-' || !field(5, 2, t.month) || s[7] != '-' ||
      !field(8, 2, t.day))
    return false;
  if (s.size() > 10 && ((s[10] != 'T' && s[10] != ' ') || !field(11, 2, t.hour) || s[13] != ':' ||
                        !field(14, 2, t.minute)))
    return false;
  if (s.size() > 16 && (s[16] != ':' || !field(17, 2, t.second))) return false;
  if (t.year < 1 || t.month < 1 || t.month > 12 || t.day < 1 || t.day > 31 || t.hour > 23 ||
      t.minute > 59 || t.second > 59)
    return false;
  fill_derived(t);
  return true;
}

constexpr const char* kMonths[] = {"January",   "February", "March",    "April",
                                   "May",       "June",     "July",     "August",
                                   "September", "October",  "November", "December"};
constexpr const char* kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                 "Thursday", "Friday", "Saturday"};

void append_number(std::string& out, int64_t value, int width, char pad) {
  std::string digits = std::to_string(value);
  if (pad && static_cast<int>(digits.size()) < width)
    out.append(static_cast<size_t>(width) - digits.size(), pad);
  out += digits;
}

struct IsoWeek {
  int64_t year;
  int week;
};
IsoWeek iso_week(const DateTime& t) {
  const auto weeks_in = [](int64_t y) {
    const auto dec31 = [](int64_t x) { return (x + x / 4 - x / 100 + x / 400) % 7; };
    return dec31(y) == 4 || dec31(y - 1) == 3 ? 53 : 52;
  };
  const int monday_based = (t.week_day + 6) % 7;
  const int week = (t.year_day - 1 - monday_based + 10) / 7;
  if (week < 1) return {t.year - 1, weeks_in(t.year - 1)};
  if (week > weeks_in(t.year)) return {t.year + 1, 1};
  return {t.year, week};
}

struct NumberField {
  int64_t value;
  int width;
  char pad;  // 0: none
};
std::optional<NumberField> number_field(const DateTime& t, char letter) {
  using F = NumberField;
  const int hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  switch (letter) {
    case 'Y':
      return F{t.year, 4, '\0'};
    case 'C':
      return F{t.year / 100, 2, '0'};
    case 'y':
      return F{t.year % 100, 2, '0'};
    case 'm':
      return F{t.month, 2, '0'};
    case 'd':
      return F{t.day, 2, '0'};
    case 'e':
      return F{t.day, 2, ' '};
    case 'H':
      return F{t.hour, 2, '0'};
    case 'I':
      return F{hour12, 2, '0'};
    case 'k':
      return F{t.hour, 2, ' '};
    case 'l':
      return F{hour12, 2, ' '};
    case 'M':
      return F{t.minute, 2, '0'};
    case 'S':
      return F{t.second, 2, '0'};
    case 'f':
      return F{t.microsecond, 6, '0'};
    case 'j':
      return F{t.year_day, 3, '0'};
    case 'w':
      return F{t.week_day, 1, '0'};
    case 'u':
      return F{t.week_day == 0 ? 7 : t.week_day, 1, '0'};
    case 'U':
      return F{(t.year_day - 1 + 7 - t.week_day) / 7, 2, '0'};
    case 'W':
      return F{(t.year_day - 1 + 7 - (t.week_day + 6) % 7) / 7, 2, '0'};
    case 'V':
      return F{iso_week(t).week, 2, '0'};
    case 'G':
      return F{iso_week(t).year, 4, '\0'};
    case 's':
      return F{days_from_civil(t.year, t.month, t.day) * 86400 + int64_t{t.hour} * 3600 +
                   int64_t{t.minute} * 60 + t.second,
               1, '0'};
    default:
      return std::nullopt;
  }
}

std::optional<std::string_view> text_field(const DateTime& t, char letter) {
  switch (letter) {
    case 'B':
      return kMonths[t.month - 1];
    case 'b':
    case 'h':
      return std::string_view(kMonths[t.month - 1], 3);
    case 'A':
      return kDays[t.week_day];
    case 'a':
      return std::string_view(kDays[t.week_day], 3);
    case 'p':
      return t.hour < 12 ? "AM" : "PM";
    case 'P':
      return t.hour < 12 ? "am" : "pm";
    case 'Z':
    case 'z':
      return "";  // a time without a zone has neither
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

// False: a letter that Python's strftime does not have here. bare: "%-d", a number without padding.
bool append_field(std::string& out, const DateTime& t, char letter, bool bare) {
  if (const auto number = number_field(t, letter)) {
    append_number(out, number->value, number->width, bare && letter != 'f' ? '\0' : number->pad);
    return true;
  }
  const auto text = text_field(t, letter);
  if (text) out += *text;
  return text.has_value();
}

constexpr std::string_view expansion(char letter) {
  switch (letter) {
    case 'F':
      return "%Y-%m-%d";
    case 'T':
    case 'X':
      return "%H:%M:%S";
    case 'R':
      return "%H:%M";
    case 'D':
    case 'x':
      return "%m/%d/%y";
    case 'c':
      return "%a %b %e %H:%M:%S %Y";
    case 'r':
      return "%I:%M:%S %p";
    default:
      return "";
  }
}

bool append_formatted(std::string& out, const DateTime& t, std::string_view format) {
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    char letter = format[++i];
    const bool bare = letter == '-' && i + 1 < format.size();
    if (bare) letter = format[++i];
    if (!expansion(letter).empty()) {
      append_formatted(out, t, expansion(letter));
    } else if (!append_field(out, t, letter, bare)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<Value> strftime_now(Call& call) {
  LLMRT_ASSIGN(const Text format, call.text(0));
  if (format.size > 1000) return call.fail("the format is longer than 1000 bytes");
  const std::string& fixed = call.run.fixed_clock();
  DateTime t;
  if (fixed.empty()) {
    t = from_clock();
  } else if (!from_iso(fixed, t)) {  // the answer itself
    return Value::of_text(copy_text(call.run.arena(), fixed, true));
  }
  std::string out;
  if (!append_formatted(out, t, format.view()))
    return call.fail("a format letter that is not supported");
  return Value::of_text(copy_text(call.run.arena(), out, format.any_input()));
}

}  // namespace llmrt::jinja
