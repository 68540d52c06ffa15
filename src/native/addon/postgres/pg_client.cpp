#include "pg_client.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "../../core/formats/options.h"
#include "pg_jobs.h"

namespace graticule::addon {
namespace {

/**
 * Runs jobs one at a time on its own thread. libpq can block there without using a thread of libuv's pool. The thread
 * inherits the priority of the thread that created it.
 */
class Client {
 public:
  explicit Client(napi_env env) : env_(env) {
    napi_value name;
    check(napi_create_string_utf8(env, "graticule.postgres", NAPI_AUTO_LENGTH, &name));
    check(napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this, settle,
                                          &settled_));
    // An idle connection keeps no thread of Node alive.
    napi_unref_threadsafe_function(env, settled_);
    napi_add_env_cleanup_hook(env, shutDown, this);
    thread_ = std::thread([this] { run(); });
  }
  ~Client() {
    napi_remove_env_cleanup_hook(env_, shutDown, this);
    shutDown(this);
  }

  /** `self` is the JavaScript object of this client: a job keeps it from being collected. */
  napi_value submit(napi_value self, std::unique_ptr<PgJob> job) {
    if (busy_ || stopping_) throw Failure{"the connection is in use or closed", false};
    napi_value promise;
    check(napi_create_promise(env_, &job->deferred, &promise));
    check(napi_create_reference(env_, self, 1, &self_));
    busy_ = true;
    session_.connection.forgetCancel();
    napi_ref_threadsafe_function(env_, settled_);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      next_ = std::move(job);
    }
    wake_.notify_one();
    return promise;
  }

  /** Whether no job runs and no transaction is open. */
  bool idle() const { return !busy_ && idle_; }

  /** Whether the last statement was prepared before it was sent. */
  bool reused() const { return reused_; }
  /** Number of statements that are prepared now. */
  uint32_t preparedCount() const { return prepared_; }

  void cancel() {
    if (busy_) session_.connection.requestCancel();
  }

  /** Ends the thread. A running job is cancelled. */
  void close() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    session_.connection.requestCancel();
    wake_.notify_one();
  }

 private:
  /** The connection's thread. */
  void run() {
    for (;;) {
      std::unique_ptr<PgJob> job;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || next_ != nullptr; });
        if (next_ == nullptr) break;
        job = std::move(next_);
      }
      runJob(*job);
      // The job belongs to Node's thread again. If that thread is ending, no caller waits for the job.
      if (napi_call_threadsafe_function(settled_, job.get(), napi_tsfn_blocking) == napi_ok) job.release();
    }
    session_.connection.close();
  }

  void runJob(PgJob& job) noexcept {
    try {
      job.work(session_);
    } catch (const PgError& error) {
      job.error = error;
    } catch (const std::bad_alloc&) {
      job.error = PgError{"53200", "out of memory"};
    } catch (...) {
      job.error = PgError{"XX000", "internal error in native code"};
    }
    if (job.error || job.endsStatement()) session_.connection.finish();
    alive_ = session_.connection.alive();
    idle_ = session_.connection.settled();
    reused_ = session_.connection.reused();
    prepared_ = session_.connection.preparedCount();
  }

  /** Node's thread: resolves or rejects the promise of a job. */
  static void settle(napi_env env, napi_value, void* context, void* data) {
    const std::unique_ptr<PgJob> job(static_cast<PgJob*>(data));
    if (env == nullptr) return;
    Client& client = *static_cast<Client*>(context);
    client.busy_ = false;
    napi_unref_threadsafe_function(env, client.settled_);
    napi_delete_reference(env, client.self_);
    try {
      if (job->error) {
        napi_reject_deferred(env, job->deferred, client.errorOf(*job->error));
      } else {
        napi_resolve_deferred(env, job->deferred, job->answer(env));
      }
    } catch (const Failure& failure) {
      napi_reject_deferred(env, job->deferred, client.errorOf({"XX000", failure.message}));
    } catch (...) {
      napi_reject_deferred(env, job->deferred, client.errorOf({"53200", "out of memory"}));
    }
  }

  napi_value errorOf(const PgError& error) const {
    napi_value result = nullptr;
    // A pending exception would make every further call fail.
    bool pending = false;
    napi_is_exception_pending(env_, &pending);
    if (pending) napi_get_and_clear_last_exception(env_, &result);
    check(napi_create_error(env_, toText(env_, error.state), toText(env_, error.message), &result));
    setProperty(env_, result, "alive", toBoolean(env_, alive_));
    return result;
  }

  /** Ends the thread and waits for that. Also called when the environment ends with the client still there. */
  static void shutDown(void* data) {
    Client& client = *static_cast<Client*>(data);
    if (!client.thread_.joinable()) return;
    client.close();
    client.thread_.join();
    napi_release_threadsafe_function(client.settled_, napi_tsfn_abort);
  }

  napi_env env_;
  napi_threadsafe_function settled_ = nullptr;
  napi_ref self_ = nullptr;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::unique_ptr<PgJob> next_;
  bool stopping_ = false;
  /** Between submit() and settle(); Node's thread only. */
  bool busy_ = false;
  /** Written before a job is returned, and read afterwards. */
  bool alive_ = false;
  bool idle_ = false;
  bool reused_ = false;
  uint32_t prepared_ = 0;
  PgSession session_;
};

Client& clientOf(napi_env env, napi_value self) {
  void* data = nullptr;
  if (napi_unwrap(env, self, &data) != napi_ok) throw Failure{"this is not a PostgresConnection", true};
  return *static_cast<Client*>(data);
}

napi_value submit(napi_env env, napi_value self, std::unique_ptr<PgJob> job) {
  return clientOf(env, self).submit(self, std::move(job));
}

/** (sql, params: (string | null)[]) */
PgStatement statementOf(napi_env env, napi_value sql, napi_value params) {
  PgStatement statement{requireText(env, sql, "sql"), {}};
  uint32_t count = 0;
  if (napi_get_array_length(env, params, &count) != napi_ok) throw Failure{"params must be an array", true};
  // The protocol counts parameters in 16 bits.
  if (count > 65'535) throw Failure{"there are too many parameters", true};
  for (uint32_t i = 0; i < count; ++i) {
    napi_value value;
    check(napi_get_element(env, params, i, &value));
    std::string text;
    const bool isText = readText(env, value, text);
    statement.params.push_back(isText ? std::optional<std::string>(std::move(text)) : std::nullopt);
  }
  return statement;
}

napi_value construct(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  napi_value target = nullptr;
  check(napi_get_new_target(env, info, &target));
  if (target == nullptr) throw Failure{"PostgresConnection must be called with new", true};
  auto client = std::make_unique<Client>(env);
  const auto destroy = [](napi_env, void* data, void*) { delete static_cast<Client*>(data); };
  check(napi_wrap(env, arguments.self, client.get(), destroy, nullptr, nullptr));
  client.release();
  return arguments.self;
}

napi_value connect(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const auto timeoutMs = static_cast<int>(requireNumber(env, arguments[1], "timeoutMs"));
  return submit(env, arguments.self, connectJob(requireText(env, arguments[0], "url"), timeoutMs));
}

napi_value query(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  return submit(env, arguments.self, queryJob(statementOf(env, arguments[0], arguments[1])));
}

napi_value open(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  return submit(env, arguments.self, openJob(statementOf(env, arguments[0], arguments[1])));
}

napi_value fetch(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const double maxRows = requireNumber(env, arguments[0], "maxRows");
  if (!(maxRows >= 1 && maxRows <= 1e6)) throw Failure{"maxRows must be 1 to 1000000", true};
  return submit(env, arguments.self, fetchJob(static_cast<size_t>(maxRows)));
}

napi_value finish(napi_env env, napi_callback_info info) {
  const Arguments<0> arguments(env, info);
  return submit(env, arguments.self, finishJob());
}

napi_value notified(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  return submit(env, arguments.self,
                notifiedJob(static_cast<int>(requireNumber(env, arguments[0], "timeoutMs"))));
}

napi_value page(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  PageOptions options;
  std::string error;
  if (!parsePageOptions(requireText(env, arguments[2], "options"), options, error)) throw Failure{error, true};
  PgStatement statement = statementOf(env, arguments[0], arguments[1]);
  return submit(env, arguments.self, pageJob(std::move(statement), std::move(options)));
}

napi_value tile(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  TileLayerOptions options;
  std::string error;
  if (!parseTileOptions(requireText(env, arguments[2], "options"), options, error)) throw Failure{error, true};
  PgStatement statement = statementOf(env, arguments[0], arguments[1]);
  return submit(env, arguments.self, tileJob(std::move(statement), std::move(options)));
}

napi_value sceneTile(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  SceneTileOptions options;
  std::string error;
  if (!parseSceneTileOptions(requireText(env, arguments[2], "options"), options, error)) throw Failure{error, true};
  PgStatement statement = statementOf(env, arguments[0], arguments[1]);
  return submit(env, arguments.self, sceneTileJob(std::move(statement), std::move(options)));
}

napi_value cancel(napi_env env, napi_callback_info info) {
  const Arguments<0> arguments(env, info);
  clientOf(env, arguments.self).cancel();
  return nullptr;
}

napi_value idle(napi_env env, napi_callback_info info) {
  const Arguments<0> arguments(env, info);
  return toBoolean(env, clientOf(env, arguments.self).idle());
}

napi_value reused(napi_env env, napi_callback_info info) {
  const Arguments<0> arguments(env, info);
  return toBoolean(env, clientOf(env, arguments.self).reused());
}

napi_value prepared(napi_env env, napi_callback_info info) {
  const Arguments<0> arguments(env, info);
  return toNumber(env, clientOf(env, arguments.self).preparedCount());
}

napi_value close(napi_env env, napi_callback_info info) {
  const Arguments<0> arguments(env, info);
  clientOf(env, arguments.self).close();
  return nullptr;
}

napi_property_descriptor method(const char* name, napi_callback callback) {
  return {name, nullptr, callback, nullptr, nullptr, nullptr, napi_default_method, nullptr};
}

}  // namespace

napi_value definePostgresConnection(napi_env env) {
  const napi_property_descriptor members[] = {
      method("connect", guarded<connect>), method("query", guarded<query>),   method("open", guarded<open>),
      method("fetch", guarded<fetch>),     method("finish", guarded<finish>), method("page", guarded<page>),
      method("tile", guarded<tile>),
      method("sceneTile", guarded<sceneTile>),       method("cancel", guarded<cancel>), method("close", guarded<close>),
      method("notified", guarded<notified>),
      {"idle", nullptr, nullptr, guarded<idle>, nullptr, nullptr, napi_default, nullptr},
      {"reused", nullptr, nullptr, guarded<reused>, nullptr, nullptr, napi_default, nullptr},
      {"prepared", nullptr, nullptr, guarded<prepared>, nullptr, nullptr, napi_default, nullptr},
  };
  napi_value constructor;
  check(napi_define_class(env, "PostgresConnection", NAPI_AUTO_LENGTH, guarded<construct>, nullptr,
                          std::size(members), members, &constructor));
  return constructor;
}

}  // namespace graticule::addon
