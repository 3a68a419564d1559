#include <cstring>
#include <thread>

#include "api_kit.h"

using namespace api_test;

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
