// The named pre-tokenizers (tokenizer.ggml.pre): each row's expressions come from the tokenizer.json of the models that use the
// name. A name that is not here is refused, since a wrong split gives wrong ids without any other sign.
#include <algorithm>
#include <array>

#include "tokenizer/pretokenize.h"

namespace llmrt {

namespace {

// Building blocks.
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define WORD R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define SYMBOLS R"( ?[^\s\p{L}\p{N}]+[\r\n]*)"
// Words that change from upper to lower case once; a contraction stays attached.
#define CASED_WORD                                                                                 \
  R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)" CONTRACTIONS   \
  R"(?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)" CONTRACTIONS \
  "?"

#define GPT2 R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"
#define QWEN2 CONTRACTIONS "|" WORD R"(|\p{N}|)" SYMBOLS "|" SPACES
#define CHINESE_JAPANESE R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)"
#define ASCII_PUNCTUATED R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+)"
#define MARKED_WORD R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"

constexpr const char* kLlama3[] = {CONTRACTIONS "|" WORD R"(|\p{N}{1,3}|)" SYMBOLS "|" SPACES};
constexpr const char* kGpt2[] = {GPT2};
constexpr const char* kDigitsGpt2[] = {R"(\p{N})", GPT2};
constexpr const char* kQwen2[] = {QWEN2};
constexpr const char* kQwen35[] = {
    CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" SPACES};
constexpr const char* kLaguna[] = {R"([^\n]+|[\n]+)", QWEN2};
constexpr const char* kNoContractions[] = {WORD R"(|\p{N}|)" SYMBOLS "|" SPACES};
constexpr const char* kMiniCpm5[] = {R"(\p{N}{1,3})",
                                     CONTRACTIONS "|" WORD R"(|\p{N}+|)" SYMBOLS "|" SPACES};
constexpr const char* kJais2[] = {
    CONTRACTIONS
    "|" WORD R"(|\p{N}{1,3}|)" SYMBOLS
    R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|)"
    R"(\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"};
constexpr const char* kGpt4o[] = {CASED_WORD R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES};
constexpr const char* kTekken[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES};
// \d{1,3}(?=(?:\d{3})*\b), written so that no place of a long number looks over all of its rest: a run of digits that ends at a
// word boundary, cut in threes from the right (PretokenizerSpec::threes); a run that does not is skipped as a whole.
constexpr const char* kCommandA[] = {
    R"(\d++(?:\b|(*SKIP)(*FAIL)))", CASED_WORD R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES};
constexpr const char* kSeedCoder[] = {CONTRACTIONS "|" WORD
                                                   R"(|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|)" SPACES};
constexpr const char* kBailing[] = {
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|)"
    R"(\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr const char* kExaoneMoe[] = {
    CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|)"
                 R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr const char* kBloom[] = {
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{0964}\x{06d4}\x{060c})]+)"};
constexpr const char* kViking[] = {
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{0964}\x{06d4}\x{060c})]+)", R"(\p{N})"};
constexpr const char* kFalcon[] = {R"([\p{P}\$\+<=>\^~\|`]+)", GPT2, R"([0-9][0-9][0-9])"};
constexpr const char* kDefault[] = {R"([\p{P}\$\+<=>\^~\|]+)", GPT2, R"(\p{N}+)",
                                    R"([0-9][0-9][0-9])"};

constexpr const char* kDeepSeekLlm[] = {
    R"([\r\n])",
    // Letters of the cased scripts, spelled out by the model.
    R"(\s?[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-\x{2af}\x{370}-\x{373}\x{376})"
    R"(\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f})"
    R"(\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b})"
    R"(\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57})"
    R"(\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc})"
    R"(\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113})"
    R"(\x{2115}\x{2119}-\x{211d}\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f})"
    R"(\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3})"
    R"(\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06})"
    R"(\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb})"
    R"(\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df}\x{1e900}-\x{1e943}]+)",
    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)",
    R"(\s+$)", R"([\x{4e00}-\x{9fa5}\x{0800}-\x{4e00}\x{ac00}-\x{d7ff}]+)", R"(\p{N}+)"};
constexpr const char* kDeepSeekCoder[] = {
    R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
    R"([\x{4e00}-\x{9fa5}\x{0800}-\x{4e00}\x{ac00}-\x{d7ff}]+)", R"(\p{N})"};
constexpr const char* kDeepSeekV3[] = {R"(\p{N}{1,3})", CHINESE_JAPANESE,
                                       ASCII_PUNCTUATED "|" MARKED_WORD
                                                        R"(| ?[\p{P}\p{S}]+[\r\n]*|)" SPACES};
constexpr const char* kYoutu[] = {
    R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|[\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c})"
    R"(\x{3001}-\x{303f}\x{fe30}-\x{fe4f}]+|[\x{3105}-\x{312f}]+|)" CHINESE_JAPANESE,
    CASED_WORD R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES};
constexpr const char* kLines[] = {R"([^\n]+|[\n]+)"};

constexpr PretokenizerSpec plain(std::string_view name, std::span<const char* const> patterns) {
  return {name, patterns};
}
constexpr PretokenizerSpec whole(std::string_view name, std::span<const char* const> patterns,
                                 bool add_bos = false) {
  return {name, patterns, true, add_bos};
}

constexpr PretokenizerSpec in_threes(std::string_view name, std::span<const char* const> patterns) {
  PretokenizerSpec spec{name, patterns};
  spec.threes = true;
  return spec;
}

constexpr std::array kSpecs = {
    whole("llama3", kLlama3, true),
    whole("llama-v3", kLlama3, true),
    whole("llama-bpe", kLlama3, true),
    whole("falcon3", kLlama3, true),
    whole("falcon-h1", kLlama3, true),
    whole("pixtral", kLlama3, true),
    whole("midm-2.0", kLlama3, true),
    whole("lfm2", kLlama3, true),
    whole("jina-v5-nano", kLlama3, true),
    plain("dbrx", kLlama3),
    plain("smaug-bpe", kLlama3),
    plain("chatglm-bpe", kLlama3),
    whole("glm4", kLlama3),
    whole("glm5", kLlama3),
    plain("jais-2", kJais2),
    whole("minicpm5", kMiniCpm5),
    plain("gpt-2", kGpt2),
    plain("phi-2", kGpt2),
    plain("jina-es", kGpt2),
    plain("jina-de", kGpt2),
    plain("jina-v1-en", kGpt2),
    plain("jina-v2-es", kGpt2),
    plain("jina-v2-de", kGpt2),
    plain("jina-v2-code", kGpt2),
    plain("roberta-bpe", kGpt2),
    plain("gigachat", kGpt2),
    plain("a.x-4.0", kGpt2),
    plain("mellum", kGpt2),
    plain("modern-bert", kGpt2),
    plain("exaone4", kGpt2),
    plain("mpt", kGpt2),
    plain("olmo", kGpt2),
    plain("jais", kGpt2),
    plain("trillion", kGpt2),
    plain("granite-docling", kGpt2),
    plain("smollm", kDigitsGpt2),
    plain("starcoder", kDigitsGpt2),
    plain("refact", kDigitsGpt2),
    plain("command-r", kDigitsGpt2),
    plain("codeshell", kDigitsGpt2),
    plain("exaone", kDigitsGpt2),
    plain("minerva-7b", kDigitsGpt2),
    plain("mellum2", kDigitsGpt2),
    plain("qwen2", kQwen2),
    plain("deepseek-r1-qwen", kQwen2),
    plain("stablelm2", kQwen2),
    plain("hunyuan", kQwen2),
    plain("megrez", kQwen2),
    plain("kormo", kQwen2),
    plain("f2llmv2", kQwen2),
    plain("solar-open", kQwen2),
    plain("grok-2", kQwen2),
    plain("qwen35", kQwen35),
    plain("laguna", kLaguna),
    plain("ufakzeka", kNoContractions),
    plain("gpt-4o", kGpt4o),
    plain("llama4", kGpt4o),
    plain("kanana2", kGpt4o),
    plain("talkie", kGpt4o),
    plain("minimax-m2", kGpt4o),
    whole("granite-embed-multi-97m", kGpt4o),
    whole("tekken", kTekken, true),
    in_threes("tiny_aya", kCommandA),
    in_threes("cohere2moe", kCommandA),
    plain("seed-coder", kSeedCoder),
    plain("bailingmoe", kBailing),
    plain("bailingmoe2", kBailing),
    plain("llada-moe", kBailing),
    plain("exaone-moe", kExaoneMoe),
    plain("poro-chat", kBloom),
    plain("bloom", kBloom),
    plain("gpt3-finnish", kBloom),
    plain("viking", kViking),
    plain("deepseek-llm", kDeepSeekLlm),
    plain("deepseek-coder", kDeepSeekCoder),
    plain("deepseek-v3", kDeepSeekV3),
    plain("hunyuan-dense", kDeepSeekV3),
    plain("joyai-llm", kDeepSeekV3),
    plain("hy_v4", kDeepSeekV3),
    whole("youtu", kYoutu),
    plain("falcon", kFalcon),
    plain("default", kDefault),
    PretokenizerSpec{"gemma4", kLines, false, true, true, true},
    PretokenizerSpec{"granite-embed-multi-311m", kLines, false, true, true, true},
    PretokenizerSpec{"sarvam-moe", kLines, false, false, true, false},
};

}  // namespace

const PretokenizerSpec* find_pretokenizer(std::string_view name) {
  const auto at = std::find_if(kSpecs.begin(), kSpecs.end(),
                               [&](const PretokenizerSpec& spec) { return spec.name == name; });
  return at == kSpecs.end() ? nullptr : &*at;
}

}  // namespace llmrt
