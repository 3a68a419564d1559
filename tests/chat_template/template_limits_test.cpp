#include <fenv.h>
#include <pthread.h>

#include <ctime>
#include <functional>
#include <thread>

#include "base/check.h"
#include "base/platform/stack.h"
#include "template_render.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

// Of this process on a CPU: what runs beside the test does not count.
double seconds_of(std::string_view source, const std::string& context = "{}") {
  const std::clock_t begin = std::clock();
  (void)failure_of(source, context);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

std::string repeated(std::string_view piece, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += piece;
  return out;
}

}  // namespace

TEST_CASE("chat_template: a loop over a range that is too long fails at once") {
  CHECK(seconds_of("{% for i in range(10**9) %}x{% endfor %}") < 0.1);
  CHECK(seconds_of("{{ range(1000000000) | list | length }}") < 0.1);
}

TEST_CASE("chat_template: work is bounded however it is hidden") {
  // 3.5 s at most on a Zen 3 core; sanitizers take 20 times as long.
  const double most_seconds = kExpensiveChecks ? 200 : 10;
  for (const char* source : {
           "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
           "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(60) %}{% set ns.s = ns.s ~ "
           "ns.s %}{% endfor %}",
           "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = ns.l + ns.l %}{% "
           "endfor %}",
           "{% set ns = namespace(l=[]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% "
           "endfor %}{{ ns.l }}",
           "{% set ns = namespace(l=[]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% "
           "endfor %}{{ ns.l | tojson }}",
           "{% set a = namespace(l=[]) %}{% set b = namespace(l=[]) %}{% for i in range(60) %}{% "
           "set a.l = [a.l, a.l] %}"
           "{% set b.l = [b.l, b.l] %}{% endfor %}{{ a.l == b.l }}",
           "{{ 'x' * 10**12 }}",
           "{{ [1] * 10**12 }}",
           "{{ 'ab' | center(10**12) }}",
           "{{ '%1000000000d' % 1 }}",
           "{{ '{:1000000000}'.format(1) }}",
           "{{ 'a' | indent(10**12, true) }}",
           "{{ 'x'.ljust(10**12) }}",
           "{{ '5'.zfill(10**12) }}",
           "{% set s = 'ab' * 1000000 %}{% for i in range(100000) %}{% if 'zz' in s %}{% endif "
           "%}{% endfor %}",
           "{% set s = 'ab' * 1000000 %}{% for i in range(100000) %}{% set x = s | replace('a', "
           "'bb') %}{% endfor %}",
           "{% set s = 'ab' * 1000000 %}{% for i in range(100000) %}{% set x = s | length %}{% "
           "endfor %}",
           "{% set s = 'ab' * 1000000 %}{% for i in range(100000) %}{% set x = s[1000000] %}{% "
           "endfor %}",
           "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
           "{% macro f(x) %}{{ x(x) }}{% endmacro %}{{ f(f) }}",
           "{% set l = [] %}{% set _ = l.append(l) %}{{ l }}",
           "{% set l = [] %}{% set _ = l.append(l) %}{{ l | tojson }}",
           "{% set l = [1] %}{% for x in l %}{% set _ = l.append(x) %}{% endfor %}",
           "{% for i in range(100000) %}{{ 'x' * 1000 }}{% endfor %}",
           "{{ [1, 2, 3] | batch(10**9, 0) | list }}",
           "{{ [1] | slice(10**9) | list }}",
       }) {
    const double seconds = seconds_of(source);
    INFO(source);
    CHECK(seconds < most_seconds);
  }
}

TEST_CASE("chat_template: honest loops are far from the bounds") {
  CHECK(text_of("{% for i in range(20000) %}x{% endfor %}") == std::string(20000, 'x'));
  CHECK(text_of("{% set ns = namespace(s='') %}{% for i in range(3000) %}{% set ns.s = ns.s + 'ab' "
                "%}{% endfor %}{{ ns.s | length }}") == "6000");
}

TEST_CASE("chat_template: limits that the caller sets hold") {
  TemplateLimits limits;
  limits.max_steps = 100;
  CHECK(failure_of("{% for i in range(1000) %}x{% endfor %}", "{}", limits)
            .message()
            .find("100 steps") != std::string_view::npos);
  limits = {};
  limits.max_output = 10;
  CHECK(failure_of("0123456789a", "{}", limits).code() == Code::template_error);
  CHECK(render("0123456789", "{}", {}, limits).ok());
  limits = {};
  limits.max_depth = 3;
  const char* source = "{% macro f(n) %}{{ n }}{{ f(n - 1) if n }}{% endmacro %}{{ f(2) }}";
  CHECK(render(source, "{}", {}, limits).value().text == "210");
  CHECK(
      failure_of("{% macro f(n) %}{{ n }}{{ f(n - 1) if n }}{% endmacro %}{{ f(3) }}", "{}", limits)
          .code() == Code::template_error);
}

TEST_CASE("chat_template: size, nesting and node count of a template are bounded") {
  CHECK(failure_of(std::string(300000, 'x')).code() == Code::template_error);
  CHECK(failure_of("{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}").code() ==
        Code::template_error);
  CHECK(failure_of("{{ " + repeated("[", 5000)).code() == Code::template_error);
  CHECK(failure_of("{{ " + repeated("-", 5000) + "1 }}").code() == Code::template_error);
  CHECK(failure_of("{{ " + repeated("not ", 5000) + "1 }}").code() == Code::template_error);
  CHECK(failure_of("{{ x" + repeated(".a", 5000) + " }}").code() == Code::template_error);
  CHECK(failure_of("{{ x" + repeated("|upper", 5000) + " }}").code() == Code::template_error);
  CHECK(failure_of("{{ " + repeated("1 if 1 else ", 5000) + "1 }}").code() == Code::template_error);
  CHECK(failure_of(repeated("{% if 1 %}", 5000)).code() == Code::template_error);
  CHECK(failure_of("{% set " + repeated("(", 5000)).code() == Code::template_error);
  CHECK(failure_of(repeated("{{1}}", 51000)).code() == Code::template_error);
  // Chains are not nesting.
  CHECK(text_of("{{ 0" + repeated(" + 1", 5000) + " }}") == "5000");
  CHECK(text_of("{{ ''" + repeated(" ~ 'x'", 5000) + " }}") == std::string(5000, 'x'));
  CHECK(text_of("{% if 0 %}" + repeated("{% elif 0 %}", 5000) + "{% else %}y{% endif %}") == "y");
}

TEST_CASE("chat_template: a thread of 256 KiB stack parses and renders whatever nests") {
  struct Nesting {
    const char *open, *close;
  };
  // g is a macro; what is inside is at last a call of the macro around.
  constexpr Nesting kNestings[] = {
      {"g(", ")"},
      {"(", ")"},
      {"-", ""},
      {"not ", ""},
      {"[", "][0]"},
      {"{'a': ", "}['a']"},
      {"'' ~ (", ")"},
      {"(1 if (", ") else 2)"},
      {"(0 or (", "))"},
      {"(1 + (1 + (", ")))"},
      {"namespace(a=", ").a"},
      {"[", "] | map('upper') | list | first"},
      {"'{}'.format(", ")"},
      {"'%s' | format(", ")"},
      {"'x' | replace('x', ", ")"},
  };
  int n_too_deep = 0;
  const auto run = [&](const std::string& source) {
    const auto rendered = render(source, "{}");
    if (rendered.ok()) return;
    CHECK(rendered.status().code() == Code::template_error);
    n_too_deep += rendered.status().message().find("nests too deep") != std::string_view::npos;
  };
  const auto work = [&] {
    for (const Nesting& nesting : kNestings) {
      for (const size_t n : {5, 15, 30, 45, 60, 100}) {
        const std::string inside =
            "{{ " + repeated(nesting.open, n) + "f(k)" + repeated(nesting.close, n) + " }}";
        for (const size_t n_blocks : {size_t{0}, size_t{10}, size_t{25}, size_t{58}})
          run("{% macro g(x) %}{{ x }}{% endmacro %}{% macro f(k) %}" +
              repeated("{% if k %}", n_blocks) + inside + repeated("{% endif %}", n_blocks) +
              "{% endmacro %}{{ f('x') }}");
      }
    }
    run("{% set ns = namespace(a=[1]) %}{% for i in range(1000) %}{% set ns.a = [ns.a] %}"
        "{% endfor %}{{ ns.a | map(*(['map'] * 999)) | list }}");
    for (const char* piece : {"{% for i in [1] %}", "{% if 1 %}", "{% filter upper %}",
                              "{% macro f() %}", "{% with a = 1 %}", "{% set a %}"})
      run(repeated(piece, 60) + "{{ " + repeated("(", 60));
  };
  const std::function<void()> body = work;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const size_t for_callers = size_t{160} << 10;
  pthread_attr_setstacksize(&attributes, kMaxRecursionBytes + for_callers);
  pthread_t thread;
  const auto start = [](void* f) -> void* {
    (*static_cast<const std::function<void()>*>(f))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&body)) ==
          0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  CHECK(n_too_deep > 20);
}

#if defined(__GLIBC__) && defined(__x86_64__)
TEST_CASE("chat_template: a host that traps on float exceptions renders as any other") {
  const char* const source = "{{ 1e300 * 1e300 }} {{ 'nan' | float }} {{ x }} {{ 5e-324 > 0 }}";
  feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
  auto rendered = render(source, R"({"x": 1e999})");
  const int traps = fegetexcept();
  fedisableexcept(FE_ALL_EXCEPT);
  REQUIRE(rendered.ok());
  CHECK(rendered.value().text == "inf nan inf True");
  CHECK(traps == (FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW));
}
#endif

TEST_CASE("chat_template: failures name line and column") {
  struct Place {
    const char* source;
    int32_t line, column;
  };
  for (const Place& p :
       {Place{"ok\n{{ messages|frobnicate }}\n", 2, 13}, Place{"ok\n{% frobnicate x %}", 2, 1},
        Place{"a\r\nb\r\n  {{ 1 + }}", 3, 10}, Place{"{{ x }}\n\n {{ x.y.z }}", 3, 5},
        Place{"\xC3\xA9\xC3\xA9{{ 1/0 }}", 1, 7}, Place{"{# open", 1, 1},
        Place{"a\n{% if 1 %}\nb", 2, 1}}) {
    const Status failed = failure_of(p.source);
    INFO(std::string(failed.message()));
    CHECK(failed.code() == Code::template_error);
    REQUIRE(failed.detail() != nullptr);
    CHECK(failed.detail()->line == p.line);
    CHECK(failed.detail()->column == p.column);
    CHECK(failed.detail()->where == "chat template");
    const std::string place =
        "line " + std::to_string(p.line) + ", column " + std::to_string(p.column);
    CHECK(failed.message().find(place) != std::string_view::npos);
  }
}

TEST_CASE("chat_template: the message of raise_exception passes through unchanged") {
  const Status failed = failure_of("\n{{ raise_exception('Roles must alternate!') }}");
  CHECK(failed.message() == "Roles must alternate!");
  CHECK(failed.detail()->where == "chat template");
  CHECK(failed.detail()->line == 2);
}

TEST_CASE("chat_template: text that is not UTF-8 is refused in template and context") {
  CHECK(failure_of("a\nb\xFFz").detail()->line == 2);
  CHECK(failure_of("{{ s }}", "{\"s\": \"\xC3\"}").code() == Code::invalid_argument);
  CHECK(failure_of("x", "[1]").code() == Code::invalid_argument);
  CHECK(failure_of("x", "{\"a\": }").code() == Code::invalid_argument);
}

TEST_CASE("chat_template: methods beyond jinja2's sandbox that templates of other engines use") {
  CHECK(
      text_of(
          "{% set l = [1] %}{% set _ = l.append(2) %}{{ l }}{{ l.pop() }}{{ l.pop(0) }}{{ l }}") ==
      "[1, 2]21[]");
  CHECK(text_of("{% set d = {'a': 1, 'b': 2} %}{{ d.pop('a') }}{{ d.pop('z', 9) }}{{ d }}") ==
        "19{'b': 2}");
  CHECK(text_of("{{ ('{\"a\": [1, 2.0, null]}' | from_json).a }}") == "[1, 2.0, None]");
  CHECK(failure_of("{{ '{' | from_json }}").code() == Code::template_error);
}

TEST_CASE("chat_template: dicts with many keys of any kind") {
  CHECK(text_of("{% set d = dict() %}{% set ns = namespace(d={}) %}{% for i in range(100) %}{% set "
                "ns.d = dict(ns.d, **{'k' ~ i: i}) %}{% endfor %}"
                "{{ ns.d | length }}{{ ns.d.k77 }}{{ 'k99' in ns.d }}{{ 'k100' in ns.d }}{{ "
                "ns.d.pop('k5') }}{{ 'k5' in ns.d }}{{ ns.d.k99 }}") == "10077TrueFalse5False99");
  CHECK(text_of("{% set d = {1: 'a', 2: 'b', 3: 'c', 4: 'd', 5: 'e', 6: 'f', 7: 'g', 8: 'h', 9: "
                "'i', 10: 'j', 11: 'k', 12: 'l', 13: 'm', (1, 'x'): 'n', "
                "none: 'o', 2.5: 'p'} %}{{ d[1.0] ~ d[true] ~ d[13] ~ d[(1, 'x')] ~ d[none] ~ "
                "d[2.5] ~ (14 in d) }}") == "aamnopFalse");
}

TEST_CASE("chat_template: the clock answers in the format's words and can be fixed") {
  CHECK(text_of("{{ strftime_now('%Y-%m-%d %d %b %Y') }}", R"({"strftime_now": "2024-02-29"})") ==
        "2024-02-29 29 Feb 2024");
  CHECK(text_of("{{ strftime_now('%H:%M') }}", R"({"strftime_now": "2024-02-29 23:05"})") ==
        "23:05");
  CHECK(text_of("{{ strftime_now('%Y') }}", R"({"strftime_now": "some day"})") == "some day");
  const std::string now = text_of("{{ strftime_now('%Y-%m-%dT%H:%M:%S') }}");
  CHECK(now.size() == 19);
  CHECK(now.substr(0, 4) >= "2024");
  CHECK(failure_of("{{ strftime_now('%Q') }}").code() == Code::template_error);
}

TEST_CASE("chat_template: 16 threads render one template") {
  auto parsed = ChatTemplate::parse(
      "{% macro r(v) %}{% if v is mapping %}{% for k, x in v|items %}{{ k }}={{ r(x) }};{% endfor "
      "%}{% else %}{{ v }}{% endif %}{% endmacro %}"
      "{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}{{ r(m.data) }}{% endfor %}");
  REQUIRE(parsed.ok());
  const ChatTemplate& shared = *parsed.value();
  std::vector<std::string> wrong(16);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      const std::string id = std::to_string(t);
      const std::string context = R"({"messages": [{"role": "user", "content": " hi )" + id +
                                  R"( ", "data": {"n": )" + id + R"(, "q": {"z": "y"}}}]})";
      const std::string expected = "<|user|>hi " + id + "n=" + id + ";q=z=y;;";
      for (int i = 0; i < 200; ++i) {
        auto rendered = shared.render(context, {});
        if (!rendered.ok() || rendered.value().text != expected)
          wrong[t] = rendered.ok() ? rendered.value().text : "failed";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) CHECK(text == "");
}
