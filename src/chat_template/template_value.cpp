#include "chat_template/template_value.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace llmrt::jinja {

void* Arena::take(size_t size) {
  size = (size + 15) & ~size_t{15};
  used_ += size;
  if (size > left_) {
    if (size > next_chunk_ / 4) {  // large blocks stand alone, so the current chunk keeps its rest
      chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
      return chunks_.back().get();
    }
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(next_chunk_));
    at_ = chunks_.back().get();
    left_ = next_chunk_;
    if (next_chunk_ < size_t{1} << 20) next_chunk_ *= 2;
  }
  void* p = at_;
  at_ += size;
  left_ -= size;
  return p;
}

bool Text::any_input() const {
  if (!origin) return input && size > 0;
  return std::memchr(origin, 1, size) != nullptr;
}

const Text* make_text(Arena& arena, const Text& text) {
  Text* t = arena.make<Text>();
  *t = text;
  return t;
}

const Text* copy_text(Arena& arena, std::string_view bytes, bool input) {
  char* data = static_cast<char*>(arena.take(bytes.size()));
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  return make_text(arena, {data, nullptr, static_cast<uint32_t>(bytes.size()), input});
}

Value text_value(Arena& arena, const Text& text) { return Value::of_text(make_text(arena, text)); }

void List::push(Arena& arena, Value value) {
  if (size == capacity) {
    const uint32_t grown = capacity ? capacity * 2 : 4;
    Value* moved = arena.array<Value>(grown);
    if (size) std::memcpy(static_cast<void*>(moved), items, size * sizeof(Value));
    items = moved;
    capacity = grown;
  }
  items[size++] = value;
}

// --- dict

namespace {

constexpr uint32_t kMaxKeyTuple = 16;

// wyhash's folded multiply.
uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t hash_bytes(std::string_view s, uint64_t seed) {
  uint64_t h = seed ^ s.size();
  size_t i = 0;
  for (; i + 8 <= s.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, s.data() + i, 8);
    h = mix(h, word);
  }
  uint64_t rest = 0;
  if (i < s.size()) std::memcpy(&rest, s.data() + i, s.size() - i);
  return mix(h, rest);
}

// Equal values hash alike: 1, 1.0 and True are one key.
uint64_t hash_of(const Value& v, uint64_t seed) {
  switch (v.kind) {
    case Kind::text:
    case Kind::big_integer:
      return hash_bytes(v.text->view(), seed);
    case Kind::boolean:
    case Kind::integer:
      return mix(seed, static_cast<uint64_t>(v.as_int()));
    case Kind::real:
      if (v.real == std::floor(v.real) && std::fabs(v.real) < 9e18)
        return mix(seed, static_cast<uint64_t>(static_cast<int64_t>(v.real)));
      return mix(seed, std::bit_cast<uint64_t>(v.real));
    case Kind::tuple: {
      uint64_t h = seed;
      for (const Value& item : *v.list) h = hash_of(item, h);  // flat and short: is_hashable
      return h;
    }
    default:
      return mix(seed, static_cast<uint64_t>(v.kind));
  }
}

}  // namespace

bool is_hashable(const Value& value) {
  switch (value.kind) {
    case Kind::list:
    case Kind::dict:
    case Kind::dict_view:
      return false;
    case Kind::tuple:
      if (value.list->size > kMaxKeyTuple) return false;
      for (const Value& item : *value.list)
        if (item.is(Kind::tuple) || !is_hashable(item)) return false;
      return true;
    default:
      return true;
  }
}

uint64_t Dict::hash(const Value& key) const {
  return hash_of(key, reinterpret_cast<uintptr_t>(this));
}

uint32_t Dict::find_entry(const Value& key) const {
  Comparison keys;
  if (n_slots == 0) {
    for (uint32_t i = 0; i < size; ++i)
      if (keys.equal(entries[i].key, key)) return i;
    return size;
  }
  for (uint64_t h = hash(key);; ++h) {
    const uint32_t slot = slots[h & (n_slots - 1)];
    if (slot == 0) return size;
    if (keys.equal(entries[slot - 1].key, key)) return slot - 1;
  }
}

const Value* Dict::find(const Value& key) const {
  const uint32_t i = find_entry(key);
  return i < size ? &entries[i].value : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (n_slots == 0) {
    for (uint32_t i = 0; i < size; ++i)
      if (entries[i].key.is_text() && entries[i].key.text->view() == key) return &entries[i].value;
    return nullptr;
  }
  const Text text{key.data(), nullptr, static_cast<uint32_t>(key.size()), false};
  return find(Value::of_text(&text));
}

void Dict::rebuild_index(Arena& arena, uint32_t n_slots_wanted) {
  if (n_slots_wanted != n_slots) {
    slots = arena.array<uint32_t>(n_slots_wanted);
    n_slots = n_slots_wanted;
  }
  std::memset(slots, 0, n_slots * sizeof(uint32_t));
  for (uint32_t i = 0; i < size; ++i) {
    uint64_t h = hash(entries[i].key);
    while (slots[h & (n_slots - 1)] != 0) ++h;
    slots[h & (n_slots - 1)] = i + 1;
  }
}

void Dict::set(Arena& arena, Value key, Value value) {
  const uint32_t i = find_entry(key);
  if (i < size) {
    entries[i].value = value;
    return;
  }
  if (size == capacity) {
    const uint32_t grown = capacity ? capacity * 2 : 4;
    Entry* moved = arena.array<Entry>(grown);
    if (size) std::memcpy(static_cast<void*>(moved), entries, size * sizeof(Entry));
    entries = moved;
    capacity = grown;
  }
  entries[size++] = {key, value};
  if (size < kIndexFrom) return;
  if (n_slots < 2 * size) {
    rebuild_index(arena, std::bit_ceil(size) * 4);
  } else {
    uint64_t h = hash(key);
    while (slots[h & (n_slots - 1)] != 0) ++h;
    slots[h & (n_slots - 1)] = size;
  }
}

bool Dict::remove(Arena& arena, const Value& key, Value* value) {
  const uint32_t i = find_entry(key);
  if (i == size) return false;
  *value = entries[i].value;
  std::memmove(static_cast<void*>(entries + i), entries + i + 1, (size - i - 1) * sizeof(Entry));
  --size;
  if (n_slots) rebuild_index(arena, n_slots);
  return true;
}

// --- iteration

bool Iterator::over(const Value& value, Iterator* out) {
  switch (value.kind) {
    case Kind::undefined:
    case Kind::text:
    case Kind::list:
    case Kind::tuple:
    case Kind::generator:
    case Kind::dict:
    case Kind::dict_view:
    case Kind::range:
      break;
    default:
      return false;
  }
  out->source_ = value;
  out->position_ = 0;
  return true;
}

bool Iterator::next(Arena& arena, Value* out) {
  switch (source_.kind) {
    case Kind::text: {
      const Text& t = *source_.text;
      if (position_ >= t.size) return false;
      const auto at = static_cast<size_t>(position_);
      const uint32_t n = utf8_length(t.data[at]);
      *out = text_value(arena, t.slice(at, n));
      position_ += n;
      return true;
    }
    case Kind::list:
    case Kind::tuple:
      if (position_ >= source_.list->size) return false;
      *out = source_.list->items[position_++];
      return true;
    case Kind::generator: {
      Generator& g = *source_.generator;
      if (g.next >= g.items.size) return false;
      *out = g.items.items[g.next++];
      return true;
    }
    case Kind::dict:
      if (position_ >= source_.dict->size) return false;
      *out = source_.dict->entries[position_++].key;
      return true;
    case Kind::dict_view: {
      const DictView& view = *source_.view;
      if (position_ >= view.dict->size) return false;
      const Dict::Entry& e = view.dict->entries[position_++];
      if (view.what == DictView::What::items) {
        List* pair = arena.make<List>();
        pair->push(arena, e.key);
        pair->push(arena, e.value);
        *out = Value::of_list(pair, Kind::tuple);
      } else {
        *out = view.what == DictView::What::keys ? e.key : e.value;
      }
      return true;
    }
    case Kind::range: {
      const Range& r = *source_.range;
      if (position_ >= r.size) return false;
      *out = Value::of_int(r.start + position_++ * r.step);
      return true;
    }
    default:
      return false;
  }
}

// --- Python's view of a value

bool truthy(const Value& v) {
  switch (v.kind) {
    case Kind::unbound:
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
      return v.boolean;
    case Kind::integer:
      return v.integer != 0;
    case Kind::real:
      return v.real != 0;
    case Kind::text:
      return v.text->size > 0;
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
    case Kind::dict_view:
    case Kind::range:
      return length_of(v) > 0;
    case Kind::big_integer:
    case Kind::generator:
    case Kind::name_space:
    case Kind::loop:
    case Kind::function:
      return true;
  }
  return true;
}

int64_t length_of(const Value& v) {
  switch (v.kind) {
    case Kind::undefined:
      return 0;
    case Kind::text: {
      int64_t n = 0;
      for (const char c : v.text->view()) n += !is_continuation(c);
      return n;
    }
    case Kind::list:
    case Kind::tuple:
      return v.list->size;
    case Kind::dict:
      return v.dict->size;
    case Kind::dict_view:
      return v.view->dict->size;
    case Kind::range:
      return v.range->size;
    default:
      return -1;
  }
}

const char* type_name(const Value& v) {
  switch (v.kind) {
    case Kind::unbound:
    case Kind::undefined:
      return "undefined";
    case Kind::none:
      return "None";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
    case Kind::big_integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::text:
      return "str";
    case Kind::list:
      return "list";
    case Kind::tuple:
      return "tuple";
    case Kind::generator:
      return "generator";
    case Kind::dict:
      return "dict";
    case Kind::dict_view:
      return "dict view";
    case Kind::range:
      return "range";
    case Kind::name_space:
      return "namespace";
    case Kind::loop:
      return "loop";
    case Kind::function:
      return "function";
  }
  return "value";
}

}  // namespace llmrt::jinja
