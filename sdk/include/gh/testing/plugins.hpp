// Components of built plugins, made as the host makes them.
#pragma once

#include "gh/component.hpp"

#include <memory>
#include <string>
#include <vector>

namespace gh::testing {

// A component and the parameters it refers to.
template <class Interface>
struct Loaded {
  std::unique_ptr<Params> params;
  std::unique_ptr<Interface, void (*)(void*)> component{nullptr, nullptr};
  Interface* operator->() const { return component.get(); }
  Interface& operator*() const { return *component; }
};

// Libraries stay in memory when it goes; their components must not outlive it.
class Plugins {
 public:
  // `place`: a library, or a directory of libraries. Nothing is loaded yet.
  explicit Plugins(const std::string& place);
  ~Plugins();

  // The component of that id with parameters of TOML text, defaults filled in and checked as a
  // recipe's are. Throws Error (invalid_param) with all that is wrong.
  template <class Interface>
  Loaded<Interface> make(const std::string& id, const std::string& toml = "") {
    Made made = make(InterfaceOf<Interface>::kind, id, toml);
    return {std::move(made.params), {static_cast<Interface*>(made.component), made.destroy}};
  }

 private:
  struct Made {
    std::unique_ptr<Params> params;
    void* component;
    void (*destroy)(void*);
  };
  Made make(gh_kind kind, const std::string& id, const std::string& toml);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Complaints and warnings as text, a line each.
class HeardComplaints final : public Complaints, public Warnings {
 public:
  void add(std::string_view key, std::string_view message) override {
    text += std::string(key) + ": " + std::string(message) + "\n";
  }
  void warn(std::string_view key, std::string_view message) override {
    warnings += std::string(key) + ": " + std::string(message) + "\n";
  }
  std::string text, warnings;
};

}  // namespace gh::testing
