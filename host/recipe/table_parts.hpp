// Tables of the layout that have a file of their own, and what tables are put together from. Used
// inside this room only.
#pragma once

#include "recipe/host_tables.hpp"

#include <string>
#include <utility>
#include <vector>

namespace gh::host {

// Far beyond use, and small enough for products of them to be counted.
inline constexpr double kMostEpochs = 1'000'000;
inline constexpr double kMostSamples = 1 << 20;  // of a batch

TableSpec views_table();
TableSpec harmonize_table();
TableSpec train_table();

// `id` names a component.
inline TableSpec component_table(std::string name, gh_kind kind, TableSpec::Presence presence,
                                 std::string doc, Schema keys = {}) {
  return {std::move(name), std::move(doc), presence, std::move(keys), kind, {}, {}, {}, nullptr};
}

// All keys are the host's.
inline TableSpec host_table(std::string name, TableSpec::Presence presence, std::string doc,
                            Schema keys, std::vector<TableSpec> tables = {}) {
  return {std::move(name),   std::move(doc), presence, std::move(keys), {}, {}, {},
          std::move(tables), nullptr};
}

// `id` names one of `variants`; `default_id` empty: it must be written.
inline TableSpec tagged_table(std::string name, std::string default_id, std::string doc,
                              std::vector<Variant> variants) {
  const TableSpec::Presence presence =
      default_id.empty() ? TableSpec::Presence::required : TableSpec::Presence::implied;
  return {std::move(name),     std::move(doc),        presence, {},     {},
          std::move(variants), std::move(default_id), {},       nullptr};
}

}  // namespace gh::host
