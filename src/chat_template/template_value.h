// Values of the template language, and the memory they live in.
//
// A render owns one Arena; every value, list and text made while rendering lies in it and is freed with it, so values are
// plain 16-byte words that are copied freely and never owned:
//
//   Value { kind, input, payload }      scalars inline; everything else points into the arena or into the parsed template
//   Text  { bytes, size, origin }       immutable UTF-8; a slice shares the bytes
//
// Origin: each byte is trusted (the template's own) or input (it came from messages, tools or kwargs).
//   origin == nullptr  =>  all bytes have the origin `input`;  otherwise origin[i] == 1  <=>  byte i is input.
// Scalars carry the same flag, so a number of a message prints as input.
//
// Containers have Python's reference semantics: two values may share one List or Dict (list.append, dict.pop).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace llmrt::jinja {

// Bump allocator with a soft limit. take() may pass the limit (by one fixed-size object at most: sizes that come from a
// template or an input are asked for with room_for() first); the evaluator looks at over_limit() on every step.
class Arena {
 public:
  explicit Arena(size_t limit) : limit_(limit) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* take(size_t size);  // 16-byte aligned, not zeroed; throws bad_alloc as operator new does
  template <class T>
  T* make() {
    return new (take(sizeof(T))) T();
  }
  template <class T>
  T* array(size_t n) {
    return new (take(n * sizeof(T))) T[n];
  }
  bool room_for(size_t size) const { return size <= limit_ && used_ <= limit_ - size; }
  bool over_limit() const { return used_ > limit_; }
  size_t room() const { return used_ < limit_ ? limit_ - used_ : 0; }

 private:
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* at_ = nullptr;
  size_t left_ = 0;
  size_t used_ = 0;
  size_t limit_;
  size_t next_chunk_ = size_t{16} << 10;
};

struct Text {
  const char* data = "";
  const uint8_t* origin = nullptr;
  uint32_t size = 0;
  bool input = false;

  std::string_view view() const { return {data, size}; }
  bool is_input(size_t i) const { return origin ? origin[i] != 0 : input; }
  bool any_input() const;
  Text slice(size_t begin, size_t length) const {
    return {data + begin, origin ? origin + begin : nullptr, static_cast<uint32_t>(length), input};
  }
};

enum class Kind : uint8_t {
  unbound,    // a name without a value; never leaves the scopes
  undefined,  // Undefined: prints as nothing, is false, iterates as empty
  none,
  boolean,
  integer,
  real,
  big_integer,  // an integer of the input beyond 64 bits: printed digit by digit, no arithmetic
  text,
  list,
  tuple,
  generator,  // what a lazy filter gives: iterates once, has no length
  dict,
  dict_view,
  range,
  name_space,
  loop,
  function,
};

struct List;
struct Dict;
struct Generator;
struct DictView;
struct Range;
struct Loop;
struct Function;

struct Value {
  Kind kind = Kind::unbound;
  bool input = false;  // origin of a scalar
  union {
    bool boolean;
    int64_t integer;
    double real;
    // text, big_integer; of undefined: what is undefined ("'x' is undefined"), or nullptr
    const Text* text;
    List* list;  // list, tuple
    Generator* generator;
    Dict* dict;  // dict, name_space
    DictView* view;
    const Range* range;
    Loop* loop;
    const Function* function;
  };

  Value() : integer(0) {}
  static Value of_none() { return scalar(Kind::none, 0); }
  static Value of_bool(bool b) {
    Value v = scalar(Kind::boolean, 0);
    v.boolean = b;
    return v;
  }
  static Value of_int(int64_t i) { return scalar(Kind::integer, i); }
  static Value of_real(double d) {
    Value v = scalar(Kind::real, 0);
    v.real = d;
    return v;
  }
  static Value of_text(const Text* t) {
    Value v = scalar(Kind::text, 0);
    v.text = t;
    return v;
  }
  static Value of_list(List* l, Kind kind = Kind::list) {
    Value v = scalar(kind, 0);
    v.list = l;
    return v;
  }
  static Value of_dict(Dict* d, Kind kind = Kind::dict) {
    Value v = scalar(kind, 0);
    v.dict = d;
    return v;
  }
  static Value undefined(const Text* what = nullptr) {
    Value v = scalar(Kind::undefined, 0);
    v.text = what;
    return v;
  }

  bool is(Kind k) const { return kind == k; }
  bool is_text() const { return kind == Kind::text; }
  bool is_sequence() const { return kind == Kind::list || kind == Kind::tuple; }
  bool is_integral() const {
    return kind == Kind::integer || kind == Kind::boolean;
  }  // bool is an int, as in Python
  bool is_number() const { return is_integral() || kind == Kind::real; }
  int64_t as_int() const { return kind == Kind::boolean ? (boolean ? 1 : 0) : integer; }
  double as_real() const { return kind == Kind::real ? real : static_cast<double>(as_int()); }

 private:
  static Value scalar(Kind kind, int64_t bits) {
    Value v;
    v.kind = kind;
    v.integer = bits;
    return v;
  }
};
static_assert(sizeof(Value) == 16);

struct List {
  Value* items = nullptr;
  uint32_t size = 0;
  uint32_t capacity = 0;
  bool is_group = false;  // groupby's pair: has the attributes grouper and list

  void push(Arena& arena, Value value);
  const Value* begin() const { return items; }
  const Value* end() const { return items + size; }
};

// Insertion-ordered. entries[0 .. size) in order; from kIndexFrom entries on, an open-addressing table maps a key's hash to its
// entry: slots[h & mask] == entry + 1, 0 = free.
struct Dict {
  struct Entry {
    Value key, value;
  };
  static constexpr uint32_t kIndexFrom = 12;

  Entry* entries = nullptr;
  uint32_t size = 0;
  uint32_t capacity = 0;
  uint32_t* slots = nullptr;
  uint32_t n_slots = 0;

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Arena& arena, Value key, Value value);  // keeps the place of a known key
  bool remove(Arena& arena, const Value& key, Value* value);

 private:
  void rebuild_index(Arena& arena, uint32_t n_slots_wanted);
  uint32_t find_entry(const Value& key) const;  // size if none
  // seeded by the address: texts of an input cannot be made to collide
  uint64_t hash(const Value& key) const;
};

struct Generator {
  List items;
  uint32_t next = 0;
};
struct DictView {
  enum class What : uint8_t { keys, values, items } what = What::keys;
  Dict* dict = nullptr;
};
struct Range {
  int64_t start = 0, stop = 0, step = 1;
  int64_t size = 0;
};

// A walk over anything Python would iterate. Containers may change under it: positions are checked at each step.
class Iterator {
 public:
  // False if the value cannot be iterated.
  static bool over(const Value& value, Iterator* out);
  bool next(Arena& arena, Value* out);

 private:
  Value source_;
  int64_t position_ = 0;
};

// Keys of dicts: scalars, texts and short tuples of them.
bool is_hashable(const Value& value);
bool truthy(const Value& value);
// Python's len(); -1 if the value has none. Reads a whole text (it counts code points).
int64_t length_of(const Value& value);

// Python's == and < over values of any depth. Shared lists can make a value exponentially larger than its memory, so the work is
// counted; once it passes kMaxWork (or containers nest past kMaxDepth) the answer means nothing and exhausted() is true.
class Comparison {
 public:
  static constexpr uint64_t kMaxWork = 4'000'000;
  static constexpr uint32_t kMaxDepth = 100;
  static constexpr int kUnordered = 2;  // Python raises TypeError
  static constexpr int kNaN = 3;        // every order is false

  bool equal(const Value& a, const Value& b, uint32_t depth = 0);
  int compare(const Value& a, const Value& b, uint32_t depth = 0);  // -1, 0, 1 or one of the above
  uint64_t work() const { return work_; }
  bool exhausted() const { return work_ > kMaxWork; }

 private:
  bool equal_lists(const List& a, const List& b, uint32_t depth);
  bool equal_dicts(const Dict& a, const Dict& b, uint32_t depth);
  uint64_t work_ = 0;
};

// "int", "str", "dict": the type's name in Python, for messages.
const char* type_name(const Value& value);

const Text* make_text(Arena& arena, const Text& text);
// Copies the bytes. size is below 4 GiB (callers asked room_for).
const Text* copy_text(Arena& arena, std::string_view bytes, bool input);
Value text_value(Arena& arena, const Text& text);

}  // namespace llmrt::jinja
