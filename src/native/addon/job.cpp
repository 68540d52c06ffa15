#include "job.h"

namespace graticule::addon {
namespace {

/** A job on its way. */
struct Errand {
  std::unique_ptr<Job> job;
  bool failed = false;
  Failure failure{"the work could not be carried out"};
  napi_ref held = nullptr;
  napi_deferred promise = nullptr;
  napi_async_work work = nullptr;
};

void execute(napi_env, void* data) {
  auto& errand = *static_cast<Errand*>(data);
  try {
    errand.job->run();
  } catch (const Failure& failure) {
    errand.failed = true;
    errand.failure = failure;
  } catch (...) {
    errand.failed = true;
  }
}

void reject(napi_env env, napi_deferred promise, const Failure& failure) {
  napi_value code = nullptr;
  napi_value text = nullptr;
  napi_value error = nullptr;
  if (failure.code != nullptr) napi_create_string_utf8(env, failure.code, NAPI_AUTO_LENGTH, &code);
  napi_create_string_utf8(env, failure.message.data(), failure.message.size(), &text);
  napi_create_error(env, code, text, &error);
  napi_reject_deferred(env, promise, error);
}

/** The promise of the errand, kept or broken. */
void conclude(napi_env env, napi_status status, Errand& errand) {
  if (status != napi_ok || errand.failed) return reject(env, errand.promise, errand.failure);
  try {
    napi_resolve_deferred(env, errand.promise, errand.job->result(env));
  } catch (...) {
    reject(env, errand.promise, errand.failure);
  }
}

void settle(napi_env env, napi_status status, void* data) {
  const std::unique_ptr<Errand> errand(static_cast<Errand*>(data));
  conclude(env, status, *errand);
  // Only now, because a result can still write to the referenced value.
  napi_delete_reference(env, errand->held);
  napi_delete_async_work(env, errand->work);
}

}  // namespace

napi_value start(napi_env env, std::unique_ptr<Job> job, napi_value held) {
  auto errand = std::make_unique<Errand>();
  errand->job = std::move(job);
  napi_value name;
  napi_value promise;
  check(napi_create_string_utf8(env, "graticule:job", NAPI_AUTO_LENGTH, &name));
  check(napi_create_reference(env, held, 1, &errand->held));
  check(napi_create_promise(env, &errand->promise, &promise));
  check(napi_create_async_work(env, nullptr, name, execute, settle, errand.get(), &errand->work));
  check(napi_queue_async_work(env, errand->work));
  errand.release();
  return promise;
}

}  // namespace graticule::addon
