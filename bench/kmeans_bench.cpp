// What bench/kmeans.py runs: K-means of libghops.
//
//   kmeans_bench THREADS ROWS WIDTH CLUSTERS DATA START
//
// DATA and START are files of float32, [ROWS, WIDTH] and [CLUSTERS, WIDTH]. Reads commands from
// standard input, one a line, and answers each with a line of JSON:
//
//   lloyd ITERATIONS FILE   {"seconds", "iterations", "objective"}; centres go to FILE
//   seed KEY FILE           {"seconds"}: k-means++; centres go to FILE
#include "frame.hpp"

#include "gh/ops/kmeans.hpp"

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <string>

using namespace gh::bench;
using namespace gh::ops;

int main(int count, char** arguments) {
  if (count != 7) return 64;
  at::set_num_threads(std::stoi(arguments[1]));
  const int64_t rows = std::stoll(arguments[2]), width = std::stoll(arguments[3]),
                clusters = std::stoll(arguments[4]);
  const at::Tensor x = read(arguments[5], {rows, width}),
                   start = read(arguments[6], {clusters, width});
  std::string command, file;
  int64_t number = 0;
  while (std::cin >> command >> number >> file) {
    nlohmann::json answer;
    const double began = now();
    if (command == "lloyd") {
      const KMeansResult found = kmeans(x, start, {.iterations = number});
      answer = {{"seconds", now() - began},
                {"iterations", found.iterations},
                {"objective", found.objective}};
      write(file, found.centres);
    } else {
      const at::Tensor centres =
          kmeans_start(x, clusters, KMeansStart::plus_plus, KMeansMetric::euclidean,
                       gh::Random(static_cast<uint64_t>(number)));
      answer = {{"seconds", now() - began}};
      write(file, centres);
    }
    std::cout << answer.dump() << std::endl;
  }
}
