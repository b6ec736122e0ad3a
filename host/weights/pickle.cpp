#include "weights/pickle.hpp"

#include "gh/error.hpp"
#include "text/plain_text.hpp"

#include <bit>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace gh::host {
namespace {

static_assert(std::endian::native == std::endian::little, "pickle's numbers are little-endian");

using Kind = PickleValue::Kind;

// What the values beside the tensors may take. A checkpoint has a few of them a tensor; a pickle
// made to harm can ask for many bytes with each of its own.
constexpr uint64_t kMemory = 1u << 30;

bool is_dict_class(std::string_view name) {
  return name == "collections.OrderedDict" || name == "collections.defaultdict";
}

class Machine {
 public:
  Machine(std::string_view bytes, const std::string& source) : rest_(bytes), source_(source) {}

  Pickle run() {
    for (;;) {
      const unsigned char code = static_cast<unsigned char>(take(1)[0]);
      if (code == '.') break;
      if (!number_or_text(code) && !container(code) && !memory(code) && !object(code)) {
        char shown[8];
        std::snprintf(shown, sizeof shown, "0x%02x", code);
        fail(ErrorCode::unsupported, source_, ": pickle operation ", shown,
             " is not one of protocols 2 to 5; the file is damaged, or save it again with the "
             "default protocol");
      }
    }
    out_.root = pop();
    return std::move(out_);
  }

 private:
  // --- bytes

  std::string_view take(uint64_t size) {
    require(size <= rest_.size(), ErrorCode::io, source_, ": the pickle ends early");
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

  template <class T>
  T take_number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  std::string_view take_line() {
    const std::size_t end = rest_.find('\n');
    require(end != std::string_view::npos, ErrorCode::io, source_, ": the pickle ends early");
    const std::string_view line = take(end + 1);
    return line.substr(0, line.size() - 1);
  }

  // --- stack

  void spend(uint64_t bytes) {
    spent_ += bytes;
    require(spent_ <= kMemory, ErrorCode::unsupported, source_,
            ": too much beside the tensors; save only the weights");
  }

  void place(PickleValue* value) {
    spend(sizeof value);
    stack_.push_back(value);
  }

  PickleValue& push(Kind kind) {
    spend(sizeof(PickleValue));
    PickleValue& value = out_.values.emplace_back();
    value.kind = kind;
    place(&value);
    return value;
  }

  void push_text(Kind kind, std::string_view text) {
    spend(text.size());
    push(kind).text = text;
  }

  void push_items(Kind kind, std::string_view text, std::vector<const PickleValue*> items) {
    spend(text.size() + items.size() * sizeof(items[0]));
    PickleValue& value = push(kind);
    value.text = text;
    value.items = std::move(items);
  }

  PickleValue* pop() {
    // What lies under a mark belongs to another container.
    require(stack_.size() > (marks_.empty() ? 0 : marks_.back()), ErrorCode::io, source_,
            ": damaged pickle, its stack is empty");
    PickleValue* value = stack_.back();
    stack_.pop_back();
    return value;
  }

  PickleValue* top() {
    PickleValue* value = pop();
    stack_.push_back(value);
    return value;
  }

  std::vector<const PickleValue*> pop_to_mark() {
    require(!marks_.empty(), ErrorCode::io, source_, ": damaged pickle, a mark is missing");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    const std::vector<const PickleValue*> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }

  // Values of one or several operations are added to the container below them.
  void extend(Kind kind, const std::vector<const PickleValue*>& items) {
    PickleValue* target = top();
    if (target->kind == Kind::opaque || target->kind == Kind::call) return;
    require(target->kind == kind, ErrorCode::io, source_,
            ": damaged pickle, items for something that takes none");
    require(kind != Kind::dict || items.size() % 2 == 0, ErrorCode::io, source_,
            ": damaged pickle, a key without value");
    spend(items.size() * sizeof(items[0]));
    target->items.insert(target->items.end(), items.begin(), items.end());
  }

  // --- operations, by family; false when `code` belongs to another

  // clang-format off
  bool number_or_text(unsigned char code) {
    switch (code) {
      case 'N': push(Kind::none); return true;
      case 0x88: push(Kind::integer).number = 1; return true;
      case 0x89: push(Kind::integer).number = 0; return true;
      case 'J': push(Kind::integer).number = take_number<int32_t>(); return true;
      case 'K': push(Kind::integer).number = take_number<uint8_t>(); return true;
      case 'M': push(Kind::integer).number = take_number<uint16_t>(); return true;
      case 0x8a: long_integer(take_number<uint8_t>()); return true;
      case 0x8b: long_integer(take_number<uint32_t>()); return true;
      case 'G': take(8), push(Kind::real); return true;
      case 'X': text(take(take_number<uint32_t>())); return true;
      case 0x8c: text(take(take_number<uint8_t>())); return true;
      case 0x8d: text(take(take_number<uint64_t>())); return true;
      // Python 2 wrote its names as byte strings.
      case 'T': text(take(take_number<uint32_t>())); return true;
      case 'U': text(take(take_number<uint8_t>())); return true;
      case 'B': take(take_number<uint32_t>()), push(Kind::bytes); return true;
      case 'C': take(take_number<uint8_t>()), push(Kind::bytes); return true;
      case 0x8e:
      case 0x96: take(take_number<uint64_t>()), push(Kind::bytes); return true;
      default: return false;
    }
  }
  // clang-format on

  // Names go into messages and JSON; other strings are nobody's name.
  void text(std::string_view value) {
    if (is_plain_text(value))
      push_text(Kind::text, value);
    else
      push(Kind::bytes);
  }

  void long_integer(uint64_t size) {
    const std::string_view digits = take(size);
    if (size > 8) {  // no size or offset of a tensor
      push_text(Kind::opaque, "int");
      return;
    }
    const bool negative = size > 0 && (static_cast<unsigned char>(digits.back()) & 0x80) != 0;
    int64_t value = negative ? -1 : 0;
    std::memcpy(&value, digits.data(), size);
    push(Kind::integer).number = value;
  }

  // clang-format off
  bool container(unsigned char code) {
    switch (code) {
      case '(': marks_.push_back(stack_.size()); return true;
      case ')': push(Kind::tuple); return true;
      case ']': push(Kind::list); return true;
      case '}': push(Kind::dict); return true;
      case 0x8f: push_text(Kind::opaque, "set"); return true;
      case 't': push_items(Kind::tuple, {}, pop_to_mark()); return true;
      case 0x85: push_items(Kind::tuple, {}, popped(1)); return true;
      case 0x86: push_items(Kind::tuple, {}, popped(2)); return true;
      case 0x87: push_items(Kind::tuple, {}, popped(3)); return true;
      case 'a': extend(Kind::list, popped(1)); return true;
      case 'e': extend(Kind::list, pop_to_mark()); return true;
      case 's': extend(Kind::dict, popped(2)); return true;
      case 'u': extend(Kind::dict, pop_to_mark()); return true;
      case 0x90: pop_to_mark(); return true;  // into a set
      case 0x91: pop_to_mark(), push_text(Kind::opaque, "frozenset"); return true;
      default: return false;
    }
  }
  // clang-format on

  std::vector<const PickleValue*> popped(std::size_t count) {
    std::vector<const PickleValue*> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }

  // clang-format off
  bool memory(unsigned char code) {
    switch (code) {
      case 0x80: take(1); return true;  // protocol number
      case 0x95: take(8); return true;  // frame length
      case '0':
        if (!marks_.empty() && marks_.back() == stack_.size())
          marks_.pop_back();
        else
          pop();
        return true;
      case '1': pop_to_mark(); return true;
      case '2': place(top()); return true;
      case 'q': remember(take_number<uint8_t>()); return true;
      case 'r': remember(take_number<uint32_t>()); return true;
      case 0x94: remember(memo_.size()); return true;
      case 'h': recall(take_number<uint8_t>()); return true;
      case 'j': recall(take_number<uint32_t>()); return true;
      default: return false;
    }
  }
  // clang-format on

  void remember(uint64_t index) {
    spend(4 * sizeof index);
    memo_[index] = top();
  }

  void recall(uint64_t index) {
    const auto found = memo_.find(index);
    require(found != memo_.end(), ErrorCode::io, source_,
            ": damaged pickle, it refers to something it never wrote");
    place(found->second);
  }

  bool object(unsigned char code) {
    switch (code) {
      case 'c': {
        const std::string_view module = take_line(), name = take_line();
        global(module, name);
        return true;
      }
      case 0x93: {
        const PickleValue *name = pop(), *module = pop();
        require(name->kind == Kind::text && module->kind == Kind::text, ErrorCode::io, source_,
                ": damaged pickle, a class without a name");
        global(module->text, name->text);
        return true;
      }
      case 'Q': {
        const PickleValue* id = pop();
        push_items(Kind::persistent, {}, {id});
        return true;
      }
      case 'R': {
        const PickleValue *arguments = pop(), *function = pop();
        call(*function, *arguments);
        return true;
      }
      case 0x81:
        pop(), instance(*pop());
        return true;
      case 0x92:
        pop(), pop(), instance(*pop());
        return true;
      // Attributes of an object; a state dict has the versions of its modules there.
      case 'b':
        pop(), top();
        return true;
      default:
        return false;
    }
  }

  void global(std::string_view module, std::string_view name) {
    require(is_plain_text(module) && is_plain_text(name), ErrorCode::io, source_,
            ": damaged pickle, a class without a name");
    push_text(Kind::global, std::string(module).append(".").append(name));
  }

  void instance(const PickleValue& of_class) { push_text(Kind::opaque, of_class.text); }

  void call(const PickleValue& function, const PickleValue& arguments) {
    if (function.kind != Kind::global || arguments.kind != Kind::tuple) {
      push_text(Kind::opaque, function.text);
      return;
    }
    if (!is_dict_class(function.text)) {
      push_items(Kind::call, function.text, arguments.items);
      return;
    }
    // Python 2 handed an OrderedDict its content as a list of pairs.
    std::vector<const PickleValue*> content;
    if (arguments.items.size() == 1 && arguments.items[0]->kind == Kind::list)
      for (const PickleValue* pair : arguments.items[0]->items)
        if (pair->items.size() == 2)
          content.insert(content.end(), pair->items.begin(), pair->items.end());
    push_items(Kind::dict, {}, std::move(content));
  }

  std::string_view rest_;
  const std::string& source_;
  Pickle out_;
  uint64_t spent_ = 0;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<uint64_t, PickleValue*> memo_;
};

}  // namespace

const PickleValue* PickleValue::find(std::string_view key) const {
  if (kind != Kind::dict) return nullptr;
  for (std::size_t i = items.size(); i >= 2; i -= 2)
    if (items[i - 2]->kind == Kind::text && items[i - 2]->text == key) return items[i - 1];
  return nullptr;
}

Pickle read_pickle(std::string_view bytes, const std::string& source) {
  return Machine(bytes, source).run();
}

}  // namespace gh::host
