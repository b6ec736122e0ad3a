// Hands what a component complains about to diagnostics, with the position of the key: that of the
// nearest table where nobody wrote the key itself.
#pragma once

#include "recipe/recipe.hpp"

#include "gh/error.hpp"

namespace gh::host {

class PlacedComplaints final : public Complaints, public Warnings {
 public:
  // All of it outlives the complaints.
  PlacedComplaints(const Recipe& recipe, const Slot& slot, Diagnostics& out)
      : recipe_(recipe), slot_(slot), out_(out) {}
  void add(std::string_view key, std::string_view message) override;
  void warn(std::string_view key, std::string_view message) override;

 private:
  std::string path_of(std::string_view key) const;
  Source source_of(const std::string& path) const;
  std::string in_words(std::string_view message) const;

  const Recipe& recipe_;
  const Slot& slot_;
  Diagnostics& out_;
};

}  // namespace gh::host
