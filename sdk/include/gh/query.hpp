// Abilities that are found by name, as the types they are. Compiled into the plugin. Since SDK 1.1.
//
//   if (auto* services = gh::query<gh::EvaluationServices>(evaluation)) services->png(…);
#pragma once

namespace gh {
inline namespace v1 {

// Null where `object` does not have it. The pointer lives as long as the object.
template <class Interface, class Object>
Interface* query(Object& object) {
  return static_cast<Interface*>(object.query(Interface::kId));
}

}  // namespace v1
}  // namespace gh
