// Files are written here byte by byte, well-formed and not; tests/integration/test_weights.py reads
// what the real torch.save writes.
#include "weights/weight_file.hpp"

#include "gh/error.hpp"
#include "support/temporary_directory.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace gh;
using namespace gh::host;
using namespace std::string_literals;
using test::TemporaryDirectory;

template <class T>
std::string little(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// GCC 12 warns falsely of overlaps when a literal and a string are added.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out.append(part);
  return out;
}

// CRC-32, a bit at a time.
std::string checksum(const std::string& data) {
  uint32_t sum = ~0u;
  for (const char c : data) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ (sum & 1 ? 0xedb88320u : 0u);
  }
  return little(~sum);
}

using Members = std::vector<std::pair<std::string, std::string>>;

std::string zip(const Members& members, uint16_t compression = 0) {
  const std::string zeros(10, '\0');
  const auto zero = [&](std::size_t count) { return std::string_view(zeros).substr(0, count); };
  std::string out, directory;
  for (const auto& [name, data] : members) {
    const std::string size = little(static_cast<uint32_t>(data.size()));
    const std::string shared = joined({little(compression), zero(4), checksum(data), size, size,
                                       little(static_cast<uint16_t>(name.size())), zero(2)});
    directory += joined(
        {"PK\1\2", zero(6), shared, zero(10), little(static_cast<uint32_t>(out.size())), name});
    out += joined({"PK\3\4", zero(4), shared, name, data});
  }
  const std::string count = little(static_cast<uint16_t>(members.size()));
  return joined({out, directory, "PK\5\6", zero(4), count, count,
                 little(static_cast<uint32_t>(directory.size())),
                 little(static_cast<uint32_t>(out.size())), zero(2)});
}

// The same archive as one beyond 4 GiB has it: numbers in 64 bits, their old places all ones.
std::string zip64(const Members& members) {
  const std::string ones(4, '\xff'), zeros(24, '\0');
  const auto zero = [&](std::size_t count) { return std::string_view(zeros).substr(0, count); };
  const auto wide = [](std::size_t value) { return little(static_cast<uint64_t>(value)); };
  std::string out, directory;
  for (const auto& [name, data] : members) {
    const std::string length = little(static_cast<uint16_t>(name.size()));
    directory +=
        joined({"PK\1\2", zero(16), ones, ones, length, little(uint16_t{32}), zero(10), ones, name,
                little(uint16_t{7}), zero(2), little(uint16_t{1}), little(uint16_t{24}),
                wide(data.size()), wide(data.size()), wide(out.size())});
    out += joined({"PK\3\4", zero(14), ones, ones, length, zero(2), name, data});
  }
  const std::size_t end64 = out.size() + directory.size();
  return joined({out, directory, "PK\6\6", wide(44), zero(12), wide(members.size()),
                 wide(members.size()), wide(directory.size()), wide(out.size()), "PK\6\7", zero(4),
                 wide(end64), little(uint32_t{1}), "PK\5\6", zero(8), ones, ones, zero(2)});
}

// --- a pickle in parts

std::string text(const std::string& value) {
  return joined({"X", little(static_cast<uint32_t>(value.size())), value});
}
std::string integer(int64_t value) { return joined({"\x8a\x08", little(value)}); }
std::string tuple(const std::vector<std::string>& parts) {
  std::string out = "(";
  for (const auto& part : parts) out += part;
  return joined({out, "t"});
}
std::string global(const std::string& module, const std::string& name) {
  return joined({"c", module, "\n", name, "\n"});
}
std::string call(const std::string& function, const std::string& arguments) {
  return joined({function, arguments, "R"});
}
std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += joined({text(key), value});
  return joined({out, "u"});
}
std::string tuple_of(const std::vector<int64_t>& values) {
  std::vector<std::string> parts;
  for (const int64_t value : values) parts.push_back(integer(value));
  return tuple(parts);
}

std::string tensor(const std::string& key, const std::vector<int64_t>& sizes,
                   const std::vector<int64_t>& strides, int64_t offset = 0,
                   const std::string& storage = "FloatStorage") {
  const std::string id =
      tuple({text("storage"), global("torch", storage), text(key), text("cuda:0"), integer(12)});
  return call(global("torch._utils", "_rebuild_tensor_v2"),
              tuple({id + "Q", integer(offset), tuple_of(sizes), tuple_of(strides), "\x89",
                     call(global("collections", "OrderedDict"), ")")}));
}

// Twelve float32, 0 to 11, as storage "0".
std::string floats() {
  std::string out;
  for (int i = 0; i < 12; ++i) out += little(static_cast<float>(i));
  return out;
}

std::string archive(const std::string& root) {
  return zip({{"a/data.pkl", joined({"\x80\x02", root, "."})},
              {"a/data/0", floats()},
              {"a/version", "3\n"}});
}

TensorFile read(const std::string& bytes) {
  const TemporaryDirectory dir;
  return read_weights(dir.write("w.pth", bytes));
}

std::pair<ErrorCode, std::string> refusal(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ErrorCode::internal, "was read"};
}

at::Tensor counting() { return at::arange(12, at::kFloat); }

TEST_CASE(
    "tensors of a torch.save file come with their strides and offset, several of one storage") {
  const TensorFile file = read(archive(dict({{"matrix", tensor("0", {3, 4}, {4, 1})},
                                             {"turned", tensor("0", {4, 3}, {1, 4})},
                                             {"part", tensor("0", {2, 2}, {4, 1}, 5)},
                                             {"scalar", tensor("0", {}, {}, 7)},
                                             {"empty", tensor("0", {0, 3}, {3, 1}, 12)}})));
  const at::Tensor matrix = counting().view({3, 4});
  REQUIRE(file.tensors.size() == 5);
  CHECK(file.at("matrix").equal(matrix));
  CHECK(file.at("turned").equal(matrix.t()));
  CHECK(file.at("part").equal(matrix.narrow(0, 1, 2).narrow(1, 1, 2)));
  CHECK(file.at("scalar").item<float>() == 7);
  CHECK(file.at("empty").sizes() == at::IntArrayRef({0, 3}));
  CHECK(file.metadata.at("inside").empty());
}

TEST_CASE("what is no tensor is passed over, and objects of unknown classes are never made") {
  const std::string evil =
      call(global("os", "system"), tuple({text("touch /tmp/ghhost-was-here")}));
  const std::string instance =
      joined({global("argparse", "Namespace"), ")\x81", dict({{"lr", "K\1"}}), "b"});
  const std::string parameter = call(
      global("torch._utils", "_rebuild_parameter"),
      tuple({tensor("0", {12}, {1}), "\x88", call(global("collections", "OrderedDict"), ")")}));
  const std::string ordered =
      joined({call(global("collections", "OrderedDict"), ")"), "(", text("weight"), parameter,
              text("epoch"), "K\5", text("note"), evil, "u", dict({{"_metadata", "}"}}), "b"});
  const TensorFile file = read(archive(dict({{"arguments", instance},
                                             {"best", tensor("0", {}, {})},
                                             {"run", evil},
                                             {"state_dict", ordered}})));
  REQUIRE(file.tensors.size() == 1);
  CHECK(file.at("weight").equal(counting()));
  CHECK(file.metadata.at("inside") == "state_dict");
}

TEST_CASE("the dictionary of weights is found under the usual names, or when it is the only one") {
  const std::string weights = dict({{"w", tensor("0", {12}, {1})}});
  const std::string other = dict({{"v", tensor("0", {2}, {1})}});
  const auto inside = [&](const std::string& root) {
    return read(archive(root)).metadata.at("inside");
  };
  CHECK(inside(dict({{"student", other}, {"teacher", weights}})) == "teacher");
  CHECK(inside(dict({{"model", dict({{"net", weights}})}})) == "model.net");
  CHECK(inside(dict({{"model", dict({{"depth", "K\1"}})}, {"trunk", weights}})) == "trunk");
  const auto [code, message] = refusal(archive(dict({{"one", weights}, {"two", other}})));
  CHECK(code == ErrorCode::unsupported);
  CHECK_THAT(message, Catch::Contains("one, two"));
}

TEST_CASE("files that cannot be weights say what they are") {
  const auto refused = [](const std::string& bytes, const char* with) {
    const auto [code, message] = refusal(bytes);
    CHECK(code == ErrorCode::unsupported);
    CHECK_THAT(message, Catch::Contains(with));
  };
  refused("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "PyTorch 1.6");
  refused("<!DOCTYPE html>", "neither");
  refused("", "neither");
  refused(archive(global("torchvision.models.resnet", "ResNet") + ")\x81"),
          "torchvision.models.resnet.ResNet");
  refused(archive("K\1"), "no dictionary");
  refused(archive(dict({{"epoch", "K\1"}})), "epoch");
  refused(archive(dict({{"w", tensor("0", {6}, {1}, 0, "ComplexFloatStorage")}})), "ComplexFloat");
  refused(zip({{"a/x", "y"}}), "not one that torch.save wrote");
  refused(zip({{"a/data.pkl", "."}, {"a/constants.pkl", "."}}), "TorchScript");
  refused(zip({{"a/data.pkl", "."}, {"a/byteorder", "big"}}), "big-endian");
  refused(zip({{"a/data.pkl", "."}}, 8), "compressed");
  CHECK_THROWS_AS(read_weights("/nowhere/w.pth"), Error);
}

TEST_CASE("tensors that reach beyond their data or claim more than it has are refused") {
  const int64_t huge = int64_t{1} << 62;
  const std::vector<std::string> impossible = {tensor("0", {13}, {1}),
                                               tensor("0", {12}, {1}, 1),
                                               tensor("0", {3, 4}, {5, 1}),
                                               tensor("0", {-1}, {1}),
                                               tensor("0", {2}, {-1}, 5),
                                               tensor("0", {2}, {1}, -1),
                                               tensor("0", {huge, huge}, {0, 0}),
                                               tensor("0", {huge}, {0}),
                                               tensor("0", {2}, {huge}, huge),
                                               tensor("0", {2, 2}, {1}),
                                               tensor("0", {}, {}, 12),
                                               tensor("1", {1}, {1}),
                                               tensor("0", {0, huge, huge}, {1, 1, 1}, huge),
                                               tensor("../0", {1}, {1})};
  for (const std::string& bad : impossible)
    CHECK(refusal(archive(dict({{"w", bad}}))).first == ErrorCode::io);
  CHECK(
      refusal(archive(dict({{"w", tensor("0", {1}, {1})}, {"w", tensor("0", {1}, {1})}}))).first ==
      ErrorCode::io);
}

TEST_CASE("members that overlap or lie outside are refused before anything is read") {
  Members members = {
      {"a/data.pkl", joined({"\x80\x02", dict({{"w", tensor("0", {12}, {1})}}), "."})},
      {"a/data/0", floats()}};
  const std::string good = zip(members);
  REQUIRE(read(good).tensors.size() == 1);
  const std::size_t entry = good.rfind("PK\1\2");
  const auto with = [&](std::size_t offset, uint32_t value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + entry + offset, &value, sizeof value);
    return refusal(bytes).first;
  };
  CHECK(with(42, 0) == ErrorCode::io);           // begins where the first one does
  CHECK(with(42, 0x7fffffff) == ErrorCode::io);  // begins outside
  std::string long_one = good;
  for (const std::size_t offset : {20, 24})
    std::memcpy(long_one.data() + entry + offset, "\xf0\xff\xff\x7f", 4);
  CHECK(refusal(long_one).first == ErrorCode::io);
}

TEST_CASE("archives with 64-bit sizes are read, and impossible ones refused") {
  const std::string pickle = joined({"\x80\x02", dict({{"w", tensor("0", {12}, {1})}}), "."});
  const std::string good = zip64({{"a/data.pkl", pickle}, {"a/data/0", floats()}});
  CHECK(read(good).at("w").equal(counting()));
  const std::size_t end64 = good.find("PK\6\6");
  const std::size_t sizes = good.rfind("a/data/0") + 16;
  for (const std::size_t place : {end64 + 40, end64 + 48, end64 + 64, sizes, sizes + 8, sizes + 16})
    for (const uint64_t value : {~uint64_t{0}, ~uint64_t{0} - 20, uint64_t{1} << 40, uint64_t{3}}) {
      std::string bytes = good;
      std::memcpy(bytes.data() + place, &value, sizeof value);
      INFO(place - end64 << " " << value);
      CHECK(refusal(bytes).second != "was read");
    }
}

TEST_CASE("a pickle cannot ask for more memory than a bound, nor for a circle to be followed") {
  // A megabyte of name, then a class of that name for every five bytes.
  std::string greedy = text(std::string(1 << 20, 'n')) + "q\1";
  for (int i = 0; i < 2000; ++i) greedy += "h\1h\1\x93";
  CHECK_THAT(refusal(archive(greedy)).second, Catch::Contains("too much beside the tensors"));
  // A dictionary that holds itself under a usual name.
  CHECK(refusal(archive(joined({"}q\1", text("model"), "h\1s"}))).first == ErrorCode::unsupported);
}

TEST_CASE("a damaged file is refused or read as something else, and nothing worse") {
  const TemporaryDirectory dir;
  const std::string parameter = call(global("torch._utils", "_rebuild_parameter"),
                                     tuple({tensor("0", {3, 4}, {4, 1}), "\x88", "}"}));
  const std::string good = archive(dict({{"state_dict", dict({{"a", tensor("0", {12}, {1})},
                                                              {"b", parameter},
                                                              {"c", tensor("0", {2, 2}, {4, 1})}})},
                                         {"epoch", "K\7"}}));
  const auto survives = [&](const std::string& bytes) {
    try {
      double sum = 0;
      for (const auto& [name, tensor] : read_weights(dir.write("w.pth", bytes)).tensors)
        sum += tensor.to(at::kDouble).sum().item<double>();  // every element is touched
      return sum == sum || true;
    } catch (const Error&) {
      return true;
    }
  };
  bool all = true;
  for (std::size_t length = 0; length < good.size(); ++length)
    all &= survives(good.substr(0, length));
  std::mt19937 random(7);
  const std::array<unsigned char, 8> favourites = {0, 1, 0x7f, 0x80, 0xff, 'R', 'h', '('};
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = good;
    for (unsigned changes = 1 + random() % 4; changes-- > 0;) {
      const std::size_t at = random() % bytes.size();
      const unsigned kind = random() % 4;
      if (kind == 0) bytes[at] = static_cast<char>(random());
      if (kind == 1) bytes[at] = static_cast<char>(favourites[random() % favourites.size()]);
      if (kind == 2) bytes.erase(at, 1 + random() % 8);
      if (kind == 3) bytes.insert(at, bytes.substr(random() % bytes.size(), 1 + random() % 8));
      if (bytes.empty()) bytes = good;
    }
    all &= survives(bytes);
  }
  CHECK(all);
}

TEST_CASE("a safetensors file is told by its header, whatever the header's length") {
  const TemporaryDirectory dir;
  TensorFile file;
  file.tensors.emplace_back("w", at::full({2, 3}, 4.0));
  write_safetensors(dir / "w.safetensors", file);
  std::ifstream in(dir / "w.safetensors", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  uint64_t length = 0;
  std::memcpy(&length, whole.data(), sizeof length);
  const std::string header = whole.substr(8, length), data = whole.substr(8 + length);
  const std::size_t base = (length / 256 + 1) * 256;
  for (std::size_t low = 0; low < 256; ++low) {
    INFO(low);
    const std::string padded = header + std::string(base + low - length, ' ');
    const std::string bytes = joined({little(uint64_t{padded.size()}), padded, data});
    CHECK(refusal(bytes).second == "was read");
    // Cut off, it is still one of these and not an old file of PyTorch.
    CHECK_THAT(refusal(bytes.substr(0, 60)).second, Catch::Contains("safetensors"));
  }
}

TEST_CASE("members of an archive must have their checksums, where there are any") {
  Members members = {
      {"a/data.pkl", joined({"\x80\x02", dict({{"w", tensor("0", {12}, {1})}}), "."})},
      {"a/data/0", floats()}};
  std::string bytes = zip(members);
  CHECK(read(bytes).at("w").equal(counting()));
  const std::size_t data = bytes.find(members[1].second);
  bytes[data + 7] = static_cast<char>(bytes[data + 7] ^ 1);
  CHECK(refusal(bytes).first == ErrorCode::io);
  CHECK_THAT(refusal(bytes).second, Catch::Contains("a/data/0") && Catch::Contains("checksum"));
  // torch.serialization.set_crc32_options(False)
  const std::size_t entry = bytes.rfind("PK\1\2");
  std::memset(bytes.data() + entry + 16, 0, 4);
  CHECK(refusal(bytes).second == "was read");
}

TEST_CASE("safetensors files are recognised by content") {
  const TemporaryDirectory dir;
  TensorFile file;
  file.tensors.emplace_back("w", at::full({2, 3}, 4.0));
  write_safetensors(dir / "w.pth", file);
  CHECK(read_weights(dir / "w.pth").at("w").equal(file.tensors[0].second));
}

}  // namespace
