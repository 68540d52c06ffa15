// One connection to PostgreSQL over libpq. Nothing here knows Node.
#pragma once

#include <libpq-fe.h>

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace graticule::addon {

/** Error of the server or of the connection to it. Thrown. */
struct PgError {
  /**
   * SQLSTATE. 08006: the connection broke. 08001: the connection could not be opened for a reason that is not the
   * server's.
   */
  std::string state;
  std::string message;
};

using PgParams = std::vector<std::optional<std::string>>;

/**
 * Runs one statement at a time and passes its rows on as they arrive, so memory does not grow with the result. Used
 * by one thread; other threads may only call requestCancel(). A statement is prepared at its second use. Results are
 * binary.
 */
class PgConnection {
 public:
  PgConnection();
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  /** Connects by URL or keyword string as libpq does (environment, passfile, service). Throws PgError. */
  void connect(const std::string& url, int timeoutMs);
  /** Closes the connection. */
  void close();
  /** False once the connection is broken. */
  bool alive() const { return alive_; }

  /** True when no transaction is open: another user may have the connection. */
  bool settled() const { return alive_ && PQtransactionStatus(connection_) == PQTRANS_IDLE; }

  /** Whether the last statement was prepared before it was sent. */
  bool reused() const { return reused_; }
  /** Number of statements that are prepared now. */
  uint32_t preparedCount() const { return kept_; }

  /** Sends a statement; next() reads its rows, finish() must follow. */
  void send(const std::string& sql, const PgParams& params);
  /** The next row as a result of one row; null after the last. Valid until the next call. Throws PgError. */
  const PGresult* next();
  /** Ends the statement and cancels the unread rest. Never throws. */
  void finish() noexcept;

  /** Waits for a notification of a channel that the session listens to; false when none came in time. Throws PgError. */
  bool waitForNotification(int timeoutMs);

  /** Ends the statement that runs, or the next one if none does, with SQLSTATE 57014. Any thread. */
  void requestCancel();
  /** Forgets a cancellation that came too late. */
  void forgetCancel();

 private:
  using Clock = std::chrono::steady_clock;
  struct Statement {
    std::string sql;
    /** Empty until the second use of the statement. */
    std::string name;
  };
  using Statements = std::list<Statement>;
  struct ClearResult {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using Result = std::unique_ptr<PGresult, ClearResult>;

  Statement& statementOf(const std::string& sql);
  void prepare(Statement& statement);
  void deallocate(const Statement& statement);
  void runSimple(bool sent);
  Result readResult();
  void flush();
  void wait(short events, int timeoutMs);
  int pursueCancel();
  void cancelNow();
  bool takeNotifications();
  void expect(bool sent);
  [[noreturn]] void fail(const PGresult* result);
  [[noreturn]] void failConnection(const std::string& state);

  PGconn* connection_ = nullptr;
  bool alive_ = false;
  bool busy_ = false;
  /** A cancel request was sent for the statement in work. */
  bool cancelSent_ = false;
  Clock::time_point firstCancel_;
  Clock::time_point nextCancel_;
  Result row_;
  std::atomic<bool> cancelRequested_{false};
  /** A pipe that wakes wait(). */
  int wake_[2] = {-1, -1};
  /** Latest first. */
  Statements statements_;
  std::unordered_map<std::string, Statements::iterator> byText_;
  uint64_t prepared_ = 0;
  uint32_t kept_ = 0;
  bool reused_ = false;
};

}  // namespace graticule::addon
