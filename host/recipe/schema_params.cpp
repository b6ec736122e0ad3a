#include "recipe/schema.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>

namespace gh::host {
namespace {

// One parameter in the form in which a component reads it.
struct Stored {
  gh_param_kind kind;
  bool present = false;
  Value value;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string_view> texts;  // into `value`
  std::unique_ptr<Params> table;
};

class ResolvedParams final : public Params {
 public:
  ResolvedParams(const Schema& schema, const Table& resolved) {
    for (const ParamSpec& spec : schema) {
      // A map: its nodes stay where they are, so views into them do too.
      Stored& to = stored_[spec.name];
      to.kind = spec.kind;
      const Value* value = resolved.find(spec.name);
      if (!value) continue;
      to.present = true;
      to.value = *value;
      if (spec.kind == GH_PARAM_TABLE)
        to.table = make_params(spec.fields, require_kind<Table>(spec.name, to));
      if (const Array* list = to.value.as<Array>()) unpack(*list, to);
    }
  }

  bool has(std::string_view name) const override { return declared(name).present; }
  bool boolean(std::string_view name) const override {
    return require_kind<bool>(name, get(name, {GH_PARAM_BOOL}));
  }
  int64_t integer(std::string_view name) const override {
    return require_kind<int64_t>(name, get(name, {GH_PARAM_INT}));
  }
  double real(std::string_view name) const override {
    return require_kind<double>(name, get(name, {GH_PARAM_FLOAT}));
  }
  std::string_view text(std::string_view name) const override {
    return require_kind<std::string>(name,
                                     get(name, {GH_PARAM_STRING, GH_PARAM_CHOICE, GH_PARAM_PATH}));
  }
  std::span<const int64_t> integers(std::string_view name) const override {
    return get(name, {GH_PARAM_INT_LIST}).integers;
  }
  std::span<const double> reals(std::string_view name) const override {
    return get(name, {GH_PARAM_FLOAT_LIST}).reals;
  }
  std::span<const std::string_view> texts(std::string_view name) const override {
    return get(name, {GH_PARAM_STRING_LIST, GH_PARAM_PATH_LIST}).texts;
  }
  const Params& table(std::string_view name) const override {
    return *get(name, {GH_PARAM_TABLE}).table;
  }

 private:
  static void unpack(const Array& list, Stored& to) {
    for (const Value& element : list) {
      if (const int64_t* v = element.as<int64_t>()) to.integers.push_back(*v);
      if (const double* v = element.as<double>()) to.reals.push_back(*v);
      if (const std::string* v = element.as<std::string>()) to.texts.push_back(*v);
    }
  }

  // The kinds agree in every table that apply_schema() returned.
  template <class T>
  static const T& require_kind(std::string_view name, const Stored& from) {
    const T* value = from.value.as<T>();
    require(value, ErrorCode::internal, "parameter '", name, "' holds ", kind_of(from.value));
    return *value;
  }

  const Stored& declared(std::string_view name) const {
    const auto found = stored_.find(name);
    require(found != stored_.end(), ErrorCode::internal, "parameter '", name, "' is not declared");
    return found->second;
  }

  const Stored& get(std::string_view name, std::initializer_list<gh_param_kind> kinds) const {
    const Stored& found = declared(name);
    const bool fits = std::find(kinds.begin(), kinds.end(), found.kind) != kinds.end();
    require(fits, ErrorCode::internal, "parameter '", name, "' is declared as another kind");
    require(found.present, ErrorCode::internal, "optional parameter '", name,
            "' is absent; ask has() first");
    return found;
  }

  std::map<std::string, Stored, std::less<>> stored_;
};

}  // namespace

std::unique_ptr<Params> make_params(const Schema& schema, const Table& resolved) {
  return std::make_unique<ResolvedParams>(schema, resolved);
}

}  // namespace gh::host
