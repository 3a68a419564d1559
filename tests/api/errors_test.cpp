#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>

#include "../support/scratch_dir.h"
#include "api_kit.h"

using namespace api_test;

namespace {

// The names of these tests are made of Q, of é and of slashes; everything else in a sentence is ours.
void check_length(const std::string& sentence) {
  INFO(sentence);
  CHECK(sentence != "");
  CHECK(sentence.size() <= 511);
  std::string own = sentence;
  for (const char* quoted : {"\\xc3", "\\xa9"})
    for (size_t at = 0; (at = own.find(quoted)) != std::string::npos;) own.erase(at, 4);
  CHECK(std::count_if(own.begin(), own.end(), [](char c) {
          return c != 'Q' && c != '/' && static_cast<unsigned char>(c) < 0x80;
        }) <= 200);
  llmrt_strlist* list = nullptr;
  REQUIRE_OK(llmrt_strlist_create(&list));
  CHECK_OK(llmrt_strlist_add(list, sentence.c_str()));  // UTF-8
  llmrt_strlist_release(list);
}

}  // namespace

TEST_CASE(
    "errors: the version of the header is accepted, a newer one and another major number are not") {
  CHECK_OK(llmrt_check_version(LLMRT_VERSION));
  CHECK(llmrt_version() == uint32_t{LLMRT_VERSION});
  CHECK(std::string(llmrt_version_string()) == "0.1.0");
  CHECK(llmrt_check_version(LLMRT_VERSION + 1) == LLMRT_ERR_VERSION);
  CHECK(llmrt_check_version(LLMRT_VERSION + 1000000) == LLMRT_ERR_VERSION);
  CHECK(last_error().find("1.1.0") != std::string::npos);
}

TEST_CASE("errors: every status has a name") {
  CHECK(std::string(llmrt_status_name(LLMRT_OK)) == "OK");
  CHECK(std::string(llmrt_status_name(LLMRT_ERR_QUEUE_FULL)) == "ERR_QUEUE_FULL");
  for (int32_t s = -21; s <= 2; ++s) CHECK(std::string(llmrt_status_name(s)) != "?");
  CHECK(std::string(llmrt_status_name(-22)) == "?");
  CHECK(std::string(llmrt_status_name(3)) == "?");
}

TEST_CASE("errors: the features tell the backends of the build") {
  CHECK(llmrt_feature("backend.cpu") == 1);
  CHECK(llmrt_feature("backend.reference") == 1);
  CHECK(llmrt_feature("backend.abacus") == 0);
  CHECK(llmrt_feature("backend.") == 0);
  CHECK(llmrt_feature("cpu") == 0);
}

TEST_CASE("errors: the record is the thread's own and success does not clear it") {
  llmrt_model* model = nullptr;
  CHECK(llmrt_model_load(nullptr, "/no/such/file.gguf", nullptr, &model) == LLMRT_ERR_NOT_FOUND);
  const std::string mine = last_error();
  CHECK(mine.find("/no/such/file.gguf") != std::string::npos);
  std::thread([] { CHECK(last_error().empty()); }).join();
  CHECK(llmrt_feature("gguf") == 1);
  CHECK(llmrt_feature("no such feature") == 0);
  CHECK(last_error() == mine);
  llmrt_error_info info = {};
  info.struct_size = sizeof info;
  REQUIRE_OK(llmrt_last_error_info(&info));
  CHECK(info.status == LLMRT_ERR_NOT_FOUND);
  CHECK(info.message == mine);
}

TEST_CASE("errors: a long sentence is cut at a code point") {
  std::string path = "/tmp/";
  while (path.size() < 2000) path += "\xf0\x9f\xa6\x99";
  llmrt_model* model = nullptr;
  CHECK(llmrt_model_load(nullptr, path.c_str(), nullptr, &model) < 0);
  const std::string sentence = last_error();
  CHECK(sentence.size() < 512);
  llmrt_strlist* list = nullptr;
  REQUIRE_OK(llmrt_strlist_create(&list));
  CHECK_OK(llmrt_strlist_add(list, sentence.c_str()));  // still UTF-8
  llmrt_strlist_release(list);
}

TEST_CASE("errors: a long name loses its middle and the reason behind it stays") {
  llmrt_model* model = nullptr;
  const char* const reason = ": No such file or directory";
  for (const size_t length : {10u, 400u, 600u, 4000u}) {
    std::string path = "/tmp";
    while (path.size() < length) path += "/" + std::string(20, 'x');
    CHECK(llmrt_model_load(nullptr, path.c_str(), nullptr, &model) == LLMRT_ERR_NOT_FOUND);
    const std::string sentence = last_error();
    CHECK(sentence.find("/tmp/xxx") == 0);
    CHECK(sentence.size() < 512);
    CHECK(sentence.substr(sentence.size() - std::strlen(reason)) == reason);
    CHECK((sentence.find("xx ... ") != std::string::npos) == (length > 400));
    CHECK(last_where().size() < 256);
  }
}

TEST_CASE("errors: beside the names in it a sentence has at most 200 bytes") {
  const std::string qs(5000, 'Q');
  std::string es = "Q";  // so that a cut after an even number of bytes would go through an é
  while (es.size() < 5000) es += "\xc3\xa9";
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  for (const std::string& name : {qs, es}) {
    const auto load = [&](const char* llmrt_model_options::*field, const std::string& value) {
      INFO(value.substr(0, 60));
      llmrt_model_options o;
      llmrt_model_options_init(&o, sizeof o);
      o.*field = value.c_str();
      llmrt_model* none = nullptr;
      CHECK(llmrt_model_load(nullptr, table_path().c_str(), &o, &none) < 0);
      check_length(last_error());
    };
    load(&llmrt_model_options::devices, name);
    load(&llmrt_model_options::backend_options, name);
    load(&llmrt_model_options::chat_template, name);
    load(&llmrt_model_options::chat_template, "{{ raise_exception('x')|" + name + " }}");
    load(&llmrt_model_options::chat_template, "{% " + name + " %}");
    load(&llmrt_model_options::metadata_overrides, "{\"" + name + "\": null}");
    for (const char* key : {"general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre"})
      load(&llmrt_model_options::metadata_overrides,
           "{\"" + std::string(key) + "\": \"" + name + "\"}");

    const auto submit = [&](const char* llmrt_gen_options::*field, const std::string& value) {
      llmrt_gen_options o = greedy(4);
      o.*field = value.c_str();
      llmrt_request* none = nullptr;
      CHECK(llmrt_submit_text(engine.get(), "a", 1, &o, &none) == LLMRT_ERR_INVALID_ARGUMENT);
      check_length(last_error());
    };
    submit(&llmrt_gen_options::sampler_chain, name);
    submit(&llmrt_gen_options::logit_bias, "{\"" + name + "\": 1}");

    llmrt_engine_options e = engine_options();
    e.kv_type = name.c_str();
    llmrt_engine* none = nullptr;
    CHECK(llmrt_engine_create(model.get(), &e, &none) == LLMRT_ERR_INVALID_ARGUMENT);
    check_length(last_error());

    char* out = nullptr;
    CHECK(llmrt_model_metadata(model.get(), name.c_str(), &out) == LLMRT_ERR_NOT_FOUND);
    check_length(last_error());
    for (const std::string& text :
         {"{{ " + name + ".x }}", "{{ messages['" + name + "'].x }}",
          "{{ messages|map('" + name + "')|list }}", "{{ raise_exception('" + name + "') }}"}) {
      CHECK(llmrt_template_render(text.c_str(), R"([{"role":"user","content":""}])", nullptr,
                                  nullptr, 1, &out) == LLMRT_ERR_TEMPLATE);
      check_length(last_error());
    }
  }
}

TEST_CASE("errors: a job's own sentence is as short as the thread's") {
  const llmrt::test::ScratchDir folder;
  std::string deep;
  for (int i = 0; i < 5; ++i) {
    deep += '/';
    for (int k = 0; k < 100; ++k) deep += "\xc3\xa9";
  }
  std::filesystem::create_directories(folder.path() + deep);
  const std::string path = folder.write(deep.substr(1) + "/QQ", "GGUF, but no more than that");
  llmrt_source* source = nullptr;
  REQUIRE_OK(llmrt_source_from_path(path.c_str(), &source));
  llmrt_job* job = nullptr;
  REQUIRE_OK(llmrt_model_load_async(nullptr, source, nullptr, &job));
  CHECK(llmrt_job_poll(job, -1, nullptr) < 0);
  check_length(last_error());
  llmrt_error_info info = {};
  info.struct_size = sizeof info;
  REQUIRE_OK(llmrt_job_error(job, &info));
  CHECK(info.message == last_error());
  CHECK(last_error().find("/QQ: ") != std::string::npos);
  llmrt_job_release(job);
  llmrt_source_release(source);
}

TEST_CASE("errors: ill-formed UTF-8 is told with its offset") {
  llmrt_strlist* list = nullptr;
  REQUIRE_OK(llmrt_strlist_create(&list));
  const char* const bad[] = {"ab\x80",     "ab\xc0\xaf", "ab\xed\xa0\x80", "ab\xf4\x90\x80\x80",
                             "ab\xe2\x82", "ab\xff"};
  for (const char* text : bad) {
    CHECK(llmrt_strlist_add(list, text) == LLMRT_ERR_INVALID_ARGUMENT);
    CHECK(last_error().find("offset 2") != std::string::npos);
  }
  CHECK_OK(llmrt_strlist_add(list, "h\xc3\xa9 \xf0\x9f\xa6\x99 \xf4\x8f\xbf\xbf \xee\x80\x80"));
  CHECK(std::strlen(llmrt_strlist_get(list, 0)) == 17);
  CHECK(llmrt_strlist_get(list, 1) == nullptr);
  llmrt_strlist_release(list);
}
