// Lets test_weights.py reach what the program has no command for.
//   weights_driver read FILE…
//       one line a file: "ok N", or the code and message of the error
//   weights_driver convert FILE OUT
//       a weight file as safetensors
//   weights_driver encode ID PARAMS WEIGHTS INPUT OUT
//       loads WEIGHTS into a backbone (PARAMS in TOML), writes OUT with its features of x in INPUT
//       [batch, C, H, W], and OUT.export with its export
#include "gh/backbone.hpp"
#include "session/export.hpp"
#include "support/plugin_fixture.hpp"
#include "train/initial_weights.hpp"
#include "weights/weight_file.hpp"

#include <ATen/core/grad_mode.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace gh;
using namespace gh::host;

void read(const std::vector<std::string>& files) {
  for (const std::string& file : files) try {
      const std::size_t count = read_weights(file).tensors.size();
      std::cout << "ok " << count << "\n";
    } catch (const Error& error) {
      std::cout << name_of(error.code()) << " " << error.what() << "\n";
    }
}

void encode(const std::string& id, const std::string& params, const std::string& weights,
            const std::string& input, const std::string& out) {
  const at::Tensor x = read_safetensors(input).at("x");
  const auto backbone = test::load<Backbone>(id, params);
  const auto layers = standard_layers();
  const std::vector<int64_t> shape(x.sizes().begin() + 1, x.sizes().end());
  BackboneRequest request;
  request.sample_shape = shape;
  request.layers = layers.get();
  request.random = Random(1);
  const auto encoder = backbone->make(request);
  std::cout << describe(load_weights(*encoder, read_weights(weights)), weights) << "\n";
  encoder->train(false);
  at::NoGradGuard no_grad;
  TensorFile features;
  features.tensors.emplace_back("features", encoder->forward(x));
  write_safetensors(out, features);
  write_safetensors(out + ".export", export_encoder(*encoder, {{"ghhost.backbone", id}}));
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() >= 2 && words[0] == "read")
    read({words.begin() + 1, words.end()});
  else if (words.size() == 3 && words[0] == "convert")
    write_safetensors(words[2], read_weights(words[1]));
  else if (words.size() == 6 && words[0] == "encode")
    encode(words[1], words[2], words[3], words[4], words[5]);
  else
    return 2;
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
