// Rules across the tables of a recipe.
#include "recipe/host_tables.hpp"
#include "recipe/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gh::host {
namespace {

template <class T>
const T* get(const Table& resolved, std::string_view path) {
  const Value* value = find_path(resolved, path);
  return value ? value->as<T>() : nullptr;
}

void gh_starts_before_the_end(const Table& resolved, Diagnostics& out) {
  const int64_t* warm_up = get<int64_t>(resolved, "harmonize.warm_up");
  const int64_t* epochs = get<int64_t>(resolved, "train.epochs");
  if (!warm_up || !epochs || *warm_up < *epochs) return;
  out.error(locate(resolved, "harmonize.warm_up"), "harmonize.warm_up",
            fmt::format("expected less than train.epochs = {}, got {}: GH would never start",
                        *epochs, *warm_up));
}

void two_stages_need_gh(const Table& resolved, Diagnostics& out) {
  const std::string* id = get<std::string>(resolved, "train.schedule.id");
  if (!id || *id != "gh-two-stage" || resolved.find("harmonize")) return;
  out.error(locate(resolved, "train.schedule.id"), "train.schedule.id",
            "schedule \"gh-two-stage\" needs the table [harmonize], which is absent");
}

void nesterov_needs_momentum(const Table& resolved, Diagnostics& out) {
  const bool* nesterov = get<bool>(resolved, "train.optimizer.nesterov");
  const double* momentum = get<double>(resolved, "train.optimizer.momentum");
  if (!nesterov || !*nesterov || !momentum || *momentum > 0) return;
  out.error(locate(resolved, "train.optimizer.nesterov"), "train.optimizer.nesterov",
            "needs momentum above 0, got 0");
}

void moments_of_evaluation_happen(const Table& resolved, Diagnostics& out) {
  const Array* evals = get<Array>(resolved, "eval");
  const int64_t* warm_up = get<int64_t>(resolved, "harmonize.warm_up");
  const bool gh = resolved.find("harmonize");
  for (std::size_t i = 0; evals && i < evals->size(); ++i) {
    const std::string key = fmt::format("eval.{}.when", i);
    const Array* when = get<Array>(resolved, key);
    if (!when) continue;
    const int64_t* every = get<int64_t>(resolved, fmt::format("eval.{}.every", i));
    if (when->empty() && every && *every == 0)
      out.error(locate(resolved, key), key,
                "names no moment, and every is 0, so it would never run");
    std::vector<std::string> seen;
    for (const Value& moment : *when) {
      const std::string& text = *moment.as<std::string>();
      if (std::count(seen.begin(), seen.end(), text))
        out.error(moment.source, key, fmt::format("names \"{}\" twice", text));
      seen.push_back(text);
      if (text != "warm-up") continue;
      if (!gh)
        out.error(moment.source, key, "\"warm-up\" needs the table [harmonize], which is absent");
      else if (warm_up && *warm_up < 1)
        out.error(moment.source, key, "\"warm-up\" needs harmonize.warm_up of at least 1, got 0");
    }
  }
}

// Calls `check` with path and table of every view group and of what evaluators see.
template <class Check>
void for_each_view(const Table& resolved, Check check) {
  const Array* groups = get<Array>(resolved, "views.group");
  for (std::size_t i = 0; groups && i < groups->size(); ++i)
    if (const Table* group = (*groups)[i].as<Table>())
      check(fmt::format("views.group.{}", i), *group);
  if (const Table* plain = get<Table>(resolved, "views.plain")) check("views.plain", *plain);
}

void there_are_views(const Table& resolved, Diagnostics& out) {
  const Array* groups = get<Array>(resolved, "views.group");
  if (groups && groups->empty())
    out.error(locate(resolved, "views.group"), "views.group", "there are no views");
}

void lists_of_views_have_their_length(const Table& resolved, Diagnostics& out) {
  struct Length {
    const char* key;
    std::size_t length;
  };
  constexpr Length kLengths[] = {{"crop.scale", 2},     {"crop.ratio", 2},  {"blur.sigma", 2},
                                 {"boost.strength", 2}, {"cutout.fill", 3}, {"normalize.mean", 3},
                                 {"normalize.std", 3}};
  for_each_view(resolved, [&](const std::string& path, const Table&) {
    for (const auto& [key, length] : kLengths) {
      const std::string full = join_path(path, key);
      const Array* list = get<Array>(resolved, full);
      if (!list) continue;
      if (list->size() != length) {
        out.error(locate(resolved, full), full,
                  fmt::format("expected {} numbers, got {}", length, list->size()));
      } else if (length == 2) {
        const double *low = (*list)[0].as<double>(), *high = (*list)[1].as<double>();
        if (low && high && *low > *high)
          out.error(
              locate(resolved, full), full,
              fmt::format("the first must not exceed the second, got {} and {}", *low, *high));
      }
    }
  });
}

void a_centre_is_no_larger_than_the_picture(const Table& resolved, Diagnostics& out) {
  for_each_view(resolved, [&](const std::string& path, const Table& view) {
    const int64_t* side = get<int64_t>(resolved, path + ".crop.short_side");
    const Value* size = view.find("size");
    if (!side || !size || !size->as<int64_t>() || *side >= *size->as<int64_t>()) return;
    out.error(locate(resolved, path + ".crop.short_side"), path + ".crop.short_side",
              fmt::format("expected at least size = {}, got {}", *size->as<int64_t>(), *side));
  });
}

void operations_on_pictures_have_a_size(const Table& resolved, Diagnostics& out) {
  for_each_view(resolved, [&](const std::string& path, const Table& view) {
    if (view.find("size")) return;
    for (const Entry& e : view.entries()) {
      if (!e.value.as<Table>()) continue;
      out.error(e.value.source, join_path(path, e.key),
                "needs the key 'size' beside it, the side of the square in pixels");
      return;
    }
  });
}

void the_long_tail_has_what_its_law_reads(const Table& resolved, Diagnostics& out) {
  const std::string* law = get<std::string>(resolved, "data.longtail.law");
  if (!law) return;
  const std::string wanted = *law == "counts" ? "counts" : *law == "file" ? "file" : "ratio";
  for (const std::string key : {"ratio", "counts", "file"}) {
    const std::string path = "data.longtail." + key;
    const bool given = find_path(resolved, path) != nullptr;
    if (given == (key == wanted)) continue;
    out.error(locate(resolved, given ? path : "data.longtail"), path,
              given ? fmt::format("law \"{}\" does not read it; remove it or change the law", *law)
                    : fmt::format("missing; law \"{}\" needs it", *law));
  }
}

void a_file_names_all_that_is_kept(const Table& resolved, Diagnostics& out) {
  const std::string* law = get<std::string>(resolved, "data.longtail.law");
  const double* keep = get<double>(resolved, "data.longtail.keep");
  if (!law || *law != "file" || !keep || *keep == 1) return;
  out.error(locate(resolved, "data.longtail.keep"), "data.longtail.keep",
            "law \"file\" keeps what the file names; remove it or change the law");
}

void a_batch_has_whole_parts(const Table& resolved, Diagnostics& out) {
  const int64_t* batch = get<int64_t>(resolved, "train.batch");
  const int64_t* parts = get<int64_t>(resolved, "train.accumulate");
  if (!batch || !parts || *batch % *parts == 0) return;
  out.error(locate(resolved, "train.accumulate"), "train.accumulate",
            fmt::format("expected a divisor of train.batch = {}, got {}", *batch, *parts));
}

void a_device_is_known(const Table& resolved, Diagnostics& out) {
  const std::string* device = get<std::string>(resolved, "train.device");
  const std::string* autocast = get<std::string>(resolved, "train.autocast");
  if (!device || !autocast) return;
  const bool numbered = device->starts_with("cuda:") && device->size() > 5 &&
                        device->find_first_not_of("0123456789", 5) == std::string::npos;
  if (*device != "cpu" && *device != "cuda" && *device != "auto" && !numbered)
    out.error(
        locate(resolved, "train.device"), "train.device",
        fmt::format("expected \"cpu\", \"cuda\", \"cuda:N\" or \"auto\", got \"{}\"", *device));
  if (*device == "cpu" && *autocast != "off")
    out.error(locate(resolved, "train.autocast"), "train.autocast",
              "is for CUDA devices; on a CPU it would be slower than float32");
}

void run_has_a_name(const Table& resolved, Diagnostics& out) {
  const std::string* name = get<std::string>(resolved, "name");
  if (name && name->empty())
    out.error(locate(resolved, "name"), "name", "expected a name, got the string \"\"");
}

using Rule = void (*)(const Table& resolved, Diagnostics& out);
constexpr Rule kRules[] = {run_has_a_name,
                           there_are_views,
                           lists_of_views_have_their_length,
                           a_centre_is_no_larger_than_the_picture,
                           operations_on_pictures_have_a_size,
                           the_long_tail_has_what_its_law_reads,
                           a_file_names_all_that_is_kept,
                           gh_starts_before_the_end,
                           two_stages_need_gh,
                           a_batch_has_whole_parts,
                           a_device_is_known,
                           nesterov_needs_momentum,
                           moments_of_evaluation_happen};

}  // namespace

void check_rules(const Table& resolved, Diagnostics& out) {
  for (const Rule rule : kRules) rule(resolved, out);
}

}  // namespace gh::host
