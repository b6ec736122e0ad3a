// The reference of components: what plugins say of themselves (`ghhost plugins info --json`), as
// Markdown and as one page with a search.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace gh::host {

// `plugins` is a list of what `plugins info` calls "plugin". The same text for the same plugins,
// wherever they are.
std::string components_markdown(const nlohmann::ordered_json& plugins);
std::string components_html(const nlohmann::ordered_json& plugins);

}  // namespace gh::host
