#include "job.h"

namespace graticule::addon {
namespace {

struct Started {
  std::unique_ptr<Job> job;
  bool failed = false;
  std::string reason = "the work could not be carried out";
  napi_ref held = nullptr;
  napi_deferred promise = nullptr;
  napi_async_work work = nullptr;
};

void execute(napi_env, void* data) {
  auto& started = *static_cast<Started*>(data);
  try {
    started.job->run();
  } catch (const Failure& failure) {
    started.failed = true;
    started.reason = failure.message;
  } catch (...) {
    started.failed = true;
  }
}

void reject(napi_env env, napi_deferred promise, const std::string& reason) {
  napi_value text = nullptr;
  napi_value error = nullptr;
  napi_create_string_utf8(env, reason.data(), reason.size(), &text);
  napi_create_error(env, nullptr, text, &error);
  napi_reject_deferred(env, promise, error);
}

void settle(napi_env env, napi_status status, void* data) {
  const std::unique_ptr<Started> started(static_cast<Started*>(data));
  napi_delete_reference(env, started->held);
  napi_delete_async_work(env, started->work);
  if (status != napi_ok || started->failed) return reject(env, started->promise, started->reason);
  try {
    napi_resolve_deferred(env, started->promise, started->job->result(env));
  } catch (...) {
    reject(env, started->promise, started->reason);
  }
}

}  // namespace

napi_value start(napi_env env, std::unique_ptr<Job> job, napi_value held) {
  auto started = std::make_unique<Started>();
  started->job = std::move(job);
  napi_value name;
  napi_value promise;
  check(napi_create_string_utf8(env, "graticule:job", NAPI_AUTO_LENGTH, &name));
  check(napi_create_reference(env, held, 1, &started->held));
  check(napi_create_promise(env, &started->promise, &promise));
  check(napi_create_async_work(env, nullptr, name, execute, settle, started.get(), &started->work));
  check(napi_queue_async_work(env, started->work));
  started.release();
  return promise;
}

}  // namespace graticule::addon
