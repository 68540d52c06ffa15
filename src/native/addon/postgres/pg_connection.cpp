#include "pg_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

namespace graticule::addon {
namespace {

constexpr size_t kMaxStatements = 64;
constexpr int kForever = -1;
/** Milliseconds that a server has to end a cancelled statement before the connection is closed. */
constexpr int kCancelMs = 5000;
/** Milliseconds until a cancellation is sent again. The time doubles with each repetition. */
constexpr int kFirstCancelMs = 50;
constexpr const char* kBroken = "08006";
constexpr const char* kUnreachable = "08001";
constexpr const char* kCancelled = "57014";
constexpr int kBinary = 1;

int millisecondsUntil(std::chrono::steady_clock::time_point end) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left);
}

void ignoreNotice(void*, const char*) {}

std::string trimmed(const char* text) {
  std::string message = text == nullptr ? "" : text;
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.pop_back();
  return message;
}

/**
 * Returns the SQLSTATE in the message of a server that refused a connection: `FATAL: 53300: sorry`. libpq does not
 * expose it otherwise.
 */
std::string stateIn(const std::string& message) {
  constexpr size_t kSize = 5;
  for (size_t at = message.find(":  "); at != std::string::npos; at = message.find(":  ", at + 1)) {
    const size_t begin = at + 3;
    const size_t end = message.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", begin);
    if (end == begin + kSize && message.compare(end, 2, ": ") == 0) return message.substr(begin, kSize);
  }
  return kUnreachable;
}

/**
 * Throws for a URL that libpq cannot read. The message does not contain libpq's text, which can contain the password.
 */
void checkUrl(const std::string& url) {
  char* error = nullptr;
  PQconninfoOption* options = PQconninfoParse(url.c_str(), &error);
  const bool readable = options != nullptr;
  PQconninfoFree(options);
  PQfreemem(error);
  if (!readable) throw PgError{kUnreachable, "the URL of the database cannot be read"};
}

}  // namespace

PgConnection::PgConnection() {
  if (pipe(wake_) != 0) throw std::bad_alloc();
  for (const int end : wake_) {
    fcntl(end, F_SETFL, O_NONBLOCK);
    fcntl(end, F_SETFD, FD_CLOEXEC);
  }
}

PgConnection::~PgConnection() {
  close();
  for (const int end : wake_) ::close(end);
}

void PgConnection::connect(const std::string& url, int timeoutMs) {
  // Keywords before `dbname` are defaults that the URL overrides. Keywords after it cannot be overridden.
  const char* keywords[] = {"application_name", "keepalives_idle", "keepalives_interval", "keepalives_count",
                            "tcp_user_timeout", "dbname",          "client_encoding",     nullptr};
  // A server that vanished is detected within 20 s, before the requests of its clients time out.
  const char* values[] = {"graticule", "5", "5", "3", "10000", url.c_str(), "UTF8", nullptr};
  checkUrl(url);
  close();
  connection_ = PQconnectStartParams(keywords, values, 1);
  if (connection_ == nullptr) throw std::bad_alloc();
  if (PQstatus(connection_) == CONNECTION_BAD) failConnection(kUnreachable);
  PQsetNoticeProcessor(connection_, ignoreNotice, nullptr);
  PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE);
  const auto end = Clock::now() + std::chrono::milliseconds(timeoutMs);
  for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK; state = PQconnectPoll(connection_)) {
    if (state == PGRES_POLLING_FAILED) failConnection(stateIn(PQerrorMessage(connection_)));
    if (cancelRequested_) throw PgError{kCancelled, "the connection was given up"};
    const int left = millisecondsUntil(end);
    if (left == 0) throw PgError{kUnreachable, "the server did not answer in time"};
    wait(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, left);
  }
  PQsetErrorVerbosity(connection_, PQERRORS_DEFAULT);
  if (PQsetnonblocking(connection_, 1) != 0) failConnection(kUnreachable);
  alive_ = true;
}

void PgConnection::close() {
  row_.reset();
  if (connection_ != nullptr) PQfinish(connection_);
  connection_ = nullptr;
  alive_ = busy_ = false;
  statements_.clear();
  byText_.clear();
}

void PgConnection::send(const std::string& sql, const PgParams& params) {
  if (!alive_) throw PgError{kBroken, "the connection is closed"};
  if (busy_) throw PgError{"55000", "a statement runs already"};
  std::vector<const char*> values;
  values.reserve(params.size());
  for (const auto& param : params) values.push_back(param ? param->c_str() : nullptr);
  const int count = static_cast<int>(values.size());
  cancelSent_ = false;
  Statement& statement = statementOf(sql);
  busy_ = true;
  expect(statement.name.empty()
             ? PQsendQueryParams(connection_, sql.c_str(), count, nullptr, values.data(), nullptr, nullptr, kBinary)
             : PQsendQueryPrepared(connection_, statement.name.c_str(), count, values.data(), nullptr, nullptr,
                                   kBinary));
  PQsetSingleRowMode(connection_);
  flush();
}

const PGresult* PgConnection::next() {
  for (;;) {
    row_ = readResult();
    if (row_ == nullptr) {
      busy_ = false;
      return nullptr;
    }
    switch (PQresultStatus(row_.get())) {
      case PGRES_SINGLE_TUPLE: return row_.get();
      case PGRES_TUPLES_OK:
      case PGRES_COMMAND_OK:
      case PGRES_EMPTY_QUERY: break;
      default: {
        const Result failed = std::move(row_);
        finish();
        fail(failed.get());
      }
    }
  }
}

void PgConnection::finish() noexcept {
  try {
    // The end may already have been sent: only a statement that still sends rows is cancelled.
    for (bool first = true; busy_; first = false) {
      row_ = readResult();
      if (row_ == nullptr) busy_ = false;
      if (first && row_ != nullptr && PQresultStatus(row_.get()) == PGRES_SINGLE_TUPLE) cancelNow();
    }
  } catch (...) {
    alive_ = false;
    busy_ = false;
  }
  row_.reset();
}

bool PgConnection::waitForNotification(int timeoutMs) {
  if (!alive_) throw PgError{kBroken, "the connection is closed"};
  cancelSent_ = false;
  const auto end = Clock::now() + std::chrono::milliseconds(timeoutMs);
  for (;;) {
    // A notification can have arrived with the result of a statement.
    if (takeNotifications()) return true;
    if (cancelRequested_) throw PgError{kCancelled, "the wait was given up"};
    const int left = millisecondsUntil(end);
    if (left == 0) return false;
    wait(POLLIN, left);
    if (PQconsumeInput(connection_) == 0) failConnection(kBroken);
  }
}

bool PgConnection::takeNotifications() {
  bool found = false;
  for (PGnotify* one = PQnotifies(connection_); one != nullptr; one = PQnotifies(connection_)) {
    found = true;
    PQfreemem(one);
  }
  return found;
}

void PgConnection::requestCancel() {
  cancelRequested_ = true;
  const char byte = 0;
  // A full pipe wakes as well as a fuller one.
  [[maybe_unused]] const auto written = write(wake_[1], &byte, 1);
}

void PgConnection::forgetCancel() {
  cancelRequested_ = false;
  char bytes[64];
  while (read(wake_[0], bytes, sizeof bytes) > 0) continue;
}

/** The kept statement of a text, now the latest; its second use prepares it. */
PgConnection::Statement& PgConnection::statementOf(const std::string& sql) {
  const auto found = byText_.find(sql);
  reused_ = found != byText_.end() && !found->second->name.empty();
  if (found != byText_.end()) {
    statements_.splice(statements_.begin(), statements_, found->second);
    if (statements_.front().name.empty()) prepare(statements_.front());
    return statements_.front();
  }
  // A failed transaction accepts only its end, so the oldest statements stay until then.
  const bool hasFailed = PQtransactionStatus(connection_) == PQTRANS_INERROR;
  while (!hasFailed && statements_.size() >= kMaxStatements) {
    if (!statements_.back().name.empty()) deallocate(statements_.back());
    byText_.erase(statements_.back().sql);
    statements_.pop_back();
  }
  statements_.push_front({sql, ""});
  byText_.emplace(sql, statements_.begin());
  return statements_.front();
}

void PgConnection::prepare(Statement& statement) {
  const std::string name = "s" + std::to_string(++prepared_);
  runSimple(PQsendPrepare(connection_, name.c_str(), statement.sql.c_str(), 0, nullptr) == 1);
  statement.name = name;
  ++kept_;
}

void PgConnection::deallocate(const Statement& statement) {
  runSimple(PQsendQuery(connection_, ("DEALLOCATE " + statement.name).c_str()) == 1);
  --kept_;
}

/** Completes statements that return no rows. */
void PgConnection::runSimple(bool sent) {
  busy_ = true;
  expect(sent);
  flush();
  while (next() != nullptr) continue;
}

/** Waits for a result; null when the statement has ended. */
PgConnection::Result PgConnection::readResult() {
  while (PQisBusy(connection_) == 1) {
    wait(POLLIN, pursueCancel());
    if (PQconsumeInput(connection_) == 0) failConnection(kBroken);
  }
  // Rows that have arrived already would keep a cancelled statement busy without a wait.
  if (cancelRequested_ && !cancelSent_ && busy_) cancelNow();
  return Result(PQgetResult(connection_));
}

/**
 * Sends a requested cancellation, and repeats it after a while, because a cancellation that reaches the session
 * before the statement is lost. Returns the time to wait for the end.
 */
int PgConnection::pursueCancel() {
  if (!cancelRequested_ && !cancelSent_) return kForever;
  const auto now = Clock::now();
  if (!cancelSent_ || now >= nextCancel_) cancelNow();
  if (now - firstCancel_ > std::chrono::milliseconds(kCancelMs)) failConnection(kBroken);
  return millisecondsUntil(nextCancel_) + 1;
}

void PgConnection::flush() {
  for (int left = PQflush(connection_); left != 0; left = PQflush(connection_)) {
    if (left < 0) failConnection(kBroken);
    wait(POLLIN | POLLOUT, kForever);
    if (PQconsumeInput(connection_) == 0) failConnection(kBroken);
  }
}

/** Waits for the socket, a cancellation or the time. */
void PgConnection::wait(short events, int timeoutMs) {
  // Once the request is sent, the byte in the pipe would only make this spin.
  const bool listen = !cancelSent_ && !cancelRequested_;
  pollfd watched[] = {{PQsocket(connection_), events, 0}, {listen ? wake_[0] : -1, POLLIN, 0}};
  while (poll(watched, 2, timeoutMs) < 0) {
    if (errno != EINTR) throw PgError{kBroken, "waiting for the server failed"};
  }
}

void PgConnection::cancelNow() {
  const auto now = Clock::now();
  if (!cancelSent_) firstCancel_ = now;
  cancelSent_ = true;
  // Each wait is as long as all before it.
  nextCancel_ = now + std::max<Clock::duration>(now - firstCancel_, std::chrono::milliseconds(kFirstCancelMs));
  PGcancel* cancel = PQgetCancel(connection_);
  if (cancel == nullptr) return;
  char error[256];
  PQcancel(cancel, error, sizeof error);
  PQfreeCancel(cancel);
}

void PgConnection::expect(bool sent) {
  if (!sent) failConnection(kBroken);
}

void PgConnection::fail(const PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  // Class 57P: the server ends the session, even if the socket does not show it yet.
  const bool ending = state != nullptr && std::strncmp(state, "57P", 3) == 0;
  if (ending || PQstatus(connection_) == CONNECTION_BAD) alive_ = false;
  throw PgError{state == nullptr ? kBroken : state, trimmed(PQresultErrorMessage(result))};
}

void PgConnection::failConnection(const std::string& state) {
  alive_ = false;
  busy_ = false;
  throw PgError{state, trimmed(PQerrorMessage(connection_))};
}

}  // namespace graticule::addon
