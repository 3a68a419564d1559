# The sources of the chat template engine, for CMakeLists.txt beside it.
set(LLMRT_CHAT_TEMPLATE_SOURCES
  chat_template.cpp chat_template_braces.cpp chat_template_builder.cpp chat_template_builtins.cpp chat_template_caps.cpp
  chat_template_case_methods.cpp chat_template_container_methods.cpp chat_template_eval.cpp chat_template_exec.cpp
  chat_template_filters.cpp chat_template_format.cpp chat_template_json.cpp chat_template_lexer.cpp
  chat_template_list_filters.cpp chat_template_loop.cpp chat_template_named.cpp chat_template_ops.cpp
  chat_template_parse_expressions.cpp chat_template_parser.cpp chat_template_percent.cpp chat_template_source.cpp
  chat_template_text.cpp chat_template_text_methods.cpp chat_template_time.cpp chat_template_unicode.cpp
  chat_template_value.cpp)
list(TRANSFORM LLMRT_CHAT_TEMPLATE_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/")
