// Groups of classes by how many training samples they have: many, medium and few, as tables of
// long-tailed learning report them. Any thread.
#pragma once

#include "gh/error.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gh {
inline namespace v1 {

struct ClassGroup {
  std::string name;
  // May be empty.
  std::vector<int64_t> classes;
};

struct ClassGroups {
  // Largest classes first.
  std::vector<ClassGroup> groups;
  // In words, with the numbers of classes.
  std::string definition;
};

// Rules:
//   "terciles"       few: the ⌊C/3⌋ smallest classes, medium: as many, many: the rest; of equal
//                    classes the first counts as smaller
//   "deciles"        ten groups as even as can be, d1 has the largest classes
//   "shots(100,20)"  many: more than 100 samples, few: less than 20, medium: between
//   "lists(0-33; 34-66; 67,69-99)"
//                    many, medium and few by label; another number of lists is g1, g2, …
//
// `counts` [C] int64. Throws Error invalid_param where the rule cannot be read, a list names a
// class that is not there, or a class stands in two lists.
GH_API ClassGroups class_groups(std::string_view rule, const at::Tensor& counts);

// What is wrong with a rule whatever the counts, as a complaint about `key`.
GH_API void check_class_groups(std::string_view rule, std::string_view key, Complaints& out);

struct GroupAverages {
  // Mean over the classes of each group; NaN for an empty group.
  std::vector<double> means;
  // Mean over all classes that have a value.
  double average = 0;
  // Sample standard deviation (n − 1) of the means that are not NaN.
  double deviation = 0;
};

// `per_class` [C]; NaN: the class has no value and counts nowhere.
GH_API GroupAverages average_groups(const ClassGroups& groups, std::span<const double> per_class);

}  // namespace v1
}  // namespace gh
