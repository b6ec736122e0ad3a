#include "study/data_facts.hpp"

#include "files/file_write.hpp"
#include "recipe/difference.hpp"
#include "recipe/toml.hpp"
#include "text/json.hpp"

#include "gh/digest.hpp"
#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostStamped = 4096;  // entries of a directory

std::string stamp_of_one(const fs::path& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return path.string() + " none\n";
  return fmt::format("{} {} {}.{}\n", path.string(), s.st_size, s.st_mtim.tv_sec,
                     s.st_mtim.tv_nsec);
}

std::string stamp_of(const fs::path& path) {
  std::vector<std::string> lines = {stamp_of_one(path)};
  std::error_code failure;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, failure);
  const fs::recursive_directory_iterator end;
  for (; !failure && at != end && lines.size() < kMostStamped; at.increment(failure))
    lines.push_back(stamp_of_one(at->path()));
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return Digest().add(text).hex();
}

const Table& data_of(const Recipe& recipe) { return *recipe.at("data").as<Table>(); }

// Resolving has made every path absolute.
bool may_be_path(const Value& value) {
  const std::string* text = value.as<std::string>();
  return text && text->starts_with('/');
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  require(in.is_open(), ErrorCode::missing_data, path, " is not there");
  Digest digest;
  std::vector<char> block(std::size_t{1} << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0)
    digest.add(std::string_view(block.data(), static_cast<std::size_t>(in.gcount())));
  return "sha256:" + digest.hex();
}

}  // namespace

struct DataFacts::Known {
  struct Fact {
    std::string stamp;
    DataFact fact;
  };
  std::map<std::string, Fact> before;  // of the file
  std::map<std::string, Fact> now;     // asked for since
  std::map<std::string, Error> failed;
  std::map<std::string, std::string> stamps;  // of paths, taken once
  bool changed = false;

  const std::string& stamp(const std::string& path) {
    const auto [at, fresh] = stamps.try_emplace(path);
    if (fresh) at->second = stamp_of(path);
    return at->second;
  }

  // What `find` says under `key`, unless it was asked before or an earlier plan knows it.
  DataFact get(const std::string& key, const std::string& stamp,
               const std::function<DataFact()>& find) {
    if (const auto at = now.find(key); at != now.end()) return at->second.fact;
    if (const auto at = failed.find(key); at != failed.end()) throw at->second;
    Fact fact{stamp, {}};
    const auto at = before.find(key);
    if (at != before.end() && at->second.stamp == stamp) {
      fact.fact = at->second.fact;
    } else {
      try {
        fact.fact = find();
      } catch (const Error& error) {
        failed.emplace(key, error);
        throw;
      }
      changed = true;
    }
    now.emplace(key, fact);
    return fact.fact;
  }
};

DataFacts::DataFacts(fs::path file, ReadData read)
    : file_(std::move(file)), read_(std::move(read)), known_(std::make_unique<Known>()) {
  std::ifstream in(file_, std::ios::binary);
  const Json json =
      parse_json_or_discard<Json>(std::string(std::istreambuf_iterator<char>(in), {}));
  if (!json.is_object()) return;
  try {
    for (const auto& [key, value] : json.items())
      known_->before[key] = {
          value.at("stamp").get<std::string>(),
          {value.at("fingerprint").get<std::string>(), value.at("samples").get<int64_t>()}};
  } catch (const nlohmann::json::exception&) {
    known_->before.clear();
  }
}

DataFacts::~DataFacts() = default;

std::string DataFacts::file_fingerprint(const std::string& path) {
  return known_
      ->get("file " + path, known_->stamp(path),
            [&] {
              return DataFact{content_of(path), 0};
            })
      .fingerprint;
}

DataFact DataFacts::of(const Recipe& recipe) {
  const Table& data = data_of(recipe);
  std::string stamps;
  for_each_leaf(data, [&](const std::string&, const Value& value) {
    if (may_be_path(value)) stamps += known_->stamp(*value.as<std::string>());
  });
  const std::string key = "data " + Digest().add(to_toml(data)).hex();
  DataFact fact = known_->get(key, Digest().add(stamps).hex(), [&] { return read_(recipe); });
  for_each_leaf(recipe.resolved, [&](const std::string& path, const Value& value) {
    if (path.starts_with("data.") || path == "name" || !may_be_path(value)) return;
    std::error_code failure;
    const std::string& file = *value.as<std::string>();
    if (fs::is_directory(file, failure)) return;
    try {
      fact.fingerprint += "\n" + path + " " + file_fingerprint(file);
    } catch (const Error& error) {
      fail(error.code(), path, ": ", error.what());
    }
  });
  return fact;
}

void DataFacts::save() const {
  if (!known_->changed) return;
  Json json = Json::object();
  const auto put = [&](const auto& facts) {
    for (const auto& [key, value] : facts)
      json[key] = {{"stamp", value.stamp},
                   {"fingerprint", value.fact.fingerprint},
                   {"samples", value.fact.samples}};
  };
  put(known_->before);
  put(known_->now);
  write_shared_file(file_, json_text(json, 1) + "\n");
}

}  // namespace gh::host
