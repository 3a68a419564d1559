#include "template_render.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

const char* const kContext =
    R"({"s": "<|x|>", "t": "ab", "n": 5, "m": {"k": "v"}, "l": ["p", "q"], "bos_token": "<s>"})";

std::string picture(std::string_view source) {
  const std::string_view trusted[] = {"bos_token"};
  auto rendered = render(source, kContext, trusted);
  INFO(std::string(source));
  INFO(std::string(rendered.status().message()));
  REQUIRE(rendered.ok());
  return rendered.value().text + " " + origins(rendered.value());
}

}  // namespace

TEST_CASE("chat_template: template text is trusted and values of the context are input") {
  CHECK(picture("a{{ s }}b") == "a<|x|>b t_____t");
  CHECK(picture("{{ 'lit' }}{{ n }}{{ m.k }}{{ 1 + 1 }}") == "lit5v2 ttt__t");
  CHECK(picture("{{ bos_token }}{{ t }}") == "<s>ab ttt__");
  CHECK(picture("{{ n + 1 }}{{ n > 1 }}") == "6True _tttt");
}

TEST_CASE("chat_template: neighbours of one origin are one span") {
  auto rendered = render("a{{ 'b' }}c{{ t }}{{ s }}d", kContext);
  REQUIRE(rendered.ok());
  CHECK(rendered.value().spans.size() == 3);
}

TEST_CASE("chat_template: joining texts keeps the origin of each piece") {
  CHECK(picture("{{ '<' + t + '>' }}") == "<ab> t__t");
  CHECK(picture("{{ '<' ~ n ~ t ~ '>' }}") == "<5ab> t___t");
  CHECK(picture("{{ ['<', t, '>'] | join('-') }}") ==
        "<-ab->"
        " tt__tt");
  CHECK(picture("{{ l | join('<|') }}") == "p<|q _tt_");
  CHECK(picture("{% set x %}<{{ t }}>{% endset %}{{ x }}{{ x }}") == "<ab><ab> t__tt__t");
  CHECK(picture("{% macro f(v) %}[{{ v }}]{% endmacro %}{{ f(t) ~ f('z') }}") == "[ab][z] t__tttt");
  CHECK(picture("{{ ('<' + t) * 2 }}") == "<ab<ab t__t__");
}

TEST_CASE("chat_template: pieces cut from a text keep the origin of their bytes") {
  CHECK(picture("{{ ('<' + t + '>')[1:3] }}") == "ab __");
  CHECK(picture("{{ ('<' + t + '>')[::-1] }}") == ">ba< t__t");
  CHECK(picture("{{ ('<' + t + '>')[0] }}{{ ('<' + t)[-1] }}") == "<b t_");
  CHECK(picture("{{ (' ' + t + ' ') | trim }}") == "ab __");
  CHECK(picture("{% for c in '<' + t %}{{ c }},{% endfor %}") == "<,a,b, tt_t_t");
  CHECK(picture("{{ ('<|' + t).split('|') | join('+') }}") == "<+ab tt__");
}

TEST_CASE("chat_template: one-to-one filters keep the origin of each byte") {
  CHECK(picture("{{ ('x' + t) | upper }}") == "XAB t__");
  CHECK(picture("{{ ('x' + t) | reverse }}") == "bax __t");
  CHECK(picture("{{ t | replace('a', '<|') }}") == "<|b tt_");
  CHECK(picture("{{ '<@>' | replace('@', t) }}") == "<ab> t__t");
  CHECK(picture("{{ 'x\\n' ~ t | indent(1) }}") == "x\nab tt__");
  CHECK(picture("{{ ('a\\n' ~ t) | indent(1) }}") == "a\n ab ttt__");
  CHECK(picture("{{ '%s!' % t }}{{ '{}?'.format(t) }}") == "ab!ab? __t__t");
}

TEST_CASE("chat_template: what mixes its input is input if any part was") {
  CHECK(picture("{{ m | tojson }}") == "{\"k\": \"v\"} __________");
  CHECK(picture("{{ {'k': 'v'} | tojson }}") == "{\"k\": \"v\"} tttttttttt");
  CHECK(picture("{{ [1, t] | tojson }}") == "[1, \"ab\"] _________");
  CHECK(picture("{{ '{\"k\": 1}' | from_json }}") == "{'k': 1} tttttttt");
}

TEST_CASE("chat_template: a special token spelled by a user is never wholly trusted") {
  // However template and input are put together, the spelling has input bytes unless the template wrote all of it.
  for (const char* source :
       {"{{ s }}", "{{ s | trim }}", "{{ s | upper | lower }}", "{{ '<|' + s[2:] }}",
        "{{ s[:2] + 'x|>' }}", "{{ s.split('x') | join('x') }}", "{{ '%s' % s }}",
        "{{ [s] | join }}", "{% set q %}{{ s }}{% endset %}{{ q }}", "{{ s | replace('x', 'x') }}",
        "{{ s | string | safe }}", "{% filter trim %}{{ s }}{% endfilter %}", "{{ {'a': s}.a }}",
        "{{ ([s] | tojson | from_json)[0] }}", "{{ s | list | join }}"}) {
    const std::string_view trusted[] = {"bos_token"};
    auto rendered = render(source, kContext, trusted);
    INFO(source);
    REQUIRE(rendered.ok());
    CHECK(rendered.value().text == "<|x|>");
    CHECK(origins(rendered.value()).find('_') != std::string::npos);
  }
}
