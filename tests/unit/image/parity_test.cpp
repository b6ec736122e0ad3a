// Every operation with explicit parameters against Pillow and torchvision.
#include "image/blur.hpp"
#include "image/colour.hpp"
#include "planes.hpp"
#include "support/vectors.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

namespace {

using namespace gh;
using namespace gh::host;
using test::planes;
using test::tensor;

using Operation = std::function<void(PlanarImage&, double)>;

// Compares op(image, parameter i) with row i of "<image>_<name>" for every image of the file.
int compare(const TensorFile& file, const std::string& name, const std::string& parameters,
            const Operation& op) {
  const at::Tensor values = file.at(parameters).to(at::kDouble);
  int compared = 0;
  for (const std::string& image : test::pictures(file)) {
    if (!file.has(image + "_" + name)) continue;
    REQUIRE(file.at(image + "_" + name).size(0) == values.size(0));
    for (int64_t i = 0; i < values.size(0); ++i) {
      PlanarImage work = planes(file.at(image));
      op(work, values[i].item<double>());
      INFO(image << " " << name << " " << values[i].item<double>());
      CHECK(tensor(work).equal(file.at(image + "_" + name)[i]));
      ++compared;
    }
  }
  return compared;
}

TEST_CASE("colour operations equal Pillow's", "[parity]") {
  const auto file = test::find_vector("img_colour");
  if (!file) return;
  CHECK(compare(*file, "brightness", "factors", adjust_brightness) > 0);
  CHECK(compare(*file, "contrast", "factors", adjust_contrast) > 0);
  CHECK(compare(*file, "saturation", "factors", adjust_saturation) > 0);
  CHECK(compare(*file, "hue", "hue_factors", adjust_hue) > 0);
  CHECK(compare(*file, "solarize", "solarize_thresholds",
                [](PlanarImage& image, double t) { solarize(image, static_cast<int>(t)); }) > 0);
  GaussianBlur blur;
  CHECK(compare(*file, "blur", "blur_radii",
                [&](PlanarImage& image, double sigma) { blur.run(image, sigma); }) > 0);
  for (const std::string& image : test::pictures(*file)) {
    PlanarImage work = planes(file->at(image));
    make_grey(work);
    CHECK(tensor(work).equal(file->at(image + "_gray3")));
  }
}

TEST_CASE("colour operations in a row round after each", "[parity]") {
  const auto file = test::find_vector("img_colour");
  if (!file) return;
  const at::Tensor values = file->at("chain_bcsh_values");
  const std::string letters = "bcsh";
  const Operation ops[] = {adjust_brightness, adjust_contrast, adjust_saturation, adjust_hue};
  int compared = 0;
  for (const std::string& image : test::pictures(*file))
    for (const std::string& order : test::endings(*file, image + "_chain_")) {
      PlanarImage work = planes(file->at(image));
      for (const char letter : order) {
        const std::size_t which = letters.find(letter);
        ops[which](work, values[which].item<double>());
      }
      INFO(image << " " << order);
      CHECK(tensor(work).equal(file->at(image + "_chain_" + order)));
      ++compared;
    }
  CHECK(compared > 0);
}

TEST_CASE("normalised tensors equal torchvision's", "[parity]") {
  const auto file = test::find_vector("img_colour");
  if (!file) return;
  const auto mean = test::numbers_in(file->metadata.at("normalise_mean"));
  const auto std = test::numbers_in(file->metadata.at("normalise_std"));
  REQUIRE((mean.size() == 3 && std.size() == 3));
  int compared = 0;
  for (const std::string& image : test::pictures(*file)) {
    if (!file->has(image + "_to_tensor_normalised")) continue;
    const PlanarImage work = planes(file->at(image));
    const at::Tensor& expected = file->at(image + "_to_tensor_normalised");
    std::vector<float> out(work.area());
    for (int c = 0; c < 3; ++c) {
      kernels().normalize(work.plane(c), work.area(), static_cast<float>(1 / (255 * std[c])),
                          static_cast<float>(mean[c] / std[c]), out.data());
      const at::Tensor plane = at::from_blob(out.data(), {work.height, work.width}, at::kFloat);
      CHECK(test::largest_difference(plane, expected[c]) <= 1e-6);
      ++compared;
    }
  }
  CHECK(compared > 0);
}

at::Tensor resized(const at::Tensor& image, const Resampler::Request& request) {
  const test::ColumnImage in(image);
  PlanarImage out;
  Resampler().run(in.columns, request, out);
  return tensor(out);
}

TEST_CASE("crops resized with antialiasing equal Pillow's", "[parity]") {
  const auto file = test::find_vector("img_resized_crop");
  if (!file) return;
  int compared = 0;
  for (const auto& [name, expected] : file->tensors) {
    const bool cubic = name.find("_bicubic_") != std::string::npos;
    if (!cubic && name.find("_bilinear_") == std::string::npos) continue;
    const std::string image = name.substr(0, name.find('_'));
    const int size = static_cast<int>(expected.size(1));
    const at::Tensor& boxes = file->at(image + "_boxes");
    REQUIRE(expected.size(0) == boxes.size(0));
    for (int64_t i = 0; i < boxes.size(0); ++i) {
      const auto at = [&](int k) { return static_cast<int>(boxes[i][k].item<int64_t>()); };
      Resampler::Request request{.box = {at(0), at(1), at(2), at(3)},
                                 .height = size,
                                 .width = size,
                                 .window = {0, 0, size, size},
                                 .filter = cubic ? Filter::bicubic : Filter::bilinear,
                                 .mirror = false};
      INFO(name << " box " << i);
      CHECK(resized(file->at(image), request).equal(expected[i]));
      request.mirror = true;
      CHECK(resized(file->at(image), request).equal(expected[i].flip(1)));
      const int top = size / 10, left = size / 6, end = size - size / 8;
      request.window = {top, left, end - top, end - left};
      CHECK(resized(file->at(image), request)
                .equal(expected[i].slice(0, top, end).slice(1, left, end).flip(1)));
      ++compared;
    }
  }
  CHECK(compared > 0);
}

TEST_CASE("resizing for evaluation equals torchvision's", "[parity]") {
  const auto file = test::find_vector("img_eval");
  if (!file) return;
  int compared = 0;
  for (const std::string& name : test::pictures(*file)) {
    const at::Tensor& image = file->at(name);
    const int h = static_cast<int>(image.size(0)), w = static_cast<int>(image.size(1));
    for (const std::string& side : test::endings(*file, name + "_resize")) {
      if (!side.ends_with("_bilinear")) continue;
      const at::Tensor& expected = file->at(name + "_resize" + side);
      const int height = static_cast<int>(expected.size(0));
      const int width = static_cast<int>(expected.size(1));
      CHECK(resized(image, {.box = {0, 0, h, w},
                            .height = height,
                            .width = width,
                            .window = {0, 0, height, width}})
                .equal(expected));
      ++compared;
    }
  }
  CHECK(compared > 0);
}

}  // namespace
