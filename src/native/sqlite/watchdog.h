// Ends the statements of a connection after its time limit, in any state, because views of foreign files can be
// endless.
#pragma once

#include <sqlite3ext.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

SQLITE_EXTENSION_INIT3

namespace graticule::sqlite {

/** A thread that interrupts a connection from some time on. It ends before the connection does. */
class Watchdog {
 public:
  ~Watchdog() { stop(); }
  Watchdog() = default;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /** Throws std::system_error when there can be no thread. */
  void start(sqlite3* db, std::chrono::milliseconds time) {
    stop();
    stopped_ = false;
    thread_ = std::thread([this, db, end = std::chrono::steady_clock::now() + time] { watch(db, end); });
  }

  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  /** Interval of interrupts, so that statements that start later are also interrupted. */
  static constexpr std::chrono::milliseconds kRepetition{20};

  void watch(sqlite3* db, std::chrono::steady_clock::time_point end) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (wake_.wait_until(lock, end, [this] { return stopped_; })) return;
    do {
      sqlite3_interrupt(db);
    } while (!wake_.wait_for(lock, kRepetition, [this] { return stopped_; }));
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = true;
  std::thread thread_;
};

}  // namespace graticule::sqlite
