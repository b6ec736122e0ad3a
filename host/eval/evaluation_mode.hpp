// Puts a method into evaluation mode for as long as it lives, whatever is thrown meanwhile.
#pragma once

#include "gh/ssl.hpp"

namespace gh::host {

class EvaluationMode {
 public:
  explicit EvaluationMode(SslMethod& method) : method_(method) { method_.train(false); }
  ~EvaluationMode() { method_.train(true); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  SslMethod& method_;
};

}  // namespace gh::host
