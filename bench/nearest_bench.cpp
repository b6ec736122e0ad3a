// What bench/nearest.py runs: the search for nearest rows of libghops.
//
//   nearest_bench THREADS BANK QUERIES WIDTH BANK_FILE QUERY_FILE
//
// The files hold float32, [BANK, WIDTH] and [QUERIES, WIDTH]. Reads commands from standard input,
// one a line, and answers each with a line of JSON, {"seconds"}:
//
//   inner_product K FILE    or euclidean K FILE; indices [QUERIES, K] int64 go to FILE, values
//                           float32 to FILE.values
#include "gh/ops/nearest.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

namespace {

using namespace gh::ops;

at::Tensor read(const std::string& file, int64_t rows, int64_t width) {
  const at::Tensor t = at::empty({rows, width}, at::kFloat);
  std::ifstream in(file, std::ios::binary);
  in.read(static_cast<char*>(t.data_ptr()), static_cast<std::streamsize>(t.nbytes()));
  if (!in) throw std::runtime_error(file + " is too short");
  return t;
}

void write(const std::string& file, const at::Tensor& t) {
  std::ofstream(file, std::ios::binary)
      .write(static_cast<const char*>(t.data_ptr()), static_cast<std::streamsize>(t.nbytes()));
}

double now() {
  const auto t = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(t).count();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 7) return 64;
  at::set_num_threads(std::stoi(arguments[1]));
  const int64_t rows = std::stoll(arguments[2]), queries = std::stoll(arguments[3]),
                width = std::stoll(arguments[4]);
  const at::Tensor bank = read(arguments[5], rows, width),
                   asked = read(arguments[6], queries, width);
  std::string command, file;
  int64_t k = 0;
  while (std::cin >> command >> k >> file) {
    const double began = now();
    const NearestResult found =
        nearest(bank, asked, k,
                command == "euclidean" ? NearestMetric::euclidean : NearestMetric::inner_product);
    const nlohmann::json answer = {{"seconds", now() - began}};
    write(file, found.indices);
    write(file + ".values", found.values);
    std::cout << answer.dump() << std::endl;
  }
}
