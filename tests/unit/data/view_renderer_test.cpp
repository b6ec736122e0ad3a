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
  ViewGroup group;
  group.size = 32;
  group.crop = {.kind = CropPlan::Kind::centre, .short_side = 40};
  for (const std::string name : {"img0", "img1", "img2"})
    CHECK(view_of(file->at(name), group, {}).equal(file->at(name + "_resize40_crop32")));
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
  ViewGroup group;
  group.size = 32;
  group.crop = {.kind = CropPlan::Kind::pad, .padding = 4};
  const at::Tensor& padded = file->at("img0_pad4");
  for (const auto& [y, x] : {std::pair{0, 0}, {-4, -4}, {4, 4}, {-4, 3}, {2, -1}}) {
    const at::Tensor expected = padded.slice(0, 4 + y, 36 + y).slice(1, 4 + x, 36 + x);
    ViewDraw draw;
    draw.shift_y = y;
    draw.shift_x = x;
    CHECK(view_of(file->at("img0"), group, draw).equal(expected));
    draw.mirror = true;
    CHECK(view_of(file->at("img0"), group, draw).equal(expected.flip(1)));
  }
}

TEST_CASE("colours are jittered in the order drawn", "[parity]") {
  const auto file = test::find_vector("img_colour");
  if (!file) return;
  ViewGroup group;
  group.size = 32;
  ViewDraw draw;
  draw.jitter = true;
  for (int i = 0; i < 4; ++i)
    draw.jitter_factor[i] = file->at("chain_bcsh_values")[i].item<double>();
  CHECK(view_of(file->at("img0"), group, draw).equal(file->at("img0_chain_bcsh")));
  draw.jitter_order = {3, 2, 1, 0};
  CHECK(view_of(file->at("img0"), group, draw).equal(file->at("img0_chain_hscb")));
}

TEST_CASE("a crop out of a part equals the crop out of the whole", "[parity]") {
  const auto file = test::find_vector("img_resized_crop");
  if (!file) return;
  const at::Tensor& image = file->at("img2");
  ViewGroup group;
  group.size = 32;
  group.crop.kind = CropPlan::Kind::random_resized;
  ViewDraw draw;
  draw.crop = {12, 20, 30, 41};
  const at::Tensor whole = view_of(image, group, draw);
  const test::ColumnImage part(image.slice(0, 10, 50).slice(1, 17, 70));
  ViewRenderer renderer;
  CHECK(test::tensor(renderer.render(part.columns, 10, 17, group, draw)).equal(whole));
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
