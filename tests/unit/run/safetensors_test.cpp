#include "run/safetensors.hpp"

#include "gh/error.hpp"
#include "support/temporary_directory.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <fstream>

namespace {

using namespace gh;
using namespace gh::host;

TensorFile sample_file() {
  TensorFile file;
  file.metadata["name"] = "täst \"quoted\"";
  file.tensors.emplace_back("weights", at::randn({3, 4}));
  file.tensors.emplace_back("transposed", at::randn({3, 4}, at::kDouble).t());
  file.tensors.emplace_back("count", at::zeros({}, at::kLong));
  file.tensors.emplace_back("mask", at::arange(5) > 2);
  file.tensors.emplace_back("nothing", at::empty({0, 7}, at::kHalf));
  file.tensors.emplace_back("bytes", at::arange(5, at::kByte));
  return file;
}

TEST_CASE("safetensors come back as they were, any dtype and stride") {
  const test::TemporaryDirectory dir;
  const TensorFile file = sample_file();
  write_safetensors(dir / "a.safetensors", file);
  const TensorFile back = read_safetensors(dir / "a.safetensors");
  CHECK(back.metadata == file.metadata);
  REQUIRE(back.tensors.size() == file.tensors.size());
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    CHECK(back.tensors[i].first == file.tensors[i].first);
    CHECK(back.tensors[i].second.scalar_type() == file.tensors[i].second.scalar_type());
    CHECK(back.tensors[i].second.equal(file.tensors[i].second));
  }
}

TEST_CASE(
    "a damaged file is refused at every length and for every flipped header byte, never read "
    "beyond") {
  const test::TemporaryDirectory dir;
  write_safetensors(dir / "a.safetensors", sample_file());
  std::ifstream in(dir / "a.safetensors", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto try_read = [&](const std::string& content) {
    std::ofstream(dir / "b.safetensors", std::ios::binary) << content;
    try {
      read_safetensors(dir / "b.safetensors");
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (std::size_t length = 0; length + 1 < bytes.size(); length += 7)
    CHECK_FALSE(try_read(bytes.substr(0, length)));
  for (std::size_t i = 0; i < 300 && i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x11);
    try_read(flipped);  // may be readable or not; must not crash
  }
}

TEST_CASE("a missing file and a missing tensor say so") {
  CHECK_THROWS_WITH(read_safetensors("/nowhere/x.safetensors"),
                    Catch::Contains("/nowhere/x.safetensors"));
  CHECK_THROWS_WITH(sample_file().at("other"), Catch::Contains("other"));
}

}  // namespace
