#include "folder_walk.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace image_files {
namespace {

namespace fs = std::filesystem;

// "30 .webp, 4 without one and 5 others", the most frequent first.
std::string by_ending(const std::map<std::string, int64_t>& endings) {
  constexpr std::size_t kShown = 5;
  std::vector<std::pair<std::string, int64_t>> sorted(endings.begin(), endings.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  int64_t others = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& [ending, count] = sorted[i];
    if (i >= kShown)
      others += count;
    else
      text += (i ? ", " : "") + std::to_string(count) +
              (ending.empty() ? " without one" : " ." + ending);
  }
  return others > 0 ? text + " and " + std::to_string(others) + " others" : text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::string ending_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  std::string out(dot == name.npos ? "" : name.substr(dot + 1));
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

FolderWalk::FolderWalk(std::string root, std::vector<std::string> extensions)
    : root_(std::move(root)), extensions_(std::move(extensions)) {
  enter("");
}

bool FolderWalk::is_image(std::string_view name) const {
  return name.find('.') != name.npos &&
         std::find(extensions_.begin(), extensions_.end(), ending_of(name)) != extensions_.end();
}

bool FolderWalk::enter(const std::string& path) {
  const std::string full = root_ + "/" + path;
  struct stat status {};
  // What cannot be looked at is told of when it is listed.
  return ::stat(full.c_str(), &status) != 0 ||
         entered_.emplace(status.st_dev, status.st_ino).second;
}

Directory FolderWalk::list(const std::string& path) {
  Directory found;
  std::error_code problem;
  const std::string full = root_ + "/" + path;
  for (const auto& entry : fs::directory_iterator(full, problem)) {
    gh::throw_if_interrupted();
    const std::string name = entry.path().filename().string();
    std::error_code unknown;
    if (name.starts_with('.'))
      ++hidden_;
    else if (entry.is_directory(unknown))
      (entry.is_symlink(unknown) ? found.links : found.directories).push_back(name);
    else if (is_image(name))
      found.images.push_back(name);
    else
      ++endings_[ending_of(name)];
  }
  gh::require(!problem, gh::ErrorCode::io, full, " cannot be listed: ", problem.message());
  for (auto* names : {&found.directories, &found.links, &found.images})
    std::sort(names->begin(), names->end());
  return found;
}

// Real directories first: a link may lead to one of them.
std::vector<std::string> FolderWalk::enter_each(const std::string& path, const Directory& found) {
  enter(path);
  std::vector<std::string> names;
  for (const auto* some : {&found.directories, &found.links})
    for (const std::string& name : *some)
      if (enter(path + "/" + name))
        names.push_back(name);
      else
        not_followed_.push_back(path + "/" + name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> FolderWalk::images_below(const std::string& path) {
  std::vector<std::string> images, links;
  visit(path, images, links);
  for (std::size_t i = 0; i < links.size(); ++i) {  // which may lead to more of them
    const std::string link = links[i];
    if (enter(link))
      visit(link, images, links);
    else
      not_followed_.push_back(link);
  }
  std::sort(images.begin(), images.end());
  return images;
}

void FolderWalk::visit(const std::string& path, std::vector<std::string>& images,
                       std::vector<std::string>& links) {
  const Directory found = list(path);
  for (const std::string& name : found.images) images.push_back(path + "/" + name);
  for (const std::string& name : found.links) links.push_back(path + "/" + name);
  for (const std::string& name : found.directories)
    if (enter(path + "/" + name))
      visit(path + "/" + name, images, links);
    else
      not_followed_.push_back(path + "/" + name);
}

void FolderWalk::tell(std::string_view split, int64_t kept, gh::Notices& notices) const {
  const std::string of = "split '" + std::string(split) + "': ";
  int64_t files = 0;
  for (const auto& entry : endings_) files += entry.second;
  if (files > 0)
    notices.say(gh::Severity::warning,
                of + std::to_string(files) + " of " + std::to_string(files + kept) +
                    " files were left out for their endings: " + by_ending(endings_) +
                    "; read are those of `extensions`: " + joined(extensions_));
  if (!not_followed_.empty())
    notices.say(gh::Severity::warning, of + std::to_string(not_followed_.size()) +
                                           " links to directories that are read already, or lie "
                                           "around them, were not followed: " +
                                           some_of(not_followed_));
  if (hidden_ > 0)
    notices.say(gh::Severity::info,
                of + std::to_string(hidden_) + " hidden files and directories were left out");
}

}  // namespace image_files
