#include "recipe_fixture.hpp"

using namespace gh::host;
using namespace gh::host::test;

namespace {
constexpr gh::Param kInner[] = {gh::integer("depth", "3", "")};
constexpr gh::Param kAll[] = {
    gh::boolean("flag", "true", ""),
    gh::integer("count", "4", ""),
    gh::real("rate", "2", ""),
    gh::text("label", "\"a b\"", ""),
    gh::choice("law", "exp", "exp|step", ""),
    gh::path("root", "/tmp/../data", ""),
    gh::integers("sizes", "[1, 2]", ""),
    gh::reals("rates", "[1, 0.5]", ""),
    gh::texts("words", "[\"x\", \"yy\"]", ""),
    gh::table("inner", "{}", "", kInner),
    gh::real("maybe", nullptr, "").optional(),
};

gh::ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const gh::Error& error) {
    return error.code();
  }
  FAIL("nothing was thrown");
  return {};
}
}  // namespace

TEST_CASE("a component reads what the recipe resolved to") {
  const Schema schema = read_schema(kAll);
  Diagnostics out;
  auto params = [&] {
    // The table is gone afterwards: the parameters keep their own copy.
    const Table resolved = apply_schema(schema, {}, {}, "t", {}, out);
    return make_params(schema, resolved);
  }();
  REQUIRE_FALSE(out.has_errors());
  CHECK(params->boolean("flag"));
  CHECK(params->integer("count") == 4);
  CHECK(params->real("rate") == 2.0);
  CHECK(params->text("label") == "a b");
  CHECK(params->text("law") == "exp");
  CHECK(params->text("root") == "/data");
  CHECK(std::vector<int64_t>(params->integers("sizes").begin(), params->integers("sizes").end()) ==
        std::vector<int64_t>{1, 2});
  CHECK(params->reals("rates")[0] == 1.0);
  CHECK(params->reals("rates")[1] == 0.5);
  CHECK(params->texts("words")[1] == "yy");
  CHECK(params->table("inner").integer("depth") == 3);
  CHECK(params->has("flag"));
  CHECK_FALSE(params->has("maybe"));
}

TEST_CASE("asking for what the schema does not declare is a bug, and says so") {
  const Schema schema = read_schema(kAll);
  Diagnostics out;
  const auto params = make_params(schema, apply_schema(schema, {}, {}, "t", {}, out));
  CHECK(code_of([&] { params->integer("nothing"); }) == gh::ErrorCode::internal);
  CHECK(code_of([&] { params->has("nothing"); }) == gh::ErrorCode::internal);
  CHECK(code_of([&] { params->integer("rate"); }) == gh::ErrorCode::internal);
  CHECK(code_of([&] { params->real("count"); }) == gh::ErrorCode::internal);
  CHECK(code_of([&] { params->texts("label"); }) == gh::ErrorCode::internal);
  CHECK(code_of([&] { params->table("flag"); }) == gh::ErrorCode::internal);
  CHECK(code_of([&] { params->real("maybe"); }) == gh::ErrorCode::internal);
}
