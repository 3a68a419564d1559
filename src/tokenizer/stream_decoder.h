// StreamDecoder: ids in, whole code points out. Holds back at most an unfinished code point (3 bytes); bytes that can never
// become valid UTF-8 come out as U+FFFD. Feeding ids one at a time gives the text of decoding them at once.
#pragma once

#include <string>

#include "tokenizer/tokenizer.h"

namespace llmrt {

class StreamDecoder {
 public:
  // tokenizer outlives this. at_start: the first byte begins a text, so a SentencePiece vocabulary's own leading blank is dropped;
  // false where the ids go on behind others (an answer behind its prompt): text = decode(prompt + answer) - decode(prompt).
  StreamDecoder(const Tokenizer& tokenizer, bool with_special, bool at_start = true);
  void push(Token id, std::string& out);  // appends what became whole
  void finish(std::string& out);          // end of stream: an unfinished code point becomes U+FFFD

 private:
  const Tokenizer* tokenizer_;
  bool with_special_;
  bool at_start_;
  std::string held_;
};

}  // namespace llmrt
