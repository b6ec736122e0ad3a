// What bench/tsne.py runs: the map of the plugin tsne, from features to positions.
//
//   tsne_bench THREADS ROWS WIDTH PERPLEXITY DATA MAP
//
// DATA is a file of float32, [ROWS, WIDTH]; MAP will be one, [2, ROWS]. Prints {"seconds", "kl"}.
#include "affinities.hpp"
#include "descent.hpp"
#include "frame.hpp"

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>
#include <string>

int main(int count, char** arguments) {
  if (count != 7) return 64;
  at::set_num_threads(std::stoi(arguments[1]));
  const at::Tensor x =
      gh::bench::read(arguments[5], {std::stoll(arguments[2]), std::stoll(arguments[3])});
  const double began = gh::bench::now();
  tsne::Forces forces(tsne::joint_affinities(tsne::squared_distances(x), std::stod(arguments[4])));
  std::vector<float> map = tsne::principal_start(x, gh::Random(1));
  const double kl = tsne::descend(forces, {}, map);
  const double seconds = gh::bench::now() - began;
  std::ofstream(arguments[6], std::ios::binary)
      .write(reinterpret_cast<const char*>(map.data()),
             static_cast<std::streamsize>(map.size() * sizeof(float)));
  std::cout << nlohmann::json{{"seconds", seconds}, {"kl", kl}} << "\n";
}
