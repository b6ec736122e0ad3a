// Presets of [views], and how what a recipe writes there becomes a list of view groups. Used inside
// this room, but for preset_group().
#pragma once

#include "recipe/diagnostics.hpp"
#include "recipe/value.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace gh::host {

// "simclr-32|simclr-224|…", for schemas.
const char* view_preset_names();

// The groups of a preset, as [[views.group]] writes them; nullopt when there is none of that name.
std::optional<Array> view_preset(std::string_view name);

// Rewrites [views] in full: the preset's groups, over them what stands directly in [views] (for
// every group), over that the recipe's own [[views.group]] (one by one); and [views.plain], which
// follows the first group where the recipe does not say otherwise. A table whose `id` changes is
// replaced, not merged. What is of the wrong kind is passed on for the schema to refuse.
Table expand_views(const Table& raw);

}  // namespace gh::host
