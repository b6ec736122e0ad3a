#include "ranks/meeting_point.hpp"

#include "gh/error.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

namespace gh::host {
namespace {

using Clock = std::chrono::steady_clock;

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// Null when the name service could not answer now.
Addresses resolve(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  require(status == 0 || status == EAI_AGAIN, ErrorCode::io, "the name ", address, ": ",
          ::gai_strerror(status));
  return Addresses(status == 0 ? found : nullptr);
}

// 0, or the error number of the attempt.
int try_connect(const addrinfo& address, int milliseconds) {
  const int socket = ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                              address.ai_protocol);
  if (socket < 0) return errno;
  int error = ::connect(socket, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd waiting{socket, POLLOUT, 0};
    socklen_t size = sizeof error;
    if (::poll(&waiting, 1, milliseconds) <= 0)
      error = ETIMEDOUT;
    else
      ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  ::close(socket);
  return error;
}

}  // namespace

void require_known(const std::string& address) { resolve(address, 0); }

void await_listener(const std::string& address, int port, Clock::time_point deadline) {
  constexpr std::chrono::milliseconds kLongestPause(500);
  for (std::chrono::milliseconds pause(10);; pause = std::min(2 * pause, kLongestPause)) {
    int error = EAGAIN;
    const Addresses addresses = resolve(address, port);
    for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
      error = try_connect(*one, 1000);
      if (error == 0) return;
    }
    require(Clock::now() + pause < deadline, ErrorCode::io,
            "nobody listens there: ", std::strerror(error));
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace gh::host
