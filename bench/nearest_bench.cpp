// What bench/nearest.py runs: the search for nearest rows of libghops.
//
//   nearest_bench THREADS BANK QUERIES WIDTH BANK_FILE QUERY_FILE
//
// The files hold float32, [BANK, WIDTH] and [QUERIES, WIDTH]. Reads commands from standard input,
// one a line, and answers each with a line of JSON, {"seconds"}:
//
//   inner_product K FILE    or euclidean K FILE; indices [QUERIES, K] int64 go to FILE, values
//                           float32 to FILE.values
#include "frame.hpp"

#include "gh/ops/nearest.hpp"

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <string>

using namespace gh::bench;
using namespace gh::ops;

int main(int count, char** arguments) {
  if (count != 7) return 64;
  at::set_num_threads(std::stoi(arguments[1]));
  const int64_t rows = std::stoll(arguments[2]), queries = std::stoll(arguments[3]),
                width = std::stoll(arguments[4]);
  const at::Tensor bank = read(arguments[5], {rows, width}),
                   asked = read(arguments[6], {queries, width});
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
