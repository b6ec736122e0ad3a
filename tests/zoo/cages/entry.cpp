// Entries that misbehave; ZOO_CASE picks how.
#include "zoo.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <unistd.h>

ZOO_ENTRY {
  switch (ZOO_CASE) {
    case 0:
      *out = nullptr;
      return 0;
    case 1:
      return 0;  // leaves *out as it was
    case 2:
      host->fail(host->sink, "the animal is asleep");
      return 3;
    case 3:
      throw std::runtime_error("bites the keeper");
    case 4:
      throw 42;
    case 5:
      std::exit(5);
    case 6:
      _exit(6);
    case 7:
      for (;;) usleep(1000);
    case 8:
      *reinterpret_cast<volatile int*>(16) = 1;
      return 0;
    case 9:
      std::fputs("roars\n", stderr);
      std::abort();
    case 10:
      raise(SIGKILL);
      return 0;
    case 11:
      // A child that outlives the entry and keeps the pipes open.
      if (fork() == 0) {
        sleep(30);
        _exit(0);
      }
      _exit(11);
  }
  return 1;
}
