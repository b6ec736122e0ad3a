#include "file_split.hpp"

#include "gh/digest.hpp"
#include "gh/interrupt.hpp"
#include "gh/regular_file.hpp"

#include <ATen/ops/empty.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace image_files {
namespace {

template <class T>
at::Tensor copied(const std::vector<T>& values, at::ScalarType type) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, type);
  std::copy(values.begin(), values.end(), tensor.data_ptr<T>());
  return tensor;
}

// A file that is not there is an error when it is read.
std::string size_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? std::to_string(status.st_size) : "absent";
}

std::string content_of(const std::string& path) {
  try {
    gh::Digest digest;
    digest.add(gh::read_regular_file(path));
    return digest.hex();
  } catch (const gh::Error&) {
    return "unreadable";
  }
}

}  // namespace

at::Tensor to_tensor(const std::vector<int64_t>& labels) { return copied(labels, at::kLong); }
at::Tensor to_tensor(const std::vector<double>& targets) { return copied(targets, at::kDouble); }

Coverage coverage_from(const gh::Params& params) {
  return params.text("fingerprint") == "content" ? Coverage::content : Coverage::listing;
}

FileSplit::FileSplit(std::string root, Samples samples, Listing listing, Coverage coverage)
    : root_(std::move(root)), samples_(std::move(samples)), listing_(listing), coverage_(coverage) {
  samples_.paths.shrink_to_fit();
}

void FileSplit::tell_coverage(std::string_view split, gh::Notices& notices) const {
  const bool sizes = listing_ == Listing::with_sizes, content = coverage_ == Coverage::content;
  notices.say(gh::Severity::detail,
              "split '" + std::string(split) + "': the fingerprint is of paths, targets and " +
                  (content ? "contents of the files"
                   : sizes ? "sizes of the files, not of what is in them"
                           : "nothing else of the files") +
                  (content ? "" : "; fingerprint = \"content\" takes their bytes in"));
}

gh::TargetKind FileSplit::target_kind() const {
  return samples_.targets.scalar_type() == at::kLong ? gh::TargetKind::classes
                                                     : gh::TargetKind::real;
}

void FileSplit::read(int64_t index, gh::SampleSink& sink) const {
  const std::string path = file(index);
  const std::string bytes = gh::read_regular_file(path);
  gh::require(!bytes.empty(), gh::ErrorCode::io, path, " is empty; expected an image");
  sink.encoded({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, path);
}

std::string FileSplit::fingerprint() const {
  std::call_once(digested_, [this] {
    gh::Digest digest;
    for (int64_t i = 0; i < size(); ++i) {
      gh::throw_if_interrupted();
      std::string line(samples_.paths[i]);
      line.append(listing_ == Listing::published ? " " : "\t").append(target_text(i));
      if (coverage_ == Coverage::content)
        line.append("\t").append(content_of(file(i)));
      else if (listing_ == Listing::with_sizes)
        line.append("\t").append(size_of(file(i)));
      digest.add(line.append("\n"));
    }
    fingerprint_ =
        (coverage_ == Coverage::content ? "sha256-of-contents:" : "sha256:") + digest.hex();
  });
  return fingerprint_;
}

std::string FileSplit::name(int64_t index) const { return std::string(samples_.paths[index]); }

std::string FileSplit::file(int64_t index) const { return root_ + "/" + name(index); }

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
