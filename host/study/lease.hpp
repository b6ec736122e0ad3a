// Leases: of all workers on a shared directory, one works on a job at a time.
//
// The lease of a job is the file DIR/<job>.<n> with the highest n. To take it is to create the file
// of the next number, which a file system grants to one process alone (O_EXCL; NFS has it since its
// version 3). Such a file is written by whoever created it and by nobody else, and is never
// removed: so no list that is a little old, and no clock of another machine, can make two of one.
//
// The next one may be taken when the holder has given it back, when it was a process of this
// machine that is gone, or when its beats have not counted on for its grace period, by the clock of
// whoever watches. A holder that could not beat for half of that time has lost its lease already,
// whether somebody took it or not.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace gh::host {

struct LeaseRules {
  double grace = 60;                   // seconds
  std::string machine = {};            // who this is; empty: this machine, and its set of processes
  std::function<double()> clock = {};  // seconds; empty: the system's
};

struct LeaseHolder {
  std::string machine;
  int64_t process = 0;
};

class Leases {
 public:
  enum class Taken { no, yes, from_the_dead };  // the last: whoever had it did not give it back

  // There may be no such directory until one is taken. What reads or writes a file throws gh::Error
  // (io).
  explicit Leases(const std::filesystem::path& directory, LeaseRules rules = {});
  ~Leases();  // gives all of them back
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

  // Two calls at least, a grace period apart, are needed to take one whose holder cannot be asked.
  Taken take(const std::string& job);
  // Whether there has been a lease of this job ever.
  bool is_known(const std::string& job) const;
  // Who holds it, as far as can be told now: of another machine that fell silent, not before its
  // grace period has passed between two calls.
  std::optional<LeaseHolder> holder(const std::string& job);

  // Whether this process still has it. If not, what is done under it has to end at once. Any
  // thread; looks at no file.
  bool holds(const std::string& job) const;
  void give_back(const std::string& job);
  // Tells the others that this process lives, and finds out what it has lost. Any thread.
  void beat();
  double grace() const { return rules_.grace; }

 private:
  struct Written;  // what a file says
  struct Seen {    // the file of the highest number
    int64_t number = 0;
    std::string text;
    double since = 0;  // when it first had this text
  };
  struct Held {
    std::filesystem::path file, next;
    std::string token;
    int64_t beats = 0;
    double beaten = 0;  // when the last beat began that was written
    bool lost = false;
  };

  std::filesystem::path file_of(const std::string& job, int64_t number) const;
  std::string text_of(const Held& held, bool given_back) const;
  Seen& look(const std::string& job);
  bool is_dead(const Seen& seen, const Written& written) const;
  bool write_beat(const Held& held) const;
  double watched_time() const;  // stands still while the machine sleeps: others may sleep with it
  double held_time() const;     // goes on

  std::filesystem::path directory_;
  LeaseRules rules_;
  std::string process_;  // "number start"
  std::map<std::string, Seen> seen_;
  mutable std::mutex mutex_;          // of held_
  std::map<std::string, Held> held_;  // by job
  std::mutex writing_;                // beats and giving back take turns
};

// Beats twelve times a grace period while it lives.
class LeaseHeart {
 public:
  explicit LeaseHeart(Leases& leases);
  ~LeaseHeart();
  LeaseHeart(const LeaseHeart&) = delete;
  LeaseHeart& operator=(const LeaseHeart&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace gh::host
