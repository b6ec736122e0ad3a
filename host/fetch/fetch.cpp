#include "fetch/fetch.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <curl/curl.h>
#include <dlfcn.h>

#include <array>
#include <memory>
#include <string_view>

namespace gh::host {
namespace {

constexpr long kSlowestBytes = 100, kPatience = 30, kMostRedirections = 5;

bool is_on_network(std::string_view address) {
  return address.starts_with("http://") || address.starts_with("https://");
}

// Loaded for good, as libcurl and what it brings set up things of the whole process.
class Curl {
 public:
  Curl() {
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
      if (library_ == nullptr) library_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    require(library_ != nullptr, ErrorCode::io,
            "URLs need libcurl (package libcurl4), which is not here; a path needs nothing");
    take("curl_easy_init", init);
    take("curl_easy_setopt", setopt);
    take("curl_easy_perform", perform);
    take("curl_easy_getinfo", getinfo);
    take("curl_easy_strerror", strerror);
    take("curl_easy_cleanup", cleanup);
  }

  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_setopt) setopt = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_getinfo) getinfo = nullptr;
  decltype(&curl_easy_strerror) strerror = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;

 private:
  template <class Function>
  void take(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    require(function != nullptr, ErrorCode::io, "libcurl has no ", name);
  }
  void* library_ = nullptr;
};

struct Body {
  std::string bytes;
  std::size_t most;
};

extern "C" std::size_t append(char* data, std::size_t, std::size_t size, void* body) {
  auto& out = *static_cast<Body*>(body);
  if (size > out.most - out.bytes.size()) return 0;
  try {  // nothing is thrown through libcurl
    out.bytes.append(data, size);
  } catch (...) {
    return 0;
  }
  return size;
}

std::string download(const std::string& url, std::size_t most) {
  const Curl curl;
  const std::unique_ptr<CURL, decltype(curl.cleanup)> easy(curl.init(), curl.cleanup);
  require(easy != nullptr, ErrorCode::io, "libcurl does not start");
  Body body{{}, most};
  std::array<char, CURL_ERROR_SIZE> why{};
  const auto set = [&](CURLoption option, auto value) {
    const CURLcode done = curl.setopt(easy.get(), option, value);
    require(done == CURLE_OK, ErrorCode::io, "libcurl: ", curl.strerror(done));
  };
  // What begins encrypted stays so.
  const char* const protocols = url.starts_with("https://") ? "https" : "http,https";
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, protocols);
  set(CURLOPT_REDIR_PROTOCOLS_STR, protocols);
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, kMostRedirections);
  set(CURLOPT_CONNECTTIMEOUT, kPatience);
  set(CURLOPT_LOW_SPEED_LIMIT, kSlowestBytes);
  set(CURLOPT_LOW_SPEED_TIME, kPatience);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "ghhost");
  set(CURLOPT_ERRORBUFFER, why.data());
  set(CURLOPT_WRITEFUNCTION, &append);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&body));
  const CURLcode done = curl.perform(easy.get());
  if (done == CURLE_OK) return std::move(body.bytes);
  require(done != CURLE_WRITE_ERROR, ErrorCode::io, url, ": more than ", most, " bytes");
  long status = 0;
  curl.getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  fail(status == 404 || status == 410 ? ErrorCode::missing_data : ErrorCode::io, url, ": ",
       why[0] != '\0' ? why.data() : curl.strerror(done));
}

}  // namespace

std::string resolve_address(const std::string& base, const std::string& address) {
  const bool remote = is_on_network(base);
  if (is_on_network(address)) return address;
  require(address.find("://") == std::string::npos, ErrorCode::invalid_param, base, " leads to ",
          address, ": expected http, https or a path");
  if (remote) {
    const std::size_t host = base.find("://") + 3;
    const std::size_t path = base.find('/', host);
    if (path == std::string::npos) return base + (address.starts_with('/') ? "" : "/") + address;
    return base.substr(0, address.starts_with('/') ? path : base.rfind('/') + 1) + address;
  }
  if (address.starts_with('/')) return address;
  const std::size_t slash = base.rfind('/');
  return (slash == std::string::npos ? "" : base.substr(0, slash + 1)) + address;
}

std::string fetch(const std::string& address, std::size_t most) {
  if (is_on_network(address)) return download(address, most);
  require(address.find("://") == std::string::npos, ErrorCode::invalid_param, address,
          ": expected http, https or a path");
  std::string bytes = read_regular_file(address, most + 1);
  require(bytes.size() <= most, ErrorCode::io, address, ": more than ", most, " bytes");
  return bytes;
}

}  // namespace gh::host
