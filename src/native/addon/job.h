// Work off the thread that asks for it.
#pragma once

#include <memory>

#include "napi.h"

namespace graticule::addon {

class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  /** On another thread, without any call of N-API. What it throws rejects the promise, a `Failure` by its message. */
  virtual void run() = 0;
  /** On the thread that asked, when the work is done: what the promise resolves with. */
  virtual napi_value result(napi_env env) = 0;
};

/** Starts a job; returns its promise. `held` is kept alive until the job has ended. */
napi_value start(napi_env env, std::unique_ptr<Job> job, napi_value held);

}  // namespace graticule::addon
