#include "file_split.hpp"

#include "text_file.hpp"

#include "gh/digest.hpp"

#include <ATen/ops/empty.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace image_files {
namespace {

template <class T>
at::Tensor copied(const std::vector<T>& values, at::ScalarType type) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, type);
  std::copy(values.begin(), values.end(), tensor.data_ptr<T>());
  return tensor;
}

int64_t bytes_of(const std::string& path) {
  struct stat status {};
  gh::require(::stat(path.c_str(), &status) == 0, gh::ErrorCode::io, path,
              " cannot be read: ", std::strerror(errno));
  return status.st_size;
}

}  // namespace

at::Tensor to_tensor(const std::vector<int64_t>& labels) { return copied(labels, at::kLong); }
at::Tensor to_tensor(const std::vector<double>& targets) { return copied(targets, at::kDouble); }

FileSplit::FileSplit(std::string root, Samples samples, Listing listing)
    : root_(std::move(root)), samples_(std::move(samples)), listing_(listing) {
  samples_.paths.shrink_to_fit();
}

gh::TargetKind FileSplit::target_kind() const {
  return samples_.targets.scalar_type() == at::kLong ? gh::TargetKind::classes
                                                     : gh::TargetKind::real;
}

void FileSplit::read(int64_t index, gh::SampleSink& sink) const {
  const std::string path = file(index);
  const std::vector<uint8_t> bytes = read_bytes(path);
  gh::require(!bytes.empty(), gh::ErrorCode::io, path, " is empty; expected an image");
  sink.encoded(bytes, path);
}

std::string FileSplit::fingerprint() const {
  std::call_once(digested_, [this] {
    gh::Digest digest;
    for (int64_t i = 0; i < size(); ++i) {
      std::string line(samples_.paths[i]);
      line.append(listing_ == Listing::published ? " " : "\t").append(target_text(i));
      if (listing_ == Listing::with_sizes)
        line.append("\t").append(std::to_string(bytes_of(file(i))));
      digest.add(line.append("\n"));
    }
    fingerprint_ = "sha256:" + digest.hex();
  });
  return fingerprint_;
}

std::string FileSplit::file(int64_t index) const {
  return root_ + "/" + std::string(samples_.paths[index]);
}

std::string FileSplit::target_text(int64_t index) const {
  std::array<char, 32> text;
  char* const end = text.data() + text.size();
  const auto written =
      target_kind() == gh::TargetKind::classes
          ? std::to_chars(text.data(), end, samples_.targets.const_data_ptr<int64_t>()[index])
          : std::to_chars(text.data(), end, samples_.targets.const_data_ptr<double>()[index]);
  return {text.data(), written.ptr};
}

}  // namespace image_files
