// Whole views with everything explicit, against torchvision where the vectors have it.
#include "data/view_renderer.hpp"
#include "support/vectors.hpp"
#include "unit/image/planes.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using namespace gh::host;

at::Tensor view_of(const at::Tensor& image, const ViewGroup& group, ViewDraw draw) {
  const test::ColumnImage in(image);
  if (draw.crop.height == 0)
    draw.crop = {0, 0, static_cast<int>(image.size(0)), static_cast<int>(image.size(1))};
  ViewRenderer renderer;
  PlanarImage out = renderer.render(in.columns, 0, 0, group, draw);
  return test::tensor(std::move(out));
}

TEST_CASE("the centre of a resized picture equals torchvision's", "[parity]") {
  const auto file = test::find_vector("img_eval");
  if (!file) return;
  int compared = 0;
  for (const std::string& name : test::pictures(*file))
    for (const std::string& ending : test::endings(*file, name + "_resize")) {
      const std::size_t crop = ending.find("_crop");  // <short side>_crop<size>
      if (crop == ending.npos) continue;
      ViewGroup group;
      group.size = std::stoi(ending.substr(crop + 5));
      group.crop = {.kind = CropPlan::Kind::centre, .short_side = std::stoi(ending)};
      INFO(name << " " << ending);
      CHECK(view_of(file->at(name), group, {}).equal(file->at(name + "_resize" + ending)));
      ++compared;
    }
  CHECK(compared > 0);
}

// Views are squares, so are the pictures that can be compared without resizing.
std::vector<std::string> square_pictures(const TensorFile& file) {
  std::vector<std::string> names = test::pictures(file);
  std::erase_if(names, [&](const std::string& name) {
    return file.at(name).size(0) != file.at(name).size(1);
  });
  if (names.empty()) std::cerr << "SKIPPED: no picture of the vector is square\n";
  return names;
}

TEST_CASE("a centre that falls between pixels goes to the even one") {
  const at::Tensor image = at::arange(40 * 55 * 3).to(at::kByte).view({40, 55, 3});
  ViewGroup group;
  group.size = 32;
  group.crop = {.kind = CropPlan::Kind::centre, .short_side = 40};
  CHECK(view_of(image, group, {}).equal(image.slice(0, 4, 36).slice(1, 12, 44)));  // 11.5
}

TEST_CASE("cutting from a padded picture equals cutting from torchvision's", "[parity]") {
  const auto file = test::find_vector("img_eval");
  if (!file) return;
  for (const std::string& name : square_pictures(*file))
    for (const std::string& padding : test::endings(*file, name + "_pad")) {
      const int n = static_cast<int>(file->at(name).size(0)), pad = std::stoi(padding);
      ViewGroup group;
      group.size = n;
      group.crop = {.kind = CropPlan::Kind::pad, .padding = pad};
      for (const auto& [y, x] :
           {std::pair{0, 0}, {-pad, -pad}, {pad, pad}, {-pad, pad - 1}, {pad / 2, -1}}) {
        const at::Tensor expected = file->at(name + "_pad" + padding)
                                        .slice(0, pad + y, pad + y + n)
                                        .slice(1, pad + x, pad + x + n);
        ViewDraw draw;
        draw.shift_y = y;
        draw.shift_x = x;
        CHECK(view_of(file->at(name), group, draw).equal(expected));
        draw.mirror = true;
        CHECK(view_of(file->at(name), group, draw).equal(expected.flip(1)));
      }
    }
}

TEST_CASE("colours are jittered in the order drawn", "[parity]") {
  const auto file = test::find_vector("img_colour");
  if (!file) return;
  ViewDraw draw;
  draw.jitter = true;
  for (int i = 0; i < 4; ++i)
    draw.jitter_factor[i] = file->at("chain_bcsh_values")[i].item<double>();
  for (const std::string& name : square_pictures(*file))
    for (const std::string& order : test::endings(*file, name + "_chain_")) {
      REQUIRE(order.size() == 4);
      for (int i = 0; i < 4; ++i)
        draw.jitter_order[i] = static_cast<int>(std::string("bcsh").find(order[i]));
      ViewGroup group;
      group.size = static_cast<int>(file->at(name).size(0));
      CHECK(view_of(file->at(name), group, draw).equal(file->at(name + "_chain_" + order)));
    }
}

TEST_CASE("a crop out of a part equals the crop out of the whole", "[parity]") {
  const auto file = test::find_vector("img_resized_crop");
  if (!file) return;
  int compared = 0;
  for (const std::string& name : test::pictures(*file))
    for (const std::string& size : test::endings(*file, name + "_bilinear_")) {
      const at::Tensor &image = file->at(name), &expected = file->at(name + "_bilinear_" + size);
      ViewGroup group;
      group.size = std::stoi(size);
      group.crop.kind = CropPlan::Kind::random_resized;
      for (int64_t i = 0; i < expected.size(0); ++i) {
        const at::Tensor box = file->at(name + "_boxes")[i].to(at::kInt);
        const int* at = box.data_ptr<int>();
        ViewDraw draw;
        draw.crop = {at[0], at[1], at[2], at[3]};
        CHECK(view_of(image, group, draw).equal(expected[i]));
        const int top = std::max(0, at[0] - 2), left = std::max(0, at[1] - 3);
        const test::ColumnImage part(
            image.slice(0, top, at[0] + at[2] + 5).slice(1, left, at[1] + at[3] + 4));
        ViewRenderer renderer;
        CHECK(
            test::tensor(renderer.render(part.columns, top, left, group, draw)).equal(expected[i]));
        ++compared;
      }
    }
  CHECK(compared > 0);
}

TEST_CASE("cut-out and grayscale come after colour") {
  const at::Tensor black = at::zeros({32, 32, 3}, at::kByte);
  ViewGroup group;
  group.size = 32;
  group.cutout.fill = {7, 8, 9};
  ViewDraw draw;
  draw.grayscale = true;
  draw.cutout = {3, 5, 4, 6};
  const at::Tensor view = view_of(black, group, draw);
  const at::Tensor hole = view.slice(0, 3, 7).slice(1, 5, 11);
  for (int c = 0; c < 3; ++c) CHECK(hole.select(2, c).eq(7 + c).all().item<bool>());
  CHECK(view.sum().item<int64_t>() == 4 * 6 * (7 + 8 + 9));
}

}  // namespace
